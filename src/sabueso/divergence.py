"""Divergence: gradient descent whose loss grows from step to step, since the step is longer than the valley is wide."""

from __future__ import annotations

from typing import Any

import numpy as np

from .events import Fact
from .findings import Finding
from .interventions import LOWER_RATES, helped, proof
from .learning import STANDARD_ERRORS, Harm, Training


def growing(training: Training, rise: float = 1.2, least: int = 6) -> float | None:
    """By how much the loss grows in a step (median) where it does so from the first steps on, without a break; None elsewhere."""
    losses = training.losses[: np.argmin(np.isfinite(training.losses))] if not np.isfinite(training.losses).all() else training.losses[:40]
    if len(losses) < least or not (losses > 0).all():
        return None
    times = losses[2:] / losses[1:-1]
    return float(np.median(times)) if (times > rise).mean() > 0.9 and losses[-1] > 10 * losses[0] else None


def thrown(training: Training, times: float = 5.0, worse: float = 1.5) -> Harm | None:
    """A first step that multiplied the loss, and a training that never came back to where it began."""
    losses = training.losses
    if not np.isfinite(losses).all() or losses[0] <= 0 or losses[1:4].max() < times * losses[0]:
        return None
    if training.last < worse * losses[0] + STANDARD_ERRORS * training.noise:
        return None
    says = f"the loss rose from {losses[0]:.4g} to {losses[1:4].max():.4g} in the first steps and ends at {training.last:.4g}"
    return Harm("thrown", int(training.steps[-1]), says, (("loss at the end", training.last, f"below {losses[0]:.4g}, where it began"),))


def diverging(training: Training, began: Fact, times: float, rate: float, wrong: Any, experiment: list[Fact]) -> Finding:
    """Gradient descent that overshoots more with every step."""
    tried = helped(experiment, *LOWER_RATES)
    most = rate * 2 / (1 + times**0.5)  # a quadratic bowl multiplies its loss by (1 - rate * curvature) squared in each step
    evidence = [
        ("by how much the loss grows from one step to the next", times, "below 1"),
        (f"learning rate of {began['class']}", rate, f"below {most:.2g}, the largest under which that bowl does not throw it out"),
        *wrong.evidence,
    ]
    says = f"{began['class']} with a rate of {rate:g} overshoots: each step multiplies the loss by {times:.3g}, from the first on; {wrong.says}"
    place = began.place.but(step=int(training.steps[0]) + 1, module=None, tensor=None)
    return Finding(says, place, evidence, f"set lr={most / 3:.2g} or less here, or standardise what it is given", confidence=0.9, verified=proof(tried))
