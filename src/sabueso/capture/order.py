"""Order: do the columns that a model is fed stand where they stood at fit?"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import drift
from .columns import Reference

MOST = 60  # columns
LEAST_ROWS = 8


def order_of(references: list[Reference], columns: list[np.ndarray], notable: list[dict[str, Any]]) -> dict[str, Any] | None:
    """How well each column agrees with its own place at fit and with the place that suits it best; None where nothing has moved.

    Both are of the columns that stand elsewhere: `seen` counts the values that the place at fit has held (exact where columns repeat
    values), `effect` is the distance of distributions.
    """
    standing = [t for t in notable if t["kind"] == "number"]
    width = len(references)
    if len(standing) < 2 or not 2 <= width <= MOST or len(columns[0]) < LEAST_ROWS:
        return None
    if any(r.text or c.dtype.kind == "O" or not len(r.stock) for r, c in zip(references, columns)):
        return None
    some = [c[np.isfinite(c.astype(float))].astype(float)[:400] for c in columns]
    if any(not len(c) for c in some):
        return None
    seen = np.array([[_seen(r, c) for r in references] for c in some])
    effect = np.array([[drift.numbers(drift.count(r.stock, r.inner), drift.count(c, r.inner)).effect for r in references] for c in some])
    cost = effect - 4 * seen
    best = _assign(cost)
    own = np.arange(width)
    moved = [j for j in own if best[j] != j]
    if sum(len(np.unique(references[j].stock[:400])) > 2 for j in moved) < 2:  # yes and no: a share says nothing of the place, since any other mix moves it
        return None
    if float(sum(cost[j, j] - cost[j, best[j]] for j in moved)) < 0.3 * len(moved):
        return None
    others = seen.copy()
    others[own, best] = others[own, own] = -1.0
    alone = max(float(seen[j, best[j]] - others[j].max()) for j in moved) if width > 2 else 1.0
    return {"alone": alone, "mapping": best.tolist(), "names": [r.name for r in references], "rows": len(some[0]),
            "seen": float(seen[moved, moved].mean()), "seen_best": float(seen[moved, best[moved]].mean()),
            "effect": float(effect[moved, moved].mean()), "effect_best": float(effect[moved, best[moved]].mean()),
            "moved": [references[j].name for j in moved], "gain": [float(cost[j, j] - cost[j, best[j]]) for j in moved]}  # fmt: skip


def _seen(ref: Reference, column: np.ndarray) -> float:
    """Share of values that the column at fit holds too, compared as 32-bit floats."""
    stock = np.unique(ref.stock.astype(np.float32))
    found = np.searchsorted(stock, column.astype(np.float32))
    return float((stock[np.minimum(found, len(stock) - 1)] == column.astype(np.float32)).mean())


def _assign(cost: np.ndarray) -> np.ndarray:
    """A cheap assignment: best pairs first, then exchanges of two while they gain."""
    width = len(cost)
    chosen = np.full(width, -1)
    for flat in np.argsort(cost, axis=None, kind="stable"):
        i, j = divmod(int(flat), width)
        if chosen[i] < 0 and j not in chosen:
            chosen[i] = j
    gained = True
    while gained:
        gained = False
        for a in range(width):
            for b in range(a + 1, width):
                if cost[a, chosen[b]] + cost[b, chosen[a]] < cost[a, chosen[a]] + cost[b, chosen[b]] - 1e-12:
                    chosen[a], chosen[b], gained = chosen[b], chosen[a], True
    return chosen
