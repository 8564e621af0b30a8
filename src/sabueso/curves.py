"""Curve and Heat: a series, or many of one name, reduced to what a screen can show; no single outlier or non-finite value is lost by it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

BUCKETS = 1000  # about the pixels of a wide chart
RAW = 2  # this many points a bucket and fewer are sent as they are
LEVELS, HATCHED, BROKEN = 251, 254, 255  # cells of a packed Heat: finite values, not measured, non-finite


@dataclass(slots=True)
class Curve:
    """Low, high and mean by bucket of steps; raw points where there are few. `broken` holds (step, NaN, +inf, -inf) by bucket that has any.

    Where a bucket has no finite value low, high and mean are NaN.
    """

    steps: np.ndarray
    low: np.ndarray
    high: np.ndarray
    mean: np.ndarray
    broken: np.ndarray = field(default_factory=lambda: np.zeros((0, 4)))
    count: int = 0
    raw: bool = False

    @property
    def nonfinite(self) -> int:
        return int(self.broken[:, 1:].sum())

    def spread(self) -> tuple[float, float] | None:
        """The least and the largest finite value."""
        if not np.isfinite(self.low).any():
            return None
        return float(np.nanmin(self.low)), float(np.nanmax(self.high))

    def packed(self) -> bytes:
        """Little-endian float64: raw, n, broken, count; then the columns; then the rows of `broken`."""
        head = np.array([float(self.raw), len(self.steps), len(self.broken), self.count])
        columns = [self.steps, self.mean] if self.raw else [self.steps, self.low, self.high, self.mean]
        return np.concatenate([head, *columns, self.broken.ravel()]).astype("<f8").tobytes()


def reduced(steps: np.ndarray, values: np.ndarray, buckets: int = BUCKETS) -> Curve:
    """Low, high and mean of the finite values in equal stretches of steps; what is not finite is counted by class at its first step there."""
    if len(steps) > 1 and (np.diff(steps) < 0).any():
        order = np.argsort(steps, kind="stable")
        steps, values = steps[order], values[order]
    good = np.isfinite(values)
    if len(steps) <= RAW * buckets:
        kept = np.where(good, values, np.nan)
        bad = np.flatnonzero(~good)
        return Curve(steps.astype(float), kept, kept, kept, _classes(steps[bad], values[bad], np.arange(len(bad))), len(steps), True)
    return summarised(steps, values, values, np.where(good, values, 0.0), good.astype(float), buckets, _broken(steps, values, buckets), len(steps))


def summarised(
    steps: np.ndarray, low: np.ndarray, high: np.ndarray, total: np.ndarray, finite: np.ndarray, buckets: int, broken: np.ndarray, count: int
) -> Curve:
    """Reduce what is summarised already (chunks, or single points): `total` and `finite` are the sum and the number of finite values."""
    at = _bucket(steps, buckets, steps)
    ends = np.flatnonzero(np.r_[True, at[1:] != at[:-1]])
    many = np.add.reduceat(finite, ends)
    with np.errstate(all="ignore"):
        mean = np.where(many > 0, np.add.reduceat(total, ends) / many, np.nan)
        least = np.minimum.reduceat(np.where(finite > 0, low, np.inf), ends)
        most = np.maximum.reduceat(np.where(finite > 0, high, -np.inf), ends)
    least, most = np.where(many > 0, least, np.nan), np.where(many > 0, most, np.nan)
    return Curve(steps[ends].astype(float), least, most, mean, broken, count)


def _bucket(steps: np.ndarray, buckets: int, of: np.ndarray) -> np.ndarray:
    first, width = float(steps[0]), max(float(steps[-1]) - float(steps[0]), 1.0)
    return np.minimum(((of - first) * (buckets / width)).astype(np.int64), buckets - 1)


def _broken(steps: np.ndarray, values: np.ndarray, buckets: int) -> np.ndarray:
    bad = np.flatnonzero(~np.isfinite(values))
    return _classes(steps[bad], values[bad], _bucket(steps, buckets, steps[bad]))


def _classes(steps: np.ndarray, values: np.ndarray, at: np.ndarray) -> np.ndarray:
    if not len(steps):
        return np.zeros((0, 4))
    ends = np.flatnonzero(np.r_[True, at[1:] != at[:-1]])
    kinds = (np.isnan(values), np.isposinf(values), np.isneginf(values))
    return np.column_stack([steps[ends].astype(float), *(np.add.reduceat(k.astype(float), ends) for k in kinds)])


def marks(steps: np.ndarray, values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Rows of `Curve.broken` for non-finite points, one for each run of equal `at`."""
    return _classes(steps, values, at)


