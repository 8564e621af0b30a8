"""Reach: what a bounded activation can give, against what a loss asks of it."""

from __future__ import annotations

import math
from typing import Any

from .events import Fact, Series


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


def constant(function: str, shape: list[int], maker: dict[str, Any] | None) -> tuple[str, str] | None:
    """What makes a loss the same whatever the layers before it give (a softmax over one column is 1), with the remedy; None where nothing does.

    `maker` is the operation that made the prediction; its `size` is the length of the axis that a softmax runs over.
    """
    if maker is not None and "softmax" in maker["op"] and maker.get("size") == 1 and maker.get("dim") != 0:  # axis 0 is the batch's
        ends = f"`{maker['module']}` ends in" if maker.get("module") else "the prediction is made by"
        return f"{ends} a {maker['op']} over a single column, which is {int(maker['op'] == 'softmax')} whatever the model says", "a sigmoid in place of it"
    if function == "cross_entropy" and len(shape) > 1 and shape[1] == 1 < shape[0]:  # one row against itself is the last batch of a contrastive loss
        return "cross_entropy over a single column is 0 whatever the model says", "binary_cross_entropy_with_logits with float targets"
    if function in ("categorical_crossentropy", "sparse_categorical_crossentropy") and shape[-1:] == [1]:
        return f"{function} over a single column is 0 whatever the model says: its share of itself is always 1", "binary_crossentropy"
    return None


def lowest(losses: list[Series] | None, fact: Fact) -> list[tuple[str, float, str]]:
    """The lowest training loss seen."""
    values = [v for s in losses or () if s.process == fact.process for v in s.values if math.isfinite(v)]
    return [("lowest training loss of a batch", round(min(values), 4), "near 0 where the model can learn the classes")] if len(values) > 8 else []
