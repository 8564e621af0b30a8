"""A table with what was counted of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..profiles import Profile
from .plans import Plan, plan_of, whole_of
from .reading import Table

MOST_CHUNKS = 60  # of the reference, by day
DAY = 86400.0


@dataclass
class Held:
    """A table in its role, some of its rows, and its profiles: by chunk of the reference's time, and put together."""

    table: Table
    role: str
    sample: dict[str, np.ndarray]
    plans: dict[str, Plan] = field(default_factory=dict)
    parts: dict[str, list[Profile]] = field(default_factory=dict)
    profiles: dict[str, Profile] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table, role: str) -> Held:
        """With evenly spread rows."""
        return cls(table, role, table.sample())

    def count(self, like: Held | None = None, time: str | None = None) -> None:
        """One scan, once: on another table's edges where both hold a column alike, in chunks along a time."""
        if self.profiles:
            return
        self.plans = {n: plan_of(self.table.kinds[n], self.sample[n]) for n in self.table.names}
        if like is not None:
            self.plans |= {n: p for n, p in like.plans.items() if n in self.plans and self.plans[n].kind == p.kind}
        self.parts = self.table.profiles(self.plans, chunks(self, time))
        self.profiles = {n: whole_of(p) for n, p in self.parts.items()}


def chunks(one: Held, time: str | None) -> tuple[str, list[float]] | None:
    """Boundaries along the time: by day, by week, else ten stretches of as many rows; None without a time."""
    kind = one.table.kinds.get(time or "")
    if time is None or one.table.rows < 500 or kind not in ("time", "number"):
        return None
    t = one.sample[time][np.isfinite(one.sample[time])]
    for size in (DAY, 7 * DAY) if kind == "time" else (None,):
        days = np.unique(t if size is None else np.floor(t / size))
        if 4 <= len(days) <= MOST_CHUNKS:
            return time, [float(d * (size or 1.0)) for d in days[1:]]
    edges = np.unique(np.quantile(t, np.arange(1, 10) / 10)) if len(t) else np.zeros(0)
    return (time, edges.tolist()) if len(edges) >= 3 else None
