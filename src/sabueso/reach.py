"""Reach: what a bounded activation can give, against what a loss asks of it."""

from __future__ import annotations

import math
from typing import Any


def out_of_reach(target: dict[str, Any], low: float, high: float) -> float:
    """The share of targets that a bounded activation cannot give, as far as it is known."""
    if "low" not in target:
        return 0.0
    if (low, high) == (0.0, 1.0):
        return float(target.get("outside_unit", 0.0))
    if target["low"] >= low - 1e-6 * abs(low) and target["high"] <= high:
        return 0.0
    return float(target.get("negative", 0.0)) if low == 0.0 else float(target.get("outside_one", 0.0))


def least_loss(op: str, columns: int, function: str) -> float:
    """The least value of the loss over outputs within the activation's range."""
    if "binary" in function:
        return math.log(2) / 2 if op == "sigmoid" else math.log(1 + math.exp(-1)) / 2
    spread = 2.0 if op == "tanh" else 1.0
    return math.log(1 + (columns - 1) * math.exp(-spread)) if columns > 1 else 0.0
