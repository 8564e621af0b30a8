"""Order: do the columns that a model is fed stand where they stood at fit?"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .. import drift
from .columns import Reference
from .naming import names_exactly

MOST = 60  # columns
LEAST_ROWS = 8
MOST_SECONDS = 1.0  # of CPU time for all streams of a run


class Orders:
    """`order_of` for many streams: the same columns beside the same ones are compared once (a search fits dozens of models on one table)."""

    def __init__(self) -> None:
        self.known: dict[int, dict[str, Any] | None] = {}
        self.learnt: dict[int, list[str]] = {}  # by the model's number: the names of the table whose columns an array at fit was, row by row
        self.apart: dict[int, list[list[str]]] = {}  # by the stream's id: these, and those of the table that it was fed, in another order
        self.spent = 0.0

    def fitted(self, number: int, columns: list[np.ndarray]) -> None:
        """A model is fitted to an array without names."""
        names = self._names(columns)
        if names is not None:
            self.learnt[number] = names

    def fed(self, stream: Any, columns: list[np.ndarray]) -> None:
        """It is given another, for the first time."""
        own = self.learnt.get(stream.model.number)
        names = self._names(columns) if own is not None and stream.calls == 1 else None
        if names is not None and own is not None and names != own and sorted(names) == sorted(own):
            self.apart[id(stream)] = [own, names]

    def _names(self, columns: list[np.ndarray]) -> list[str] | None:
        if self.spent > MOST_SECONDS:
            return None
        began = time.thread_time()
        names = names_exactly(columns)
        self.spent += time.thread_time() - began
        return names

    def of(self, references: list[Reference], columns: list[np.ndarray], notable: list[dict[str, Any]]) -> dict[str, Any] | None:
        """None too where too much time went into others."""
        fed = [c for c in columns if c.dtype.kind != "O"]
        key = hash(
            (
                *(r.name for r in references),
                *(r.stock.tobytes() for r in references),
                *(c.tobytes() for c in fed),
                *(t["kind"] == "number" for t in notable),
                len(columns),
            )
        )
        if key not in self.known and self.spent < MOST_SECONDS:
            began = time.thread_time()
            self.known[key] = order_of(references, columns, notable)
            self.spent += time.thread_time() - began
        return self.known.get(key)


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
    stocks = [np.unique(r.stock.astype(np.float32)) for r in references]
    counts = [drift.count(r.stock, r.inner) for r in references]
    seen = np.array([[_seen(s, c.astype(np.float32)) for s in stocks] for c in some])
    effect = np.array([[drift.effect(n, drift.count(c, r.inner)) for n, r in zip(counts, references)] for c in some])
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


def _seen(stock: np.ndarray, column: np.ndarray) -> float:
    """Share of values that the column at fit (its different ones, in order) holds too, both as 32-bit floats."""
    found = np.searchsorted(stock, column)
    return float((stock[np.minimum(found, len(stock) - 1)] == column).mean())


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
