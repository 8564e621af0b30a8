"""Columns of a big table that the person holds: the table is read, its columns are known without being read again."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..summarise import numeric_columns
from .fingerprints import Table, column_hashes, row_hashes

LEAST_CELLS = 1_000_000  # under it a table is read as fast as it is compared


def columns_of(x: Any, candidates: Any) -> tuple[Any, int, str, str, int | None] | None:
    """(table, first column, name, file, line) of a table among the candidates of whose neighbouring columns, in all rows, `x` is made."""
    mine = _columns(x)
    if mine is None:
        return None
    for name, whole, file, line in candidates(x):
        theirs = _columns(whole)
        if theirs is None or len(whole) != len(x):
            continue
        names, first = list(whole.columns), list(x.columns)[0]
        at = names.index(first) if first in names else -1
        if at >= 0 and names[at : at + len(mine)] == list(x.columns) and all(_same(a, b) for a, b in zip(mine, theirs[at:])):
            return whole, at, name, file, line
    return None


def table_within(x: Any, first: int, whole: Table, hashes: np.ndarray) -> tuple[Table, np.ndarray]:
    """Codes and hashes of `x`, which is the whole's columns from `first` on."""
    width = x.shape[1]
    table = Table(whole.codes[:, first : first + width], list(map(str, x.columns)), whole.numeric[first : first + width])
    if first or whole.width - width > width:
        return table, row_hashes(table)
    rest = hashes.copy()
    for j in range(width, whole.width):
        rest -= column_hashes(whole.column(j), j)
    return table, rest


def _columns(x: Any) -> list[np.ndarray] | None:
    """The columns of a big pandas table of numbers under different names."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(x, getattr(pandas, "DataFrame", ())) or x.shape[1] < 2 or x.size < LEAST_CELLS or not x.columns.is_unique:
        return None
    return numeric_columns(x)


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal bit by bit."""
    if a.dtype != b.dtype or a.itemsize not in (1, 2, 4, 8):
        return False
    kind = f"u{a.itemsize}"
    return np.array_equal(a[:64].view(kind), b[:64].view(kind)) and np.array_equal(a.view(kind), b.view(kind))
