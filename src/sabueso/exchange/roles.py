"""What a curve of a person's own is, by its name: the loss of training or of held-out rows, an accuracy, a rate, a norm of gradients."""

from __future__ import annotations

import re

from ..places import Place

HELD_OUT = {"val", "valid", "validation", "test", "eval", "dev", "holdout"}
LOSS = {"loss", "nll", "mse", "cost", "cross", "xent"}
ACCURACY = {"acc", "accuracy"}
RATE = {"lr", "learningrate"}


def words(tag: str) -> list[str]:
    """`Loss/val_epoch` -> loss, val, epoch."""
    return [w for w in re.split(r"[^a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", tag).lower()) if w]


def role(tag: str) -> tuple[str, Place]:
    """(series name, place) of a curve; what is of no known kind is `logged`, and only shown."""
    said = words(tag)
    held, joined = bool(HELD_OUT & set(said)), "".join(said)
    part = " ".join(w for w in said if w not in LOSS | ACCURACY)  # what a loss and an accuracy of the same rows share
    if LOSS & set(said) and "grad" not in said:
        return ("evaluation_error", Place("evaluate", module=tag, tensor="loss", estimator=part)) if held else ("train_loss", Place("train", tensor=tag))
    if held and ACCURACY & set(said):
        return "evaluation_error", Place("evaluate", module=tag, tensor="accuracy", estimator=part)
    if RATE & set(said) or "learningrate" in joined:
        return "learning_rate", Place("train", tensor=tag)
    if "norm" in said and {"grad", "gradient", "gradients"} & set(said):
        return "gradient_norm", Place("train", tensor=tag)
    return "logged", Place(tensor=tag)
