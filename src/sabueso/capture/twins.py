"""Rows that are equal in every feature and differ in their label, against what merely similar rows do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import agreement, tables

LEAST = 20  # rows in conflict
CHANCE = 0.02  # of the repeated rows at most so many may be expected by chance, columns taken as independent
MOST_ROWS = 200_000


def conflicts(columns: list[np.ndarray], features: Callable[[np.ndarray], np.ndarray], codes: np.ndarray) -> dict[str, Any] | None:
    """Equal rows with other labels; None unless they disagree clearly more often than near but unequal rows do.

    `columns` are the features as they are (text too), `features(rows)` the same as numbers, `codes` class labels from 0.
    """
    n = len(codes)
    if n > MOST_ROWS or not columns:
        return None
    key = tables.hashed(columns[0])
    for at, column in enumerate(columns[1:]):
        if at < 3 and np.count_nonzero(np.diff(np.sort(key))) > n - LEAST - 1:
            return None  # a few columns already tell all rows apart
        key = tables.mixed(key, tables.hashed(column))
    order = np.argsort(key, kind="stable")
    start = np.concatenate(([True], key[order][1:] != key[order][:-1]))
    first = np.empty(n, dtype=np.int64)  # for each row the first row that equals it
    first[order] = np.repeat(order[start], np.diff(np.append(np.flatnonzero(start), n)))
    again = np.flatnonzero(first != np.arange(n))
    other = again[codes[again] != codes[first[again]]]
    if len(other) < LEAST or len(other) < 0.01 * n or 0.5 * n * n * by_chance(columns) > CHANCE * len(again):
        return None
    rest = similar(features, codes, np.flatnonzero(first == np.arange(n)))
    share = len(other) / len(again)
    if rest is None or share < 2 * (1 - rest) + 0.05:
        return None
    return {"rows": n, "repeated": len(again), "conflicting": len(other), "share": round(share, 3), "similar_disagree": round(1 - rest, 3), "positions": other}


def by_chance(columns: list[np.ndarray]) -> float:
    """Probability that two rows are equal, columns taken as independent."""
    together = 1.0
    for column in columns:
        some = column[:: max(1, len(column) // 2000)]
        times = np.unique(some.astype(str) if some.dtype.kind == "O" else some, return_counts=True)[1].astype(np.float64)
        together *= max(float((times * (times - 1)).sum()), 1.0) / max(len(some) * (len(some) - 1), 1)
    return together


def similar(features: Callable[[np.ndarray], np.ndarray], codes: np.ndarray, rows: np.ndarray) -> float | None:
    """How many labels the neighbours confirm among rows that all differ."""
    some = rows if len(rows) <= agreement.MOST_ROWS else rows[np.unique(np.linspace(0, len(rows) - 1, agreement.MOST_ROWS).astype(np.int64))]
    if len(some) < 60:
        return None
    prepared = agreement.prepared(features(some))
    if not prepared.shape[1]:
        return None
    near = agreement.neighbours(prepared, prepared, agreement.NEIGHBOURS, same=True)
    return float((agreement.votes(codes[some], near, int(codes.max()) + 1)[0] == codes[some]).mean())
