"""Levels of a column that an earlier table has too, but spelt otherwise: composed or not, with blanks, in another case."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np

from . import authorship, ordering, summarise, tables
from .recorder import Recorder

MOST_LEVELS = 5_000
MOST_ROWS = 500_000
LEAST = 10  # rows, and 1 per cent of them

WAYS: dict[str, tuple[Callable[[str], str], tuple[str, ...]]] = {  # how, and words in a program's source that show that it is seen to
    "Unicode composed (NFC)": (lambda s: unicodedata.normalize("NFC", s), ("normalize", "unidecode", "unaccent")),
    "blanks at the ends removed": (lambda s: s.strip(), ("strip",)),
    "upper and lower case made equal": (lambda s: s.strip().casefold(), ("lower", "upper", "casefold", "title(", "capitalize")),
}


def look(recorder: Recorder, frame: Any, source: tables.Source) -> None:
    """Compare the text columns of a table just read with those of the same name read before."""
    if not recorder.wants("spelling") or source.rows > MOST_ROWS:
        return
    for column in ordering.text_columns(frame)[:20]:
        levels = levels_of(frame, column)
        if levels is None:
            continue
        for earlier in tables.of(recorder).sources:
            if earlier is not source and column in earlier.levels:
                compare(recorder, frame, source, column, levels, earlier)
        source.levels[column] = levels


def levels_of(frame: Any, column: str) -> set[str] | None:
    """The distinct texts of a column that repeat; None for free text."""
    held = frame[column] if summarise.library(frame) == "pandas" else frame.get_column(column)
    if not isinstance(next((v for v in held[:20].to_list() if v is not None), None), str):
        return None
    found = [v for v in held.unique().tolist()] if summarise.library(frame) == "pandas" else held.unique().to_list()
    if not 2 <= len(found) <= min(MOST_LEVELS, max(20, 0.2 * len(held))):
        return None
    return {v for v in found if isinstance(v, str)}


def compare(recorder: Recorder, frame: Any, source: tables.Source, column: str, levels: set[str], earlier: tables.Source) -> None:
    """Record levels that are new only in their spelling."""
    new = levels - earlier.levels[column]
    for how, (spell, words) in WAYS.items() if new else ():
        known = {spell(v): v for v in earlier.levels[column]}
        met = {v: known[spell(v)] for v in new if spell(v) in known}
        if not met:
            continue
        values = summarise.column(frame, column)
        rows = np.flatnonzero(np.fromiter((v in met for v in values.tolist()), dtype=bool, count=len(values)))
        if len(rows) < max(LEAST, 0.01 * source.rows) or authorship.mentions(words):
            return
        one = next(iter(met.items()))
        told = {"column": column, "table": source.name, "earlier": earlier.name, "how": how, "count": len(rows), "of": source.rows, "levels": len(met),
                "written": ascii(one[0]), "known_as": ascii(one[1]), "shown": one[1], "rows": tables.first(rows)}  # fmt: skip
        recorder.fact("spelling", told, file=source.file, line=source.line)
        return
