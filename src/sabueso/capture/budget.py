"""Budget: measures what our own deep looks cost and says when the next one may be taken."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from statistics import median

RECENT = 9  # looks whose median is the estimate: one disturbed sample must not starve the rest
CREDIT = 8.0  # looks that may be saved up, so that a pause (an evaluation, a debugger) gives no burst


class Budget:
    """A token bucket: time (by default of the wall clock) earns `share` of itself, a look spends what it took.

    `allows()` asks whether the expected cost of a look is there; `spent(seconds)` books one. The expectation is the median of the last
    looks. A pause longer than `pause` seconds between two questions earns nothing beyond it.
    """

    def __init__(self, share: float, clock: Callable[[], float] = time.perf_counter, pause: float = 2.0) -> None:
        self.share, self.clock, self.pause = share, clock, pause
        self.credit = 0.0
        self.total = 0.0  # seconds spent in all
        self.expected = 0.0  # seconds that the next look will take
        self._costs: deque[float] = deque(maxlen=RECENT)
        self._then = clock()

    def allows(self) -> bool:
        """Is enough saved for one more look?"""
        now = self.clock()
        self.credit += self.share * min(now - self._then, self.pause)
        self._then = now
        if self._costs and self.credit > CREDIT * self.expected:
            self.credit = CREDIT * self.expected
        return self.credit >= self.expected

    def spent(self, seconds: float) -> None:
        """Book a look."""
        self._costs.append(seconds)
        self.expected = median(self._costs)
        self.credit -= seconds
        self.total += seconds
