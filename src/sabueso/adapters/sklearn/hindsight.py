"""Inputs written down after the outcome: one value wherever it did not come about, spread where it did; a rounded or noisy image of the target."""

from __future__ import annotations

from typing import Any

import numpy as np

SURE = 0.98  # share of rows in which "has the usual value" and the label agree, as for gaps
LEAST_LEVELS = 10  # values that the column has in the other class: fewer is a category that may be known before
LIKE = 0.97  # another column that ranks the labels as well: then this one gives nothing away that is not known
IMAGE, ROUNDED = 0.99999, 0.99  # correlation with the target: of a noisy image, of one whose difference is a rounding's
HALF = 0.52  # of a step: what a rounding takes away at most, and what the fitted line may be off
OTHERS = 0.95  # share of the target's variance that the other columns explain together


def filled_after(values: np.ndarray, positive: np.ndarray, names: list[str] | None) -> list[dict[str, Any]]:
    """Named columns of numbers that have one same value in one class and spread in the other."""
    rare = min(positive.mean(), 1 - positive.mean())
    if names is None or rare * len(positive) < 20:
        return []
    found, told = [], set()
    for j in range(values.shape[1]):
        column = values[:, j]
        if not np.isfinite(column).all():
            continue
        usual = _usual(column)
        if usual is None:
            continue
        same = float(((column == usual) == positive).mean())
        agreement = max(same, 1 - same)
        if agreement >= SURE and 1 - agreement < 0.1 * rare:
            told.add(j)
            found.append({"how": "filled after", "column": names[j], "position": j, "agreement": round(agreement, 4), "rows": len(positive),
                          "usual": float(usual), "usual_rows": int((column == usual).sum())})  # fmt: skip
    if not found or len(found) > 3 or sum(_dominated(values[:, i]) for i in range(values.shape[1]) if i not in told) > 0.4 * values.shape[1]:
        return []  # a table most of whose columns are so holds another kind of data: words, pixels
    best = max((_ranks(values[:, i], positive) for i in range(values.shape[1]) if i not in told), default=0.5)
    return [f | {"next": round(best, 3)} for f in found] if best < LIKE else []


def _usual(column: np.ndarray) -> float | None:
    """The value that stands for "nothing": by far the most frequent one beside many that are not repeated as often."""
    levels, count = np.unique(column, return_counts=True)
    if len(levels) <= LEAST_LEVELS or len(levels) > len(column) * 0.98 + 1:
        return None
    first = int(np.argmax(count))
    second = np.delete(count, first).max()
    return float(levels[first]) if second < 0.25 * (len(column) - count[first]) else None


def _dominated(column: np.ndarray) -> bool:
    """Has it one value in a third of the rows, three times as often as the next one of many?"""
    count = np.sort(np.unique(column[np.isfinite(column)], return_counts=True)[1])
    return bool(len(count) > LEAST_LEVELS and count[-1] > 0.3 * len(column) and count[-1] > 3 * count[-2])


def _ranks(column: np.ndarray, positive: np.ndarray) -> float:
    """Area under the ROC curve of a column by itself, whichever way it points (ties count half)."""
    held = np.isfinite(column)
    column, positive = column[held], positive[held]
    n = int(positive.sum())
    if not 0 < n < len(positive):
        return 0.5
    _, at, count = np.unique(column, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[at]
    area = (ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(positive) - n))
    return float(max(area, 1 - area))


def images(values: np.ndarray, y: np.ndarray, names: list[str] | None) -> list[dict[str, Any]]:
    """Columns that are the continuous target up to a rounding or a trifle, where the other columns can't tell it, and that are no lag of it."""
    n, found = len(y), []
    spread = np.isfinite(values).all(axis=0)
    if names is None or n < 100:
        return []
    for j in np.flatnonzero(spread):
        column = values[:, j]
        if column.std() == 0 or len(np.unique(column)) <= 20:
            continue
        r = float(np.corrcoef(column, y)[0, 1])
        if not ROUNDED < abs(r) <= 0.999999 or np.isin(column, y.astype(np.float32)).mean() > 0.5:
            continue
        if abs(r) < IMAGE and not _rounded(column, y) and not _rounded(y, column):
            continue
        rest = [i for i in np.flatnonzero(spread) if i != j and values[:, i].std() > 0]
        others = _explained(values[:, rest], y)
        if others < OTHERS:
            found.append({"how": "image", "column": names[j], "position": int(j), "agreement": round(abs(r), 6), "rows": n, "next": round(others, 3)})
    return found


def _rounded(column: np.ndarray, of: np.ndarray) -> bool:
    """Is it a line of the other, rounded to its own steps?"""
    step = float(np.diff(np.unique(column)).min())
    if np.ptp(column) < 20 * step or (np.abs((column - column.min()) / step - np.round((column - column.min()) / step)) > 0.01).any():
        return False
    away = column - np.polyval(np.polyfit(of, column, 1), of)
    return bool(np.abs(away).max() <= HALF * step)


def _explained(others: np.ndarray, y: np.ndarray) -> float:
    """Share of the target's variance that a linear fit on some columns explains."""
    if not others.shape[1]:
        return 0.0
    standard = np.column_stack([(others - others.mean(axis=0)) / others.std(axis=0), np.ones(len(y))])
    left = y - standard @ np.linalg.lstsq(standard, y, rcond=None)[0]
    return float(1 - left.var() / y.var())