def parts_at(a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]) -> tuple[int, float, float] | None:
    """(step, value of a, value of b) of the first step that both have and at which they are not bit-equal; NaN equals NaN."""
    steps, at_a, at_b = np.intersect1d(a[0], b[0], return_indices=True)
    left, right = a[1][at_a], b[1][at_b]
    apart = np.flatnonzero(~((left == right) | (np.isnan(left) & np.isnan(right))))
    return (int(steps[apart[0]]), float(left[apart[0]]), float(right[apart[0]])) if len(apart) else None


@dataclass(slots=True)
class Heat:
    """Rows by sampled step: `values` (rows, columns) with NaN where nothing was measured, `broken` True where a value was not finite."""

    name: str
    labels: list[str]
    steps: np.ndarray
    values: np.ndarray
    broken: np.ndarray

    @property
    def log(self) -> bool:
        """Is a logarithmic scale of more use: all values positive or zero, over more than three decades?"""
        held = self.values[np.isfinite(self.values)]
        above = held[held > 0]
        return bool(len(above) and (held >= 0).all() and above.max() > 1e3 * above.min())

    def packed(self) -> bytes:
        """Little-endian float64: rows, columns, low, high, log; then the steps; then a byte a cell (`LEVELS`, `HATCHED`, `BROKEN`)."""
        log = self.log
        with np.errstate(all="ignore"):
            shown = np.where(self.values > 0, np.log10(self.values), np.nan) if log else self.values
        held = shown[np.isfinite(shown)]
        low, high = (float(held.min()), float(held.max())) if len(held) else (0.0, 1.0)
        with np.errstate(all="ignore"):
            cells = np.clip((shown - low) / ((high - low) or 1.0) * (LEVELS - 1), 0, LEVELS - 1)
        cells = np.where(np.isnan(self.values), HATCHED, np.where(np.isfinite(cells), cells, 0))  # a zero on a log scale is the lowest
        cells = np.where(self.broken, BROKEN, cells).astype(np.uint8)
        head = np.array([len(self.labels), len(self.steps), low, high, float(log)])
        return np.concatenate([head, self.steps.astype(float)]).astype("<f8").tobytes() + cells.tobytes()


def heat(name: str, rows: Iterable[tuple[str, np.ndarray, np.ndarray]], most_rows: int = 300, most_columns: int = 1000) -> Heat:
    """A heat map of (label, steps, values); the largest value of a cell stands for it, a non-finite one before any. Rows past the limit are grouped."""
    held = list(rows)
    labels = grouped([label for label, _, _ in held], most_rows)
    names = list(dict.fromkeys(labels))
    steps = np.unique(np.concatenate([s for _, s, _ in held])) if held else np.zeros(0, np.int64)
    columns = steps if len(steps) <= most_columns else steps[np.linspace(0, len(steps) - 1, most_columns).astype(int)]
    values, broken = np.full((len(names), len(columns)), -np.inf), np.zeros((len(names), len(columns)), bool)
    for label, (_, at, points) in zip(labels, held):
        row, column = names.index(label), np.maximum(np.searchsorted(columns, at, side="right") - 1, 0)
        good = np.isfinite(points)
        np.maximum.at(values[row], column[good], points[good])
        broken[row, column[~good]] = True
    return Heat(name, names, columns, np.where(np.isneginf(values), np.nan, values), broken)


def grouped(labels: Sequence[str], most: int) -> list[str]:
    """The label of each row's group: as it is, else its module path cut shorter, else (where that would leave next to nothing) neighbours together."""
    cut = list(labels)
    for parts in range(max((label.count(".") for label in labels), default=0), 0, -1):
        if len(set(cut)) <= most:
            break
        shorter = [".".join(label.split(".")[:parts]) for label in labels]
        if len(set(shorter)) < most / 4:
            break
        cut = shorter
    names = list(dict.fromkeys(cut))
    each = -(-len(names) // most)
    if each <= 1:
        return cut
    group = {n: f"{names[i // each * each]} and {each - 1} more" for i, n in enumerate(names)}
    return [group[n] for n in cut]
