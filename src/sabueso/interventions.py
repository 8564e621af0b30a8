"""Intervention: one thing changed from outside, on a copy or in a second run, to see whether a finding goes away.

A check names those that try its remedy (`@check(interventions=("learning rate / 10",))`), in the order in which they are tried. The same names are told
by the experiments at the end of a run, so that both speak of one change.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Intervention:
    """`name` says what is changed; `library` is what must be in use for it; `certain` if it is the remedy itself, so that only a gain proves it."""

    name: str
    library: str
    says: str
    certain: bool = False


ALL = (
    Intervention("learning rate / 10", "torch", "each optimizer steps with a tenth of its rate"),
    Intervention("learning rate / 100", "torch", "each optimizer steps with a hundredth of its rate"),
    Intervention("learning rate * 10", "torch", "each optimizer steps with ten times its rate"),
    Intervention("learning rate * 100", "torch", "each optimizer steps with a hundred times its rate"),
    Intervention("learning rate * 1000", "torch", "each optimizer steps with a thousand times its rate"),
    Intervention("gradients clipped", "torch", "gradients are clipped to a norm of 1 before each step"),
    Intervention("gradients cleared", "torch", "gradients are cleared after each step", True),
    Intervention("step inserted", "torch", "the optimizer takes a step after each backward", True),
    Intervention("weight decay 0", "torch", "no optimizer decays weights"),
    Intervention("all parameters trained", "torch", "every parameter of the model is trained by its optimizer", True),
    Intervention("argument kept off the edge", "torch", "logarithms, roots and quotients at that line get no argument at which they have no value"),
    Intervention("inputs standardised", "torch", "the model's first input gets mean 0 and deviation 1, by its first batch"),
    Intervention("inputs made finite", "torch", "NaN and infinities in the model's inputs become 0"),
    Intervention("training mode", "torch", "the model is in training mode wherever gradients are on", True),
    Intervention("evaluation mode", "torch", "the model is in evaluation mode wherever gradients are off", True),
    Intervention("layers initialised anew", "torch", "layers are given their own initialiser's weights", True),
    Intervention("activation inserted", "torch", "a ReLU stands before the layer", True),
    Intervention("loss given what it takes", "torch", "the loss gets logits, logarithms or probabilities, whichever it takes", True),
    Intervention("target reshaped", "torch", "the target has the shape of the prediction", True),
    Intervention("such labels left out", "torch", "labels outside of the classes do not count", True),
    Intervention("softmax over the classes", "torch", "a softmax over the rows runs over the last axis", True),
    Intervention("loader shuffled", "torch", "the loader of that line shuffles", True),
    Intervention("workers 0", "torch", "loaders work within the process", True),
    Intervention("seeds set", "any", "the random streams of Python, NumPy and torch begin at seed 0", True),
    Intervention("rows left out", "pandas", "those rows are dropped from the table as read", True),
    Intervention("column left out", "pandas", "that column has one value throughout", True),
)  # fmt: skip
INTERVENTIONS = {i.name: i for i in ALL}


def factor(name: str) -> float:
    """What a learning rate is multiplied by."""
    sign, number = name.removeprefix("learning rate ").split()
    return float(number) if sign == "*" else 1.0 / float(number)
