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

    def count(self, like: Held | None = None, time: str | None = None, beside: Held | None = None) -> None:
        """One scan, once: on another table's edges where both hold a column alike, in chunks along a time as long as what is laid beside it."""
        if self.profiles:
            return
        self.plans = {n: plan_of(self.table.kinds[n], self.sample[n]) for n in self.table.names}
        if like is not None:
            self.plans |= {n: p for n, p in like.plans.items() if n in self.plans and self.plans[n].kind == p.kind}
        self.parts = self.table.profiles(self.plans, chunks(self, time, beside))
        self.profiles = {n: whole_of(p) for n, p in self.parts.items()}


def chunks(one: Held, time: str | None, beside: Held | None) -> tuple[str, list[float]] | None:
    """Boundaries along the time, so that a chunk spans what the other table spans: days, weeks, months, else ten stretches; None without a time."""
    kind = one.table.kinds.get(time or "")
    if time is None or one.table.rows < 500 or kind not in ("time", "number"):
        return None
    t = one.sample[time][np.isfinite(one.sample[time])]
    if kind == "number" and 4 <= len(np.unique(t)) <= MOST_CHUNKS:
        return time, np.unique(t)[1:].tolist()
    if kind == "time":
        size = next((s for s in (DAY, 7 * DAY, 30 * DAY) if span(beside, time) <= 1.2 * s), None)
        starts = np.unique(np.floor(t / size))[1:] * size if size else t[:0]
        if len(starts) >= 3:
            return time, [float(s) for s in starts[-MOST_CHUNKS:]]
    edges = np.unique(np.quantile(t, np.arange(1, 10) / 10)) if len(t) else np.zeros(0)
    return (time, edges.tolist()) if len(edges) >= 3 else None


def span(one: Held | None, time: str) -> float:
    """The seconds from the first row to the last."""
    t = one.sample.get(time) if one is not None else None
    held = t[np.isfinite(t)] if t is not None and t.dtype.kind != "O" else np.zeros(0)
    return float(np.ptp(held)) if len(held) else DAY
