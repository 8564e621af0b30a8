"""Schedule: at which steps to look deep. Dense early, then what the budget pays for."""

from __future__ import annotations

from .budget import Budget

EARLY = 64  # the doubling steps up to here are looked at whatever they cost: most faults of set-up show by then
MOST_EARLY = 0.25  # seconds that the early looks may cost in all before they ask the budget too


class Schedule:
    """`due(step)` says whether to look at that step; steps count from 0 within one training.

    Steps 0, 1, 3, 7, .. (the 1st, 2nd, 4th, 8th) come first; afterwards a look is taken when the budget has saved for it, and no more
    often than every `least` steps.
    """

    def __init__(self, budget: Budget, least: int = 4) -> None:
        self.budget, self.least = budget, least
        self._early = 0.0
        self._last = -1

    def due(self, step: int) -> bool:
        """Look at this step?"""
        doubling = (step + 1) & step == 0
        if doubling and step < EARLY and self._early < MOST_EARLY:
            self._last = step
            return True
        if step - self._last < self.least or not self.budget.allows():
            return False
        self._last = step
        return True

    def took(self, step: int, seconds: float) -> None:
        """Tell what the look at that step cost."""
        self.budget.spent(seconds)
        if step < EARLY:
            self._early += seconds
            self.budget.credit = max(self.budget.credit, 0.0)  # the first looks are no debt
