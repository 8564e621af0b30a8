"""Columns that are means of the target over the rows that have their value: as they are, drawn towards a common mean, or of the target before its logarithm."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

CLOSE = 2e-5  # of the target's range: values are kept as 32-bit floats
LEAST_LEVELS = 10  # values by which the strength of a drawing is told, of at least three sizes
MOST_LEVELS = 60  # values that it is told by
EXPLAINED = 0.98  # share of rows


def targets(y: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """What the means may be of: the target, or, of one that may be a logarithm, what it is one of."""
    yield "the target", y
    if len(np.unique(y[:200])) > 20 and np.abs(y).max() < 40:
        yield "the target before its logarithm", np.exp(y)
        yield "the target before its logarithm", np.expm1(y)


def rises(column: np.ndarray, y: np.ndarray) -> bool:
    """Does the target rise with the column by one for one, or by more? On its own means it rises by one, on means that were drawn together by more."""
    x = column - column.mean()
    return bool((x * y).sum() >= 0.9 * (x * x).sum() > 0)  # no dot product: BLAS would wake all its threads


def may_be(column: np.ndarray) -> bool:
    """Fractions that repeat?"""
    return 3 <= len(np.unique(column)) <= 0.8 * len(column) and bool((column != np.round(column)).mean() > 0.5)


def is_mean(column: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """Rows a value, where each value is the mean of the target over the rows that have it; None otherwise."""
    scale = float(np.ptp(y)) or 1.0
    if abs(column.mean() - y.mean()) > 1e-5 * scale or column.std() < 1e-3 * scale:
        return None
    levels, groups = np.unique(column, return_inverse=True)
    count = np.bincount(groups)
    if not 3 <= len(levels) or (np.abs(np.bincount(groups, y) / count - levels) > CLOSE * scale).any() or count.max() == 1:
        return None
    return count


def is_drawn(column: np.ndarray, y: np.ndarray, keys: np.ndarray | None = None) -> np.ndarray | None:
    """Rows a value, where each is (sum + b) / (rows + a) of the target over its rows, for one a and b: a mean drawn towards b / a.

    Several categories may have the same value, as those with one row and no success: then the rows are those of one of them, several times. Where
    the `keys` of the categories are known, each is one.
    """
    scale = float(np.ptp(y)) or 1.0
    groups = np.unique(column if keys is None else keys, return_inverse=True)[1]
    count = np.bincount(groups)
    levels = np.bincount(groups, column) / count
    if keys is not None and (np.abs(levels[groups] - column) > CLOSE * scale).any():
        return None
    if not LEAST_LEVELS <= len(levels) <= 0.8 * len(column) or column.std() < 1e-3 * scale:
        return None
    mean = np.bincount(groups, y) / count
    some = np.flatnonzero((mean > y.min()) & (mean < y.max()))
    some = some[np.argsort(-count[some], kind="stable")][:MOST_LEVELS]
    if len(some) < LEAST_LEVELS or len(np.unique(count[some])) < 3:
        return None
    a, b = _strength(levels[some], mean[some], count[some], scale)
    if not (0.1 <= a <= 1000 and y.min() < b / a < y.max()):
        return None
    with np.errstate(all="ignore"):
        times = np.rint(np.nan_to_num(count * (levels - mean) / (b - a * levels), nan=1.0, posinf=1.0, neginf=1.0)).clip(1, count)
    times = times if keys is None else np.ones(len(count))
    one = count / times
    fits = (np.abs((one * mean + b) / (one + a) - levels) < CLOSE * scale) & (count % times == 0)
    alone = fits & (times == 1) & (count > 1)
    if count[fits].sum() < EXPLAINED * len(y) or alone.sum() < LEAST_LEVELS or len(np.unique(count[alone])) < 3:
        return None
    return np.asarray(one[fits])


def _strength(levels: np.ndarray, mean: np.ndarray, count: np.ndarray, scale: float) -> tuple[float, float]:
    """a and b of count * (level - mean) = b - a * level: of all pairs of values those that most others agree with."""
    away = count * (levels - mean)
    first, second = np.triu_indices(len(levels), 1)
    kept = (np.abs(levels[first] - levels[second]) > 1e-3 * scale) & (count[first] != count[second])
    first, second = first[kept], second[kept]
    if not len(first):
        return 0.0, 0.0
    a = -(away[first] - away[second]) / (levels[first] - levels[second])
    b = away[first] + a * levels[first]
    with np.errstate(all="ignore"):
        told = (count * mean + b[:, None]) / (count + a[:, None])
    near = np.abs(told - levels) < CLOSE * scale
    near = near[near.sum(axis=1).argmax()]
    weight = 1 / count[near]  # what rounding moves grows with the rows
    drawn = np.linalg.lstsq(np.column_stack([-levels[near], np.ones(near.sum())]) * weight[:, None], away[near] * weight, rcond=None)[0]
    return float(drawn[0]), float(drawn[1])
