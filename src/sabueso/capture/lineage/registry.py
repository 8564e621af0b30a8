"""The registry of arrays and frames met so far, and which source rows each holds."""

from __future__ import annotations

import time
import weakref
from collections import defaultdict
from typing import Any

import numpy as np

from . import matching, wholes
from .fingerprints import Table, first_equal, row_hashes, same_values, spaced, sparse_hashes, table_of
from .known import Known, Source
from .met import Met

MOST_KNOWN = 240  # arrays kept; the oldest that is no source goes first
MOST_BYTES = 96 << 20  # of codes kept in all, for matching columns later
MOST_SECONDS = 0.8  # of CPU time for new arrays; beyond it only small ones are looked at
SMALL = 100_000  # cells
MOST_SEARCHED = 2.0  # of CPU time in all, beyond which rows are found by their hashes alone and not by columns
PROBES = 16


class Lineage:
    """All arrays met; see the package for its use. Objects are held weakly; of values only codes are kept, in a bounded amount."""

    def __init__(self) -> None:
        self.sources: list[Source] = []
        self.known: list[Known] = []
        self.spent = 0.0
        self.in_sight: Any = None  # a function (x) -> candidates (name, object, file, line) in the person's frames; see sight.py
        self.name_of: Any = None  # a function (x) -> (name, file, line) by which the person's frames hold it
        self._by_id: dict[int, tuple[Any, Known, Any]] = {}
        self._next = 0
        self._bytes = 0
        self._met: dict[int, Met] = defaultdict(Met)  # by width
        self._keys = matching.Keys()
        self.parts: dict[str, Any] = {}  # what adapters share over this registry, by name

    # ---- what adapters call

    def register_source(self, x: Any, *, name: str | None = None, kind: str = "file", file: str | None = None, line: int | None = None) -> Known | None:
        """Give the rows of a table as read (or made) their ids: row i of `x` is `base` + i. None if `x` can't be looked at."""
        seen = self._look(x)
        if seen is None:
            return None
        table, hashes = seen
        again = self._read_before(name, hashes) if kind == "file" else None
        return self._keep(x, again, table, hashes) if again is not None else self._source(x, table, hashes, name, kind, file, line)

    def known_of(self, x: Any, create: bool = True) -> Known | None:
        """What is known of `x`: by identity, by equal rows, by equal columns; else, with `create`, as a source first met here."""
        held = self.recall(x)
        if held is None and create and self.spent < MOST_SECONDS:
            held = self._columns_of_whole(x)
        if held is not None:
            return held
        seen = self._look(x)
        if seen is None:
            return None
        table, hashes = seen
        found = self._match(table, hashes)
        if found is None and create:
            found = self._sighted(x, table, hashes)
        if found is None and create:
            name, file, line = self.name_of(x) if self.name_of is not None else (None, None, None)
            found = self._source(x, table, hashes, name, "held" if name else "met", file, line, keep=False)
        return self._keep(x, found, table, hashes) if found is not None else None

    def link(self, x: Any, ids: np.ndarray, parent: Known, *, maker: Any = None, resampled: Any = None, made: np.ndarray | None = None, exact: bool = True,
             findable: bool = True) -> Known | None:  # fmt: skip
        """Say that row i of `x` is the source row `ids[i]` (-1 where unknown), got from `parent` by an operation that was seen.

        With `findable` false only this very object is known by it (labels: equal values name no row).
        """
        seen = self._look(x, small=False) if findable else (None, None) if (shape_of(x) or (0,))[0] == len(ids) else None
        if seen is None or findable and len(ids) != len(seen[1]):  # type: ignore[arg-type]
            return None
        table, hashes = seen
        makers = parent.makers + ((maker,) if maker is not None and maker not in parent.makers else ())
        steps = parent.resampled + ((resampled,) if resampled is not None else ())
        known = Known(np.asarray(ids, np.int64), parent.source, 0, None, makers, steps, made, parent.exact and exact)
        if ids is parent.ids and "unique" in parent.notes:
            known.notes["unique"] = parent.notes["unique"]
        if table is not None and parent.table is not None and table.width == parent.table.width and np.array_equal(hashes, parent.hashes):
            table.same_as(parent.table)
        return self._keep(x, known, table, hashes)

    def taken(self, x: Any, at: np.ndarray, parent: Known) -> Known | None:
        """The same for rows of `parent` at these positions, as they are: only a few of them are looked at. None where `x` holds others."""
        if parent.hashes is None or parent.table is None or len(at) != (shape_of(x) or (0,))[0] or len(at) < 2:
            return None
        probe, hashes = probe_of(x), parent.hashes[at]
        if probe is None or not np.array_equal(probe, hashes[spaced(len(at), 4)]):
            return None
        first = parent.find(parent.hashes)[at]
        made = None if parent.made is None else parent.made[first]
        known = Known(parent.ids_at(first), parent.source, 0, None, parent.makers, parent.resampled, made, parent.exact)
        return self._keep(x, known, Table(None, parent.table.names, parent.table.numeric, (parent.table, np.asarray(at))), hashes)

    def allocate(self, rows: int, name: str | None) -> Known:
        """Ids for rows whose values can't be looked at (a data set that reads files): each is itself and no other."""
        source = Source(name, "made", self._next, rows)
        self._next += rows
        self.sources.append(source)
        return Known(source.base + np.arange(rows), source)

    def recall(self, x: Any) -> Known | None:
        """What is known of this very object, if its content is still what it was."""
        held = self._by_id.get(id(x))
        if held is None or held[0]() is not x or shape_of(x) != held[2][0]:
            return None
        probe = probe_of(x)
        return held[1] if probe is None or np.array_equal(probe, held[2][1]) else None

    def rows_as_read(self, ids: np.ndarray) -> dict[Source, np.ndarray]:
        """Rows by source, sorted and without repeats."""
        ids = np.unique(ids[ids >= 0])
        found = {}
        for source in self.sources:
            here = ids[(ids >= source.base) & (ids < source.base + source.rows)]
            if len(here):
                found[source] = here - source.base
        return found

    # ---- how it is done

    def _look(self, x: Any, small: bool = True) -> tuple[Table | None, np.ndarray] | None:
        """Codes and hashes of something with rows, unless too much time went into this already."""
        shape = shape_of(x)
        if shape is None or shape[0] < 2:
            return None
        cells = int(np.prod(shape))
        if cells > 400_000_000 or (small and self.spent > MOST_SECONDS and cells > SMALL):
            return None
        began = time.thread_time()
        try:
            if hasattr(x, "tocsr"):
                hashes = sparse_hashes(x)
                return None if hashes is None else (None, hashes)
            table = table_of(x)
            return None if table is None or not table.width else (table, row_hashes(table))
        finally:
            self.spent += time.thread_time() - began

    def _read_before(self, name: str | None, hashes: np.ndarray) -> Known | None:
        """The same file read once more, with the same rows: they are those that it gave before."""
        return next((k for k in self.known if k.source.kind == "file" and k.source.name == name and not k.makers and np.array_equal(k.hashes, hashes)), None)

    def _source(self, x: Any, table: Table | None, hashes: np.ndarray, name: str | None, kind: str, file: str | None, line: int | None, keep: bool = True
                ) -> Known:  # fmt: skip
        """A new source; equal rows share the first one's id, rows met before keep theirs."""
        order = np.argsort(hashes, kind="stable")
        first = first_equal(hashes, order)
        source = Source(name, kind, self._next, len(hashes), file, line, table.names if table is not None else None, weak(x))
        self._next += len(hashes)
        self.sources.append(source)
        ids = source.base + first
        if kind in ("met", "held"):
            width = table.width if table is not None else shape_of(x)[-1]  # type: ignore[index]
            for known in self.known if self._met[width].any(hashes) else ():
                if known.width == width and known.hashes is not None:
                    at = known.find(hashes)
                    ids = np.where((at >= 0) & (known.ids[at] >= 0), known.ids[at], ids)
        found = Known(ids, source)
        found._sorted = hashes[order], order
        return self._keep(x, found, table, hashes) if keep else found

    def _match(self, table: Table | None, hashes: np.ndarray) -> Known | None:
        """The rows of something unknown by those of what is known."""
        began = time.thread_time()
        try:
            width = table.width if table is not None else -1
            probes = spaced(len(hashes), PROBES)
            if table is not None and table.width == 1 and len(np.unique(hashes)) < 0.9 * len(hashes):
                return None  # one column of repeated values names no rows
            few = hashes[probes]
            alike = self.known if width < 0 or self._met[width].most(few) else ()
            for known in sorted(reversed(alike), key=lambda k: (len(k.resampled), len(k.makers))):
                if known.hashes is None or (known.width != width and width >= 0) or not known.holds_most(few):
                    continue
                if len(hashes) == known.rows and np.array_equal(known.hashes, hashes):
                    return known
                at = known.find(hashes)
                if (at >= 0).mean() > 0.95:
                    return self._derived(known, at)
            if table is None or self.spent > MOST_SEARCHED:
                return None
            for known in sorted(reversed(self.known), key=lambda k: (-k.rows, len(k.makers))):
                if known.table is not None and known.table.rows and known.table.width:
                    found = matching.by_columns(table, known.table, known.ids, self._keys)
                    if found is not None:
                        at, exact = found
                        return self._derived(known, at, exact)
            for known in reversed(self.known[-40:]):
                if known.table is not None and known.rows == table.rows and matching.same_order(table, known.table):
                    return self._derived(known, np.arange(table.rows))
            return None
        finally:
            self.spent += time.thread_time() - began

    def _derived(self, known: Known, at: np.ndarray, exact: bool = True) -> Known:
        ids = known.ids_at(at) if known.hashes is not None else np.where(at >= 0, known.ids[at], -1)
        made = None if known.made is None else np.where(at >= 0, known.made[at], False)
        made = made if made is not None and made.any() else None
        return Known(ids, known.source, 0, None, known.makers, known.resampled, made, known.exact and exact, notes={"parent": known})

    def _sighted(self, x: Any, table: Table | None, hashes: np.ndarray) -> Known | None:
        """Look for the whole that `x` was cut from among what the person's frames hold, and give that its ids."""
        if self.in_sight is None or table is None or (table.width == 1 and table.rows < 20) or self.spent > MOST_SEARCHED:
            return None
        for name, whole, file, line in self.in_sight(x):
            if self.recall(whole) is not None:
                continue
            alike = shape_of(whole) == (table.rows, table.width) and same_values(whole, table)
            seen = (table.named(whole), hashes) if alike else self._look(whole)
            if seen is None or seen[0] is None:
                continue
            began = time.thread_time()
            inside = alike or matching.holds(seen[0], seen[1], table, hashes)
            self.spent += time.thread_time() - began
            if inside:
                if (held := self._match(*seen)) is not None:
                    self._keep(whole, held, *seen)
                else:
                    held = self._source(whole, seen[0], seen[1], name, "made", file, line)
                    if isinstance(inside, tuple) and inside[1] and np.array_equal(inside[0], np.arange(held.rows)):
                        table.within(seen[0])
                        return self._derived(held, *inside)  # all rows in order, told for certain: nothing else is to be found out
                return self._match(table, hashes)
        return None

    def _columns_of_whole(self, x: Any) -> Known | None:
        """The same, cheaper, for neighbouring columns of a big table that the person holds."""
        found = wholes.columns_of(x, self.in_sight) if self.in_sight is not None else None
        if found is None:
            return None
        whole, first, name, file, line = found
        held = self.recall(whole)
        if held is None:
            seen = self._look(whole)
            if seen is None or seen[0] is None:
                return None
            matched = self._match(*seen)
            held = self._keep(whole, matched, *seen) if matched is not None else self._source(whole, *seen, name, "made", file, line)
        if held.table is None or held.hashes is None or held.table.width != whole.shape[1]:
            return None
        table, hashes = wholes.table_within(x, first, held.table, held.hashes)
        exact = matching.for_certain(table, held.ids)
        return None if exact is None else self._keep(x, self._derived(held, np.arange(held.rows), exact), table, hashes)

    def _keep(self, x: Any, known: Known, table: Table | None, hashes: np.ndarray | None) -> Known:
        if known.hashes is None or hashes is None:  # else it is the very Known that was met before
            known.width = table.width if table is not None else (shape_of(x) or (0, 1))[-1]
            known.names = table.names if table is not None else None
            known.hashes, known.table = hashes, table
            if hashes is not None:
                self.known.append(known)
                self._met[known.width].add(known)
            self._bytes += table.nbytes if table is not None else 0
        reference = weak(x)
        if reference is not None:
            self._by_id[id(x)] = (reference, known, (shape_of(x), probe_of(x)))
        self._trim()
        return known

    def _trim(self) -> None:
        """Keep within bounds: codes of the oldest arrays go first, then the arrays themselves; sources' last."""
        while self._bytes > MOST_BYTES:
            held = [k for k in self.known if k.table is not None]
            if len(held) < 2:
                break
            oldest = next((k for k in held[:-1] if k.rows != k.source.rows), held[0])
            self._bytes -= oldest.table.nbytes  # type: ignore[union-attr]
            oldest.table = None
        if len(self.known) > MOST_KNOWN:
            at = next((i for i, k in enumerate(self.known) if k.rows != k.source.rows or k.source.kind == "met"), 0)
            gone = self.known.pop(at)
            self._met[gone.width].drop(gone, self.known)
            self._bytes -= gone.table.nbytes if gone.table is not None else 0
        if len(self._by_id) > 4 * MOST_KNOWN:
            self._by_id = {i: held for i, held in self._by_id.items() if held[0]() is not None}


