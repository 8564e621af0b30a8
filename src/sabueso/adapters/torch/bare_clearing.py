"""Clearing in loops without an optimizer: tensors updated by hand from their `.grad`, which the next backward adds to unless it is cleared."""

from __future__ import annotations

import weakref
from typing import Any

from .clearing import LOOKED_AT, MOST_FACTS
from .graph import leaves
from .lines import Line, here
from .modules import sample
from .watch import Watch

PART = "bare_clearing"


class BareClearing:
    """Compares the gradients of a graph's leaves from one backward to the next, in sampled steps."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.met: list[tuple[Any, list[float], list[float], int]] = []  # (reference, values, those of the gradient after a backward, count of backwards)
        self.leaves: list[Any] = []
        self.line: Line | None = None
        self.told = 0

    def backward(self, tensors: tuple[Any, ...], _: Any) -> None:
        """Before a backward: do the gradients of the one before lie there still, though the tensors were changed by them?"""
        self.leaves = []
        if self.watch.optimizers or self.told >= MOST_FACTS:
            return
        self.leaves, self.line = leaves(tensors)[:LOOKED_AT], here()
        stepped = [(t, values) for ref, was, values, count in self.met
                   if (t := ref()) is not None and sample(t) != was and count == self.watch.backwards - 1]  # fmt: skip
        if len(stepped) >= max(1, len(self.leaves) // 2):
            kept = [t.grad is not None and sample(t.grad) == values for t, values in stepped]
            cleared = any(t.grad is None or not t.grad.any() for t, _ in stepped)
            self.told += 1
            value = {"optimizer": -1, "class": "the update by hand", "cleared": cleared, "carried": all(kept), "reached": 1, "empty": False,
                     "closure": [0, 0], "backward": self.line.told if self.line else None}  # fmt: skip
            self.recorder.fact("zeroed", value, step=self.watch.step, stage="train", **(self.line.place if self.line else {}))

    def after_backward(self, tensors: tuple[Any, ...], _: Any) -> None:
        """What it left, before anything is changed by it."""
        self.met = [(weakref.ref(t), sample(t), sample(t.grad), self.watch.backwards) for t in self.leaves if t.grad is not None and t.grad.is_cpu]
        self.leaves = []


def install(watch: Watch) -> None:
    """Hang on backward."""
    if watch.recorder.wants("zeroed"):
        bare = BareClearing(watch)
        watch.hang("on_backward", PART, bare.backward, sampled=True)
        watch.hang("after_backward", PART, bare.after_backward, sampled=True)
