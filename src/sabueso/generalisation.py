"""Generalisation: training rows known by heart, and what that leaves for others."""

from __future__ import annotations

import numpy as np

from .findings import Finding
from .learning import Evaluated, Training


def memorised(training: Training, held: Evaluated, end: float) -> bool:
    """Is next to nothing left of the training loss, while the same loss of held-out rows is nearly that of a constant?"""
    base = training.baseline
    if base is None or training.last > 0.01 * base or end < 0.4 * base or held.rows < 30:
        return False
    return held.accuracy is None or float(np.mean(held.accuracy[-3:])) < 0.8


def by_heart(training: Training, held: Evaluated, end: float) -> Finding:
    base = training.baseline or 0.0
    evidence = [
        ("training loss at the end", training.last, f"near that of held-out rows ({base:.4g} is that of the best constant)"),
        ("loss on held-out rows at the end", end, f"near {training.last:.3g}"),
        ("held-out rows", int(held.rows), None),
    ]
    says = f"the training rows are known by heart (loss {training.last:.3g}), while held-out rows lose {end:.4g}, of the {base:.4g} of a constant answer"
    remedy = "more data, weight decay or dropout, or a smaller model; stop where the loss on held-out rows no longer falls"
    return Finding(says, held.place.but(step=int(held.steps[-1]), estimator=None, tensor=None, stage="train"), evidence, remedy, confidence=0.75)
