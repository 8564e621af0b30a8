"""Schedules: the ways in which a learning rate comes to be too small, each as a finding of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from .events import Fact, Series
from .findings import Finding
from .learning import Training


def restored(fact: Fact, far: float, training: Training) -> Finding:
    """A rate that came with another run's state, in place of the one that was asked for."""
    asked, got = fact["asked"], fact["restored"]
    says = f"the state that {fact['class']} was given sets its rate to {got:.2g}, where {asked:.2g} was asked for: the loss stays where it began"
    evidence: list[tuple[str, Any, Any]] = [
        (f"learning rate of {fact['class']} after load_state_dict", got, asked),
        (f"how far {len(training.losses)} steps could move the median weight matrix, by its norm", far, "0.1 or more"),
        ("loss at the end", training.last, f"well below {training.first:.4g}, where it began"),
    ]
    remedy = f"load the weights alone, or set param_groups[0]['lr'] = {asked:.2g} (and a new scheduler) after loading the optimizer's state"
    place = fact.place.but(tensor="param_groups.0.lr")
    return Finding(says, place, evidence, remedy, confidence=0.9, verified="fact", covers=("scheduler-order",))


def rising(training: Training, initial_weights: list[Fact], rates: list[Series], steps: int) -> Finding | None:
    """A warm-up that is longer than the training: the rate rises by the same amount to the very end, while the loss still falls."""
    began = next((f for f in initial_weights if f["optimizer"] == training.optimizer), None)
    mine = next((s.values for s in rates if began is not None and s.place.module == began["name"] and len(s) >= max(steps, 50)), None)
    if began is None or mine is None or training.learnt is None or training.learnt > 0.25 or not training.last < training.first:
        return None
    by = np.diff(mine)
    moved = by[np.abs(by) > 1e-3 * np.abs(mine[1:])]
    if not by.min() >= 0 or mine[-1] < 10 * max(mine[0], 1e-30) or len(moved) < 8 or np.ptp(moved) > 0.05 * moved.mean() or not by[-len(by) // 10 :].any():
        return None
    half = len(training.losses) // 2
    if not np.median(training.losses[-max(half // 4, 5) :]) < np.median(training.losses[half : half + max(half // 4, 5)]):
        return None
    evidence = [
        ("rate of the last step", float(mine[-1]), "that of the peak, long before the end"), ("rate of the first step", float(mine[0]), None),
        ("share of the steps in which the rate rose", round(float((by > 0).mean()), 3), "0.1 or less"),
        ("loss at the end", training.last, f"well below {training.baseline:.4g}, the loss of the best constant"),
    ]  # fmt: skip
    says = f"the rate of {began['class']} rises from {mine[0]:.2g} to {mine[-1]:.2g} over all {len(mine)} steps: the training ends before its warm-up does"
    return Finding(says, began.place.but(step=int(training.steps[-1])), evidence, f"warm up over {max(len(mine) // 10, 1)} steps or so", confidence=0.85)


def stale_best(fact: Fact, apart: float) -> Finding | None:
    """A plateau scheduler that waits for a value that this run never had."""
    best, metrics, rates = fact.get("best_before"), fact.get("metrics") or [], fact.get("rates") or []
    if fact["class"] != "ReduceLROnPlateau" or not isinstance(best, (int, float)) or not np.isfinite(best) or len(metrics) < 3 or len(rates) < 2:
        return None
    lowering = (fact.get("settings") or {}).get("mode", "min") == "min"
    if not lowering or best <= 0 or min(metrics) <= apart * best or rates[-1] > 0.11 * rates[0]:
        return None
    says = (f"the plateau scheduler began with best = {best:.3g}, which this run never came near (lowest {min(metrics):.3g}): every epoch counted as bad "
            f"and the rate fell from {rates[0]:.2g} to {rates[-1]:.2g}")  # fmt: skip
    evidence = [
        ("scheduler.best before its first step", best, f"inf for a new run, or about {metrics[0]:.3g}, the first value given to it"),
        ("lowest value given to it since", min(metrics), None),
        ("learning rate at the end", rates[-1], f"{rates[0]:.2g}, as at the start"),
    ]
    remedy = "after loading its state set scheduler.best = float('inf') and scheduler.num_bad_epochs = 0, or leave the scheduler's state out"
    return Finding(says, fact.place.but(tensor="scheduler.best"), evidence, remedy, confidence=0.95, verified="fact", covers=("scheduler-order",))
