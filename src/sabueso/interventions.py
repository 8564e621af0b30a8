"""Intervention: one thing changed from outside, on a copy or in a second run, to see whether a finding goes away.

A check names those that try its remedy (`@check(interventions=("learning rate / 10",))`), in the order in which they are tried. The same names are told
by the experiments at the end of a run, so that both speak of one change.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .events import Fact

GONE = "gone"  # the finding is gone, and the run is better for it
GAIN = "gain"  # it is the remedy itself, put in behind what captures the fault: only a gain proves it
FAR = "far"  # the change lets a healthy training fall faster too: only a run that had hardly learnt, and then does, proves it
ABSENCE = "absence"  # what it cures is measured by nothing but the finding, which is gone
LOST = "lost"  # the score that the fault gave away is lost with it


@dataclass(frozen=True, slots=True)
class Intervention:
    """`name` says what is changed and `says` how; `proof` is what proves that the fault was it; `rescales` if losses are of another scale then."""

    name: str
    says: str
    proof: str = GONE
    rescales: bool = False


ALL = (
    Intervention("learning rate / 10", "each optimizer steps with a tenth of its rate"),
    Intervention("learning rate / 100", "each optimizer steps with a hundredth of its rate"),
    Intervention("learning rate * 10", "each optimizer steps with ten times its rate", FAR),
    Intervention("learning rate * 100", "each optimizer steps with a hundred times its rate", FAR),
    Intervention("learning rate * 1000", "each optimizer steps with a thousand times its rate", FAR),
    Intervention("learning rate * 10000", "each optimizer steps with ten thousand times its rate", FAR),
    Intervention("schedule left out", "each optimizer keeps the rate that it began with", FAR),
    Intervention("gradients clipped", "gradients are clipped to a norm of 1 before each step", GAIN),
    Intervention("gradients cleared", "gradients are cleared after each step", GAIN),
    Intervention("master weights", "weights in half precision have a master in float32 each, on which the optimizer steps", GAIN),
    Intervention("step inserted", "the optimizer takes a step after each backward", GAIN),
    Intervention("weight decay 0", "no optimizer decays weights", FAR),
    Intervention("all parameters trained", "every parameter of the model is trained by its optimizer", FAR),
    Intervention("argument kept off the edge", "logarithms, roots and quotients at that line get no argument at which they have no value"),
    Intervention("inputs standardised", "the model's first input gets mean 0 and deviation 1, by its first batch", FAR),
    Intervention(
        "inputs made finite", "NaN and infinities in the model's inputs and first weights become 0; no estimator is fitted on rows that hold them", GAIN
    ),
    Intervention("targets standardised", "the targets of a loss of numbers get mean 0 and deviation 1, by their first batch", GAIN, True),
    Intervention("targets within 0 and 1", "the targets of a binary cross-entropy are divided by the largest of the first batch", GAIN, True),
    Intervention("training mode", "the model is in training mode wherever gradients are on", GAIN),
    Intervention("evaluation mode", "the model is in evaluation mode wherever gradients are off", GAIN),
    Intervention("layers initialised anew", "the layer and those of its class are given their own initialiser's weights", GAIN),
    Intervention("activation inserted", "a ReLU stands behind the layer, and behind those that stand like it", GAIN),
    Intervention("loss given what it takes", "the loss gets logits, logarithms or probabilities, whichever it takes", GAIN),
    Intervention("target reshaped", "the target has the shape of the prediction", GAIN),
    Intervention("such labels left out", "labels outside of the classes do not count", GAIN),
    Intervention("softmax over the classes", "a softmax over the rows runs over the last axis", GAIN),
    Intervention("rows shuffled", "the loader of that line shuffles; folds, parts and tables are of rows in no order", GAIN),
    Intervention("workers 0", "loaders work within the process", ABSENCE),
    Intervention("seeds set", "the random streams of Python, NumPy and torch begin at seed 0", GAIN),
    Intervention("seeds varied", "what that line seeds gets another seed at each call", ABSENCE),
    Intervention("sampler told the epoch", "a sampler that shuffles by the epoch is told it", ABSENCE),
    Intervention("rows left out", "those rows are dropped from the table as read", GAIN),
    Intervention("column left out", "that column has one value throughout", LOST),
    Intervention("judged rows left out of the fit", "each row is judged by a copy of the model that was fitted without it", LOST),
    Intervention("transformers refitted on the training rows", "what learnt from all rows is fitted anew on those that the model is fitted on", LOST),
    Intervention("resampled within the training rows", "the split comes first; training rows alone are resampled", LOST),
    Intervention("encoded within the training rows", "means of the target by category are those of training rows", LOST),
)
INTERVENTIONS = {i.name: i for i in ALL}


LOWER_RATES = ("learning rate / 10", "learning rate / 100")


def on_copy(experiment: Iterable[Fact] | None, *names: str) -> list[Fact]:
    """What the experiments at the end of a run say of these interventions."""
    return [e for e in experiment or () if e["change"] in names]


def helped(experiment: Iterable[Fact] | None, *names: str) -> Fact | None:
    """The first of these that did a few steps on a copy good."""
    return next((e for e in on_copy(experiment, *names) if e["helps"]), None)


def turned(experiment: list[Fact], up: float = 1.02, down: float = 0.99) -> bool:
    """Did the very same first steps make the loss worse as they were, and better with a smaller rate?"""
    tried = helped(experiment, *LOWER_RATES)
    return tried is not None and tried["before"] > up * tried["began"] and tried["after"] < down * tried["began"]


def proof(tried: Fact | None) -> dict[str, Any] | None:
    """A finding's verification by an experiment."""
    return {k: tried[k] for k in ("how", "before", "after")} if tried is not None else None


def factor(name: str) -> float:
    """What a learning rate is multiplied by."""
    sign, number = name.removeprefix("learning rate ").split()
    return float(number) if sign == "*" else 1.0 / float(number)
