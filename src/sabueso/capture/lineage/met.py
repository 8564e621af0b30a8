"""Which rows of one width were met at all: so that what is new is not looked for in each of hundreds of small arrays."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .known import Known

SMALL = 20_000  # rows up to which arrays are gathered; larger ones are searched by themselves


class Met:
    """The hashes of all rows met, as sorted runs: those of small arrays are merged as they grow, so that there are few.

    Arrays that were dropped since stay in it for a while, so that "met" may be wrong and "not met" is certain.
    """

    def __init__(self) -> None:
        self.waiting: list[Known] = []
        self.runs: list[np.ndarray] = []
        self.rows = self.dropped = 0

    def add(self, known: Known) -> None:
        """Its rows are met; they are sorted when they are first asked for."""
        self.waiting.append(known)
        self.rows += known.rows

    def drop(self, gone: Known, left: Iterable[Known]) -> None:
        """An array is forgotten: once half of the rows are, all is made anew of those that are left."""
        self.dropped += gone.rows
        if 2 * self.dropped > self.rows:
            alive = [k for k in left if k.width == gone.width and k.hashes is not None]
            self.waiting, self.runs, self.rows, self.dropped = alive, [], sum(k.rows for k in alive), 0

    def any(self, hashes: np.ndarray) -> bool:
        """Was any of these rows met?"""
        return any(bool(held.any()) for held in self._held(hashes))

    def most(self, hashes: np.ndarray) -> bool:
        """Were nine of ten of these rows met, be it in different arrays?"""
        seen = np.zeros(len(hashes), bool)
        for held in self._held(hashes):
            seen |= held
        return bool(seen.mean() >= 0.9)

    def _held(self, hashes: np.ndarray) -> list[np.ndarray]:
        for known in self.waiting:
            self._merge(known.sorted()[0])
        self.waiting.clear()
        return [run[np.minimum(run.searchsorted(hashes), len(run) - 1)] == hashes for run in self.runs]

    def _merge(self, run: np.ndarray) -> None:
        """Small runs become one as soon as the last is not twice as long."""
        if len(run) > SMALL:
            self.runs.insert(0, run)
            return
        while self.runs and len(self.runs[-1]) < 2 * len(run) and len(self.runs[-1]) <= SMALL:
            run = np.sort(np.concatenate([self.runs.pop(), run]), kind="stable")
        self.runs.append(run)
