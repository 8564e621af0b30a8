"""Numbers that stand for missing: one far from all others of a column, written again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import summarise

SENTINELS = (-1, -9, -99, -999, -9999, -99999, -999.9, -99.9, -32768, 9999, 99999, 999999, 999, -999.25, 9999.9, 1e20, -1e20)
FAR = 5.0  # interquartile ranges from the quartiles: Tukey's outer fence is 3
LEAST = 5  # rows
MOST_COLUMNS = 200
FIRST = 50  # rows that are named


def mark_of(v: np.ndarray, marks: Sequence[float] = SENTINELS) -> float | None:
    """The number that stands for missing in a column."""
    for mark in marks:
        at = v == mark
        rest = v[~at & np.isfinite(v)]
        if at.sum() < LEAST or at.sum() > 0.6 * len(v) or len(rest) < 20:
            continue
        low, high = np.quantile(rest, [0.25, 0.75])
        wide = high - low
        if wide > 0 and (mark < min(low - FAR * wide, rest.min() - wide) or mark > max(high + FAR * wide, rest.max() + wide)):
            return float(mark)
    return None


def repeated_end(v: np.ndarray) -> float | None:
    """The same of a column that was scaled since: its lowest or highest value."""
    good = v[np.isfinite(v)]
    return mark_of(v, (float(good.min()), float(good.max()))) if len(good) else None


@dataclass(frozen=True, slots=True)
class Marked:
    """A column as read in which a number stands for missing: where it stands among how many, and between what the others lie."""

    name: str
    index: int
    width: int
    mark: float
    rows: list[int]  # the first of them
    count: int
    low: float
    high: float
    table: str = ""
    file: str | None = None
    line: int | None = None

    @property
    def above(self) -> bool:
        return self.mark > self.high


def marked(v: np.ndarray, name: str, index: int, width: int, **where: Any) -> Marked | None:
    """The mark of a column: looked for only where its lowest or highest value is one."""
    if v.dtype.kind not in "if" or not len(v) or not (v.dtype.kind == "i" or np.isfinite(v).any()):
        return None
    ends = [e for e in (float(np.nanmin(v)), float(np.nanmax(v))) if e in SENTINELS]
    real = v.astype(np.float64) if ends else v
    mark = mark_of(real, ends) if ends else None
    if mark is None:
        return None
    at = real == mark
    rest = real[~at & np.isfinite(real)]
    return Marked(name, index, width, mark, np.flatnonzero(at)[:FIRST].tolist(), int(at.sum()), float(rest.min()), float(rest.max()), **where)


def of_table(frame: Any, names: list[str], **where: Any) -> list[Marked]:
    """The marked columns of a table."""
    found = []
    for j, name in enumerate(names[:MOST_COLUMNS]):
        v = _numbers(frame, j)
        m = marked(v, name, j, len(names), **where) if v is not None else None
        found += [m] if m is not None else []
    return found


def _numbers(frame: Any, j: int) -> np.ndarray | None:
    """A column if it is of plain numbers: texts would have to be copied one by one."""
    lib = summarise.library(frame)
    if lib == "pandas":
        column = frame.iloc[:, j]
        return np.asarray(column) if isinstance(column.dtype, np.dtype) and column.dtype.kind in "if" else None
    if lib == "polars":
        column = frame.to_series(j)
        return summarise.values(column) if column.dtype.is_numeric() else None
    column = frame.column(j)
    return summarise.values(column) if str(column.type).startswith(("int", "float", "double")) else None
