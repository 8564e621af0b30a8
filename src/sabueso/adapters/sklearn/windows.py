"""Inputs that look ahead: means of a series over a window that holds the answer's own row, or later ones, in rows that follow each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from .tells import called

SAMPLES = 60
STRETCH = 4000  # rows, from the first on, that are looked at
WIDEST = 31
CLOSE = 2e-5  # relative: values are kept as 32-bit floats
LEAST = 0.8  # share of sampled rows (windows that reach over the border of two groups don't fit)
MOST_COLUMNS = 40


def looking_ahead(values: np.ndarray, y: np.ndarray, names: list[str] | None) -> list[dict[str, Any]]:
    """Columns that are a window of the target itself, or of a column whose future is the target."""
    values, y = values[:STRETCH], y[:STRETCH]
    n, width = values.shape
    if n < 4 * WIDEST or width > MOST_COLUMNS:
        return []
    found = []
    if len(np.unique(y)) > 20:
        found += of_series(values, y, names, range(width), 0, "the target")
    for i in range(width):
        ahead = future(values[:, i], y)
        if ahead:
            found += of_series(values, values[:, i], names, [j for j in range(width) if j != i], ahead, called(names, i))
    return found[:6]


def of_series(values: np.ndarray, series: np.ndarray, names: list[str] | None, columns: Any, least: int, base: str) -> list[dict[str, Any]]:
    """Columns that are a mean of the series over a window ending `least` rows after the present one, or later."""
    n = len(series)
    if not np.isfinite(series).all() or np.ptp(series) == 0:
        return []
    sums = np.concatenate([[0.0], np.cumsum(series)])
    rows = np.unique(np.linspace(WIDEST, n - WIDEST - 1, SAMPLES).astype(int))
    scale = float(np.abs(series).max())
    found = []
    for j in columns:
        column = values[rows, j]
        if not np.isfinite(column).all() or len(np.unique(column)) < 8:
            continue
        best = None
        for length in range(1, WIDEST):
            for end in range(least, min(length, WIDEST - 1) if length > 1 else 4):
                if length == 1 and end == 0:
                    continue  # the series itself
                mean = (sums[rows + end + 1] - sums[rows + end + 1 - length]) / length
                share = max(float((np.abs(column - m) <= CLOSE * scale * k).mean()) for m, k in ((mean, 1), (mean * length, length)))
                if share >= LEAST and (best is None or share > best["share"]):
                    best = {
                        "column": called(names, j),
                        "position": int(j),
                        "length": length,
                        "ahead": end,
                        "of": base,
                        "share": round(share, 3),
                        "rows": n,
                    }
        if best is not None:
            found.append(best)
    return found


def future(column: np.ndarray, y: np.ndarray) -> int:
    """How many rows ahead of the column the target lies: its later value, or whether it rises; 0 if it does not."""
    n = len(y)
    if not np.isfinite(column).all() or len(np.unique(column)) < 8:
        return 0
    for ahead in (1, 2, 3, 5, 7, 14, 24):
        if n < 4 * ahead + 40:
            break
        later, now, target = column[ahead:], column[:-ahead], y[:-ahead]
        if len(np.unique(y)) == 2:
            high = target == target.max()
            same = max(((later > now) == high).mean(), ((later < now) == high).mean())
        else:
            scale = float(np.abs(column).max()) or 1.0
            same = max((np.abs(later - target) <= CLOSE * scale).mean(), (np.abs(later - now - target) <= CLOSE * scale).mean())
        if same > 0.97:
            return ahead
    return 0
