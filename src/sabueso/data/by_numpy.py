"""Tables in memory, by NumPy alone: columns as arrays, counted on stored edges."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ..capture.tables import hashed, mixed
from ..profiles import LENGTHS, Profile
from .plans import SAMPLE, Plan, settled


class Arrays:
    """A table of NumPy columns: float64, int64 or bool for numbers, float64 seconds for times, objects (str or None) for texts."""

    engine = "numpy"

    def __init__(self, name: str, columns: dict[str, np.ndarray], kinds: dict[str, str], file: str | None = None) -> None:
        self.name, self.file, self.kinds = name, file, kinds
        self._columns = columns
        self.names = list(columns)
        self.rows = len(next(iter(columns.values()))) if columns else 0
        self.lost: dict[str, Any] | None = None

    def rows_of_sample(self) -> np.ndarray:
        """Positions of evenly spread rows."""
        return np.arange(0, self.rows, max(1, -(-self.rows // SAMPLE)))

    def sample(self) -> dict[str, np.ndarray]:
        """Evenly spread rows, in order."""
        at = self.rows_of_sample()
        return {n: c[at] for n, c in self._columns.items()}

    def column(self, name: str) -> np.ndarray:
        """All of one column."""
        return self._columns[name]

    def at(self, names: list[str], rows: list[int]) -> dict[str, np.ndarray]:
        """Some rows of some columns."""
        return {n: self._columns[n][rows] for n in names}

    def profiles(self, plans: dict[str, Plan], chunks: tuple[str, list[float]] | None = None) -> dict[str, list[Profile]]:
        """The profile of each planned column, a part for each stretch between the boundaries of the column named in `chunks`."""
        if chunks is None:
            return {n: [self._profile(n, p, self._columns[n])] for n, p in plans.items()}
        part = np.searchsorted(np.array(chunks[1]), self._columns[chunks[0]], side="right")
        return {n: [self._profile(n, p, self._columns[n][part == i]) for i in range(len(chunks[1]) + 1)] for n, p in plans.items()}

    def _profile(self, name: str, plan: Plan, values: np.ndarray) -> Profile:
        with np.errstate(all="ignore"):  # values near the ends of their type have no finite spread
            return self._counted(name, plan, values)

    def _counted(self, name: str, plan: Plan, values: np.ndarray) -> Profile:
        made = Profile(name, self.kinds[name], plan.kind, count=len(values), sampled=len(values))
        if values.dtype.kind == "O":
            return _texts(made, plan, values)
        if plan.kind == "other":
            return made
        real = values.astype(np.float64, copy=False)
        finite = np.isfinite(real)
        good = real if finite.all() else real[finite]
        made.missing = int(np.isnan(real).sum())
        made.nonfinite = len(real) - len(good) - made.missing
        if len(good):
            made.zeros = int((good == 0).sum())
            made.min, made.max, made.mean, made.sd = float(good.min()), float(good.max()), float(good.mean()), float(good.std())
            made.whole = plan.whole and bool((good == np.trunc(good)).all())
        if plan.by_value:
            found, times = np.unique(good, return_counts=True)
            made.levels = list(zip(found.tolist(), times.tolist()))
        elif plan.edges:
            made.edges = list(plan.edges)
            made.counts = np.bincount(np.searchsorted(plan.edges, good, side="left"), minlength=len(plan.edges) + 1).tolist()
        return settled(made)

    def hashes(self, names: list[str]) -> np.ndarray:
        """One number a row of the values of these columns."""
        key = hashed(_comparable(self._columns[names[0]]))
        for name in names[1:]:
            key = mixed(key, hashed(_comparable(self._columns[name])))
        return key

    def first(self, name: str, how: str, *given: Any, most: int = 50) -> list[int]:
        """The first rows of a column that are missing, equal to one of the values given, or outside the two given."""
        values = self._columns[name]
        if how == "missing":
            hit = np.array([v is None for v in values.tolist()], bool) if values.dtype.kind == "O" else np.isnan(values.astype(np.float64))
        elif how == "outside":
            hit = (values < given[0]) | (values > given[1])
        else:
            wanted = set(given[0])
            hit = np.fromiter((v in wanted for v in values.tolist()), bool, len(values))
        return np.flatnonzero(hit)[:most].tolist()


def _texts(made: Profile, plan: Plan, values: np.ndarray) -> Profile:
    said = [v for v in values.tolist() if v is not None]
    made.missing = len(values) - len(said)
    if plan.kind == "text" and plan.by_value:
        made.levels = list(Counter(said).items())
    elif plan.kind == "text":
        made.edges, sizes = list(LENGTHS), np.array([len(v) for v in said], float)
        made.counts = np.bincount(np.searchsorted(LENGTHS, sizes, side="left"), minlength=len(LENGTHS) + 1).tolist()
    return settled(made)


def _comparable(values: np.ndarray) -> np.ndarray:
    """A NaN is equal to a NaN."""
    if values.dtype.kind != "f":
        return values
    return np.where(np.isnan(values), np.inf, values) if np.isnan(values).any() else values
