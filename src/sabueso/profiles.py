"""Profile: a mergeable summary of one column or tensor."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from . import drawings

GRID = tuple(i / 20 for i in range(21))  # the quantiles that are kept: 0, 5, .. 100 per cent
MOST_TOP = 40
MOST_LEVELS = 10_000  # values that are counted one by one
LENGTHS = (*range(33), 48, 64, 96, 128, 192, 256, 384, 512, 1024, 2048, 4096)  # edges of the counts of text lengths


@dataclass(slots=True)
class Profile:
    """Counts and moments of a column; counts, extremes and moments merge exactly, quantiles and distinct counts approximately.

    `count` is all rows, `missing` null or NaN, `nonfinite` infinities. Moments and quantiles are of the finite numbers; for text they are
    absent. `top` holds the most frequent values as (value, count), `numeric_share` the share of a text column that reads as a number
    (`decimal_share` with a decimal part), `sampled` the rows that quantiles and distinct counts were taken from.

    A table's columns are counted exactly besides: `counts` on `edges` (inner edges stored with the reference; of text lengths `LENGTHS`), or
    `levels` value by value (`cut` where there were more than are counted). These merge exactly over chunks, days and machines.
    """

    name: str = ""
    dtype: str = ""
    kind: str = "number"  # number, text, bool, time, other
    count: int = 0
    missing: int = 0
    nonfinite: int = 0
    zeros: int = 0
    whole: bool = False  # every number is an integer
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    sd: float | None = None
    quantiles: list[float] = field(default_factory=list)
    distinct: int = 0
    top: list[tuple[Any, int]] = field(default_factory=list)
    numeric_share: float | None = None
    decimal_share: float | None = None
    sampled: int = 0
    edges: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    levels: list[tuple[Any, int]] = field(default_factory=list)
    cut: bool = False

    @property
    def valid(self) -> int:
        """Rows that hold a finite number or a text."""
        return self.count - self.missing - self.nonfinite

    @property
    def missing_share(self) -> float:
        return self.missing / self.count if self.count else 0.0

    def quantile(self, q: float) -> float | None:
        """A quantile, interpolated on the kept grid."""
        return float(np.interp(q, GRID, self.quantiles)) if self.quantiles else None

    @property
    def median(self) -> float | None:
        return self.quantile(0.5)

    def merge(self, other: Profile) -> Profile:
        """The profile of both together; order makes no difference to counts, extremes and moments."""
        if not self.count or not other.count:
            return other if not self.count else self
        mean, sd = _moments(self, other)
        top = dict(self.top)
        for value, times in other.top:
            top[value] = top.get(value, 0) + times
        return Profile(
            name=self.name, dtype=self.dtype if self.dtype == other.dtype else f"{self.dtype}|{other.dtype}",
            kind=self.kind if self.kind == other.kind else "other", count=self.count + other.count, missing=self.missing + other.missing,
            nonfinite=self.nonfinite + other.nonfinite, zeros=self.zeros + other.zeros, whole=self.whole and other.whole,
            min=_least(min, self.min, other.min), max=_least(max, self.max, other.max), mean=mean, sd=sd,
            quantiles=_pooled(self, other), distinct=max(self.distinct, other.distinct, len(top)),
            top=sorted(top.items(), key=lambda t: (-t[1], str(t[0])))[:MOST_TOP],
            numeric_share=_share(self.numeric_share, self.sampled, other.numeric_share, other.sampled),
            decimal_share=_share(self.decimal_share, self.sampled, other.decimal_share, other.sampled), sampled=self.sampled + other.sampled,
            **_counted(self, other),
        )  # fmt: skip

    def as_dict(self) -> dict[str, Any]:
        """JSON-able; what is absent is left out."""
        held = ((f, getattr(self, f)) for f in self.__slots__)
        return {k: list(v) if isinstance(v, list) else v for k, v in held if v not in (None, [], "")}

    def _repr_html_(self) -> str:
        """For notebooks: what it is, and its distribution as a drawing without scripts."""
        told = [(k, v) for k, v in self.as_dict().items() if k not in ("quantiles", "top", "levels", "edges", "counts")]
        counts, labels = drawings.histogram(self.quantiles, self.top)
        return drawings.table(told) + (drawings.bars(counts, labels, self.name) if counts else "")

    @classmethod
    def of(cls, data: dict[str, Any]) -> Profile:
        """From a dictionary, leaving out what a newer version may have added."""
        known = {f.name for f in fields(cls)}
        made = cls(**{k: v for k, v in data.items() if k in known})
        made.top, made.levels = [(v, n) for v, n in made.top], [(v, n) for v, n in made.levels]
        return made


def _moments(a: Profile, b: Profile) -> tuple[float | None, float | None]:
    """Mean and standard deviation of two parts together (Chan et al. 1983)."""
    if a.mean is None or b.mean is None or not a.valid or not b.valid:
        return (b.mean, b.sd) if a.mean is None else (a.mean, a.sd)
    n = a.valid + b.valid
    delta = b.mean - a.mean
    square = lambda x: x * x  # noqa: E731 (a power overflows with an error, a product to infinity)
    squares = square(a.sd or 0.0) * a.valid + square(b.sd or 0.0) * b.valid + square(delta) * a.valid * b.valid / n
    return a.mean + delta * b.valid / n, (squares / n) ** 0.5


def _counted(a: Profile, b: Profile) -> dict[str, Any]:
    """The exact counts of two parts together: bins where both were counted on the same edges, levels where both were counted by value."""
    made: dict[str, Any] = {"cut": a.cut or b.cut}
    if a.counts and b.counts and a.edges == b.edges:
        made |= {"edges": a.edges, "counts": [x + y for x, y in zip(a.counts, b.counts)]}
    if not made["cut"]:
        held = dict(a.levels)
        for value, times in b.levels:
            held[value] = held.get(value, 0) + times
        made |= {"levels": ordered(held) if len(held) <= MOST_LEVELS else [], "cut": len(held) > MOST_LEVELS}
    return made


def ordered(levels: dict[Any, int]) -> list[tuple[Any, int]]:
    """Counts by value, the most frequent first; the order of values settles ties, so that it is the same however the counts came about."""
    return sorted(levels.items(), key=lambda t: (-t[1], str(t[0])))


def _least(pick: Any, a: float | None, b: float | None) -> float | None:
    held = [x for x in (a, b) if x is not None]
    return pick(held) if held else None


def _share(a: float | None, n: int, b: float | None, m: int) -> float | None:
    if a is None or b is None:
        return b if a is None else a
    return (a * n + b * m) / max(n + m, 1)


def _pooled(a: Profile, b: Profile) -> list[float]:
    """Quantiles of the mixture: the two distribution functions are averaged by their counts on the union of the kept points."""
    if not a.quantiles or not b.quantiles:
        return a.quantiles or b.quantiles
    at = np.unique([*a.quantiles, *b.quantiles])
    weight = a.valid / max(a.valid + b.valid, 1)
    cdf = weight * _cdf(at, a.quantiles) + (1 - weight) * _cdf(at, b.quantiles)
    return [float(x) for x in np.interp(GRID, np.maximum.accumulate(cdf), at)]


def _cdf(at: np.ndarray, quantiles: list[float]) -> np.ndarray:
    values, last = np.unique(quantiles, return_index=False), {}
    for q, v in zip(GRID, quantiles):
        last[v] = q
    return np.interp(at, values, [last[v] for v in values.tolist()], left=0.0, right=1.0)
