"""Deriving: of which columns of the tables at hand are the columns of an array exactly made?"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..derivation import LEAST, Derived, derived
from .naming import MOST_COLUMNS, names_by_value, tables_at_hand
from .recorder import Recorder
from .summarise import columns_of, height, library, numeric_columns, spread, values

MOST_ROWS = 300_000
PROBES = 64  # rows that are compared


def named(recorder: Recorder, columns: list[np.ndarray], rows: int, found: list[list[Derived]]) -> list[str] | None:
    """The names of an array's columns, by the tables at hand from which they are derived, by records turned into tuples, or by where their values lie."""
    return names_of(found) or names_of_tuples(recorder.shared.get("tuples") or {}, columns) or names_by_value(columns, rows)


def names_of_tuples(kept: dict[type, tuple[list[str], list[tuple[Any, ...]]]], columns: list[np.ndarray]) -> list[str] | None:
    """The fields of records whose tuples are rows of the array."""
    if any(c.dtype.kind not in "iuf" for c in columns):
        return None
    for names, tuples in kept.values():
        if len(names) != len(columns) or len(tuples) < LEAST:
            continue
        some = [np.asarray(t, float) for t in tuples[:LEAST]]
        rows = np.column_stack([c.astype(float) for c in columns])
        if all(((rows == t) | (np.isnan(rows) & np.isnan(t))).all(axis=1).any() for t in some):
            return names
    return None


def derived_at_hand(columns: list[np.ndarray], rows: int) -> list[list[Derived]]:
    """The derivations of each column of an array; empty lists where no table at hand tells any."""
    found: list[list[Derived]] = [[] for _ in columns]
    if not columns or len(columns) > MOST_COLUMNS or rows > MOST_ROWS or any(c.dtype.kind not in "iufb" for c in columns):
        return found
    at = np.unique(np.arange(rows)[spread(rows, 4 * PROBES)])
    made = np.column_stack([c[at].astype(float) for c in columns])
    for table in tables_at_hand():
        n = height(table)
        for start in sorted({0, n - rows}) if rows <= n <= MOST_ROWS else ():  # all of it, its first rows or its last ones
            for mine, more in zip(found, _within(table, at + start, made)):
                mine += more
    return found


def _within(table: Any, at: np.ndarray, made: np.ndarray) -> list[list[Derived]]:
    """The derivations from some rows of one table."""
    names, held = _numbers(table, at)
    good = np.isfinite(held).all(axis=1) & np.isfinite(made).all(axis=1) if names else np.zeros(0, bool)
    good[np.flatnonzero(good)[PROBES:]] = False
    return derived(made[good], names, held[good]) if good.any() else []


def _numbers(table: Any, at: np.ndarray) -> tuple[list[str], np.ndarray]:
    """The table's columns of numbers, in which gaps are no rule, at some rows."""
    names = columns_of(table)[:MOST_COLUMNS]
    plain = numeric_columns(table) if library(table) == "pandas" else None
    held = {}
    for j, name in enumerate(names):
        try:
            column = plain[j] if plain is not None else values(table[name])
        except Exception:  # columns of one name, a type of the person's own
            continue
        if column.dtype.kind in "iufb" and np.isfinite(some := column[at].astype(float)).mean() > 0.5:
            held[name] = some
    return list(held), np.column_stack(list(held.values())) if held else np.zeros((len(at), 0))


def names_of(found: list[list[Derived]]) -> list[str] | None:
    """One name a column, where each column has one of its own."""
    chosen: list[str] = []
    for mine in found:
        name = next((d.name for d in mine if d.name not in chosen), None)
        if name is None:
            return None
        chosen.append(name)
    return chosen or None
