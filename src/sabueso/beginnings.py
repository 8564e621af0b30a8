"""Beginnings: how wide weights began, beside the number of inputs that they sum over, and where that alone tells what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from .events import Fact
from .learning import Harm, Training, matrices

RECURRENT = ("RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell")
LAYERS = ("Linear", "Conv1d", "Conv2d", "Conv3d", *RECURRENT)  # of torch itself: what they do with their weights is known
TURN = 2 * np.pi  # a spread of what a sine is given beyond which it tells nothing of it any more
MANY = 8  # inputs from which on a layer can be judged by itself

Gain = tuple[float, dict[str, Any]]


def gains_of(began: Fact) -> list[Gain]:
    """(spread times the root of the number of inputs, parameter) of each weight matrix."""
    wanted = matrices(began)
    layers = [p for p in began["parameters"] if p["path"] in wanted and len(p["shape"]) > 1 and not p["alike"]]  # a norm's weight may go by the same path
    return [(p["std"] * fan_of(p) ** 0.5, p) for p in layers if min(p["shape"][:2]) > 1]


def fan_of(p: dict[str, Any]) -> int:
    """Inputs that a unit sums over; a bare matrix may stand either way: the smaller axis, in favour of the program."""
    shape = p["shape"]
    rest = int(np.prod(shape[2:])) if len(shape) > 2 else 1
    return int(shape[1] * rest) if p["class"] in ("Linear",) or len(shape) > 2 else int(min(shape[0], shape[1]))


def applied_again(gains: list[Gain], recurrence: list[Fact], wide: float) -> Gain | None:
    """The matrix of a recurrence, where that one is too wide whatever the others are."""
    paths = {f.get("parameter") for f in recurrence}
    return next((g for g in gains if g[0] >= wide and (g[1]["path"] in paths or g[1]["class"] in RECURRENT and "weight_hh" in g[1]["path"])), None)


def alone(gains: list[Gain], far: float) -> Gain | None:
    """A layer's matrix that is far wider than its inputs allow and than the others are."""
    middle = float(np.median([g for g, _ in gains]))
    return next((g for g in gains if g[0] >= far * max(1.0, middle) and g[1]["class"] in LAYERS and fan_of(g[1]) >= MANY), None)


def turned_round(gains: list[Gain], activation: list[Fact]) -> tuple[Gain, float] | None:
    """A matrix behind a hidden layer that gives a sine what goes round the circle more than once, with the spread of that."""
    for fact in activation:
        fed_by = (fact["fed_by"] or {}).get("module")
        if fact.get("deep") and fact["spread"] > TURN and not fact.place.step and fed_by:
            found = next((g for g in gains if g[1]["module"] == fed_by), None)
            if found is not None:
                return found, float(fact["spread"])
    return None


def stored_at(p: dict[str, Any], weights_loaded: list[Fact]) -> Fact | None:
    """The load, before any training, of the module that has a parameter which nothing in the program drew."""
    if p.get("drawn_at"):
        return None
    return next((f for f in weights_loaded if not f["backwards"] and f["changed"]), None)


def poor(training: Training, most: float = 0.6) -> Harm | None:
    """A training that two fifths and more of the best constant's loss are left of: no harm by itself, but it fits a layer that is far off."""
    learnt, base = training.learnt, training.baseline
    if learnt is None or learnt > most:
        return None
    says = f"training got rid of {max(learnt, 0.0):.0%} of the loss of the best constant"
    return Harm("little", int(training.steps[-1]), says, (("loss at the end", training.last, f"well below {base:.4g}, the loss of the best constant"),))
