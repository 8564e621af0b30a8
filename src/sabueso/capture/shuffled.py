"""Answers in the order of a shuffled loader, scored against truths in the order of the table: told by the very permutation that the loader drew."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

LEAST, MOST_ROWS = 30, 200_000
WELL, BADLY = 0.5, 0.2  # of the way from chance to perfect: along the loader's order, and as they were scored


@dataclass(frozen=True, slots=True)
class Passed:
    """One whole pass over a loader that fed no training: the rows in the order that it gave them, and where it was made."""

    order: np.ndarray
    name: str | None
    file: str | None
    line: int | None


def look(passes: Iterable[Passed], true: np.ndarray, answered: np.ndarray) -> dict[str, Any] | None:
    """What is told where the answers fit the truths only along a loader's order; None where they do not, or fit as they are."""
    if true.ndim != 1 or answered.ndim != 1 or not LEAST <= len(true) == len(answered) <= MOST_ROWS:
        return None
    for held in passes:
        if len(held.order) != len(true):
            continue
        plainly, along = agreement(true, answered), agreement(true[held.order], answered)
        if plainly is None or along is None or along < WELL or plainly > BADLY * along:
            continue
        out = np.flatnonzero(held.order != np.arange(len(true)))
        return {"how": "loader", "rows": len(true), "out": len(out), "out_rows": out[:50].tolist(), "agree": round(plainly, 3), "along": round(along, 3),
                "name": held.name, "file": held.file, "line": held.line, "at": int(out[0]), "first_input": int(held.order[out[0]])}  # fmt: skip
    return None


def agreement(true: np.ndarray, answered: np.ndarray) -> float | None:
    """How far two columns are from chance (0) to equal (1): by equal values, or by correlation where the answers are scores or numbers."""
    try:
        if answered.dtype.kind in "f" and len(np.unique(answered)) > 20:
            a, b = true.astype(float), answered.astype(float)
            return float(np.corrcoef(a, b)[0, 1]) if a.std() > 0 and b.std() > 0 else None
        levels, codes = np.unique(np.concatenate([true, answered]), return_inverse=True)
    except (TypeError, ValueError):
        return None
    a, b = codes[: len(true)], codes[len(true) :]
    chance = float((np.bincount(a, minlength=len(levels)) / len(a)) @ (np.bincount(b, minlength=len(levels)) / len(b)))
    return float(((a == b).mean() - chance) / (1 - chance)) if chance < 0.99 else None