def note_labels(x: Any, known: Known) -> None:
    """Keep a frame's index labels: the same label on both sides of a split is the same row."""
    index = getattr(x, "index", None)
    plain = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
    if "labels" not in known.notes and hasattr(index, "to_numpy") and len(index) == known.rows <= 200_000 and not plain:
        known.notes["labels"] = index.to_numpy()


def shape_of(x: Any) -> tuple[int, ...] | None:
    """The shape of anything with rows."""
    shape = getattr(x, "shape", None)
    if shape is not None:
        try:
            return tuple(int(s) for s in shape) or None
        except (TypeError, ValueError):
            return None
    return (len(x),) if isinstance(x, (list, tuple)) else None


def probe_of(x: Any) -> np.ndarray | None:
    """Hashes of a few rows: has the content changed since?"""
    shape = shape_of(x)
    if shape is None or hasattr(x, "tocsr") or isinstance(x, (list, tuple)):
        return None
    rows = spaced(shape[0], 4)
    x = x.detach() if hasattr(x, "detach") else x  # to choose rows of what has a gradient is an operation of the program's graph
    try:
        part = x.iloc[rows] if hasattr(x, "iloc") else x[rows]
    except Exception:
        return None
    table = table_of(part)
    return row_hashes(table) if table is not None and (shape[0] * table.width < 8_000_000 or table.width < 128) else None


def weak(x: Any) -> Any:
    """A weak reference, or None for what has none."""
    try:
        return weakref.ref(x)
    except TypeError:
        return None
