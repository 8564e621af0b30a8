"""Tables as they were read: their names, and which of their rows a later table's rows are.

A table that is read leaves behind hashes of its few most distinct columns (8 bytes a cell, bounded), never a reference to itself. Rows of
a later table are found again by the columns that both have.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import distributions, lineage, marks, summarise
from .origin import user_line
from .recorder import Recorder

MOST_CELLS = 4_000_000  # of hashes that are kept in a run: 32 MB
MOST_ROWS = 500_000
MOST_COLUMNS = 4
FIRST = 50  # rows that a Place lists
MOST_LOOKED_UP = 5_000
UNIQUE = 0.98  # share of distinct keys that is enough to know rows by


@dataclass(slots=True)
class Source:
    """A table as read: `hashes` of its most distinct columns, by name."""

    name: str
    rows: int
    columns: list[str]
    file: str | None = None
    line: int | None = None
    hashes: dict[str, np.ndarray] = field(default_factory=dict)
    levels: dict[str, set[str]] = field(default_factory=dict)  # of text columns that repeat
    marked: list[marks.Marked] = field(default_factory=list)  # columns in which a number may stand for missing


class Tables:
    """What a run has read. One a recorder: see `of`."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.sources: list[Source] = []
        self.exploded: list[tuple[int, int, int]] = []  # (number, rows before, rows after) of joins that gained rows
        self.joins = 0
        self._cells = 0

    def read(self, frame: Any, name: str, how: str, **more: Any) -> Source:
        """A table was read: record it, and keep what its rows can be known by."""
        file, line = user_line()
        source = Source(name, summarise.height(frame), summarise.columns_of(frame), file, line)
        self.recorder.fact("table_read", {"table": name, "how": how, "rows": source.rows, "columns": source.columns[:200], **more}, file=file, line=line)
        distributions.look(self.recorder, frame, name, stage="ingest", file=file, line=line)
        try:
            lineage.of(self.recorder).register_source(frame, name=name, kind="file", file=file, line=line)
        except Exception as error:  # nested values: rows of this table can't be followed
            self.recorder.own_error("lineage", error, turn_off=False)
        if len(self.sources) < 200:
            self.sources.append(source)
            self._remember(frame, source)
        return source

    def _remember(self, frame: Any, source: Source) -> None:
        if not 0 < source.rows <= MOST_ROWS or self._cells + source.rows * MOST_COLUMNS > MOST_CELLS:
            return
        for name in most_distinct(frame, source.columns):
            source.hashes[name] = hashed(summarise.column(frame, name))
            self._cells += source.rows
        source.marked = marks.of_table(frame, source.columns, table=source.name, file=source.file, line=source.line)

    def rows(self, frame: Any, positions: np.ndarray, column: str | None = None) -> tuple[str | None, list[int]]:
        """(table, rows as read) of the first 50 of these rows of a later table, of the table with that column where there are several.

        (None, positions) where no table is known to hold them.
        """
        some = positions[:MOST_LOOKED_UP]
        if not len(some):
            return None, []
        have = set(summarise.columns_of(frame))
        for asked in (True, False):
            for strict in (True, False):  # a table that agrees in all that both have goes before one that agrees in its key alone
                for source in [s for s in self.sources if (column in s.columns) is asked]:
                    found = _rows_in(source, frame, some, have, strict)
                    if found is not None:
                        return source.name, first(sorted(found))
        return None, first(some)


def _rows_in(source: Source, frame: Any, some: np.ndarray, have: set[str], strict: bool) -> list[int] | None:
    key: np.ndarray | None = None
    wanted: np.ndarray | None = None
    for name in [c for c in source.hashes if c in have]:
        theirs = hashed(head(frame, name, some))
        key = source.hashes[name] if key is None else mixed(key, source.hashes[name])
        wanted = theirs if wanted is None else mixed(wanted, theirs)
        if not strict and len(np.unique(key)) == len(key):
            break
    if key is None or wanted is None:
        return None
    order = np.argsort(key, kind="stable")
    ranked = key[order]
    if 1 + np.count_nonzero(ranked[1:] != ranked[:-1]) < UNIQUE * len(key):
        return None
    at = np.minimum(np.searchsorted(ranked, wanted), len(ranked) - 1)
    return [int(i) for i in order[at]] if (ranked[at] == wanted).mean() > 0.95 else None


def of(recorder: Recorder) -> Tables:
    """The tables of a recorder's run."""
    if "tables" not in recorder.shared:
        recorder.shared["tables"] = Tables(recorder)
    return recorder.shared["tables"]  # type: ignore[no-any-return]


def most_distinct(frame: Any, names: list[str]) -> list[str]:
    """The columns with the most distinct values among some rows, most distinct first; keys and times come before measurements on a tie."""
    some = summarise.spread(summarise.height(frame), 400)
    found = []
    for at, name in enumerate(names[:60]):
        try:
            values = summarise.column(frame, name) if isinstance(some, slice) else head(frame, name, some)
            distinct = len({v for v in values.tolist() if v is not None and v == v}) / max(len(values), 1)
        except Exception:  # a column of nested values
            continue
        if distinct > 1.5 / max(len(values), 1):
            found.append((-round(distinct, 2), at, name))
    return [name for _, _, name in sorted(found)[:MOST_COLUMNS]]


def head(frame: Any, name: str, rows: np.ndarray) -> np.ndarray:
    """Some rows of one column."""
    lib = summarise.library(frame)
    if lib == "pandas":
        return summarise.values(frame.iloc[rows, summarise.columns_of(frame).index(name)])
    if lib == "polars":
        return summarise.values(frame.get_column(name).gather(rows))
    return summarise.values(frame.column(name).take(rows))


def hashed(values: np.ndarray) -> np.ndarray:
    """A 64-bit hash of each value; equal values of any dtype have equal hashes within a process."""
    if values.dtype.kind in "iufb":
        bits = (values.astype(np.float64) + 0.0).view(np.uint64)
    else:
        bits = np.fromiter((hash(v) & 0xFFFFFFFFFFFFFFFF for v in values.tolist()), dtype=np.uint64, count=len(values))
    return mixed(bits, np.uint64(0x9E3779B97F4A7C15))


def mixed(a: np.ndarray, b: np.ndarray | np.uint64) -> np.ndarray:
    """Two hashes together (the finaliser of splitmix64)."""
    with np.errstate(over="ignore"):
        x = a * np.uint64(0xBF58476D1CE4E5B9) ^ b
        x ^= x >> np.uint64(27)
        return x * np.uint64(0x94D049BB133111EB) ^ (x >> np.uint64(31))


def name_of(source: Any, otherwise: str = "table") -> str:
    """A short name for where a table came from: a path's last part, a query's table, or what it was."""
    if isinstance(source, (str, os.PathLike)):
        text = os.fspath(source)
        if isinstance(text, str) and len(text) < 400 and "\n" not in text and not text.lstrip().lower().startswith(("select", "with", "{", "[")):
            return os.path.basename(text.rstrip("/")) or text
        words = text.split() if isinstance(text, str) else []
        lower = [w.lower() for w in words]
        if "from" in lower[:-1]:
            return words[lower.index("from") + 1].strip('"`[]();,')
    if isinstance(source, (list, tuple)) and source:
        return name_of(source[0], otherwise)
    named = getattr(source, "name", None)
    return os.path.basename(named) if isinstance(named, str) else otherwise


def first(rows: Iterable[int]) -> list[int]:
    """At most the first 50."""
    return [int(r) for r, _ in zip(rows, range(FIRST))]
