"""Transforms: loops whose gradients come from torch.func.grad and whose parameters are made anew in each step; no backward, no optimizer.

A loop that has either is followed by the other parts. The function behind the transforms is watched only while nothing is compiled.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

from ...capture.around import Patches
from ...places import Place
from .lines import Line, here, rebound
from .statistics import Statistics, some
from .trace import is_plain, tensors_in
from .watch import Watch, dense_early

PART = "transforms"
MOST = 80  # tensors
HOME = "torch._functorch.eager_transforms"


class Transforms:
    """Stands in for the optimizer that there is none of."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.number, self.name, self.cls, self.steps = -2, "the update by hand", "the update by hand", 0
        self.line: Line | None = None
        self.parameters: list[Any] = []
        self.before: list[Any] = []
        self.distance = 0.0  # that all went in a step
        self.length = 0.0  # of the gradient, averaged over the rows
        self.began: dict[str, Any] | None = None
        self.told = False

    def ref(self) -> None:
        """The optimizer: there is none."""

    def after(self, token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A gradient was taken: of what, and what was the loss?"""
        if self.watch.optimizers or self.watch.backwards or len(args) < 5 or not isinstance(result, tuple):
            return
        _, numbers, has_aux, given, _ = args
        wanted = [given[i] for i in (numbers if isinstance(numbers, tuple) else (numbers,)) if i < len(given)]
        parameters, value = [rows_of(t) for t in tensors_in(wanted)][:MOST], rows_of(result[1][0] if has_aux else result[1])
        if value is None or any(p is None or not is_plain(p) for p in parameters) or not is_plain(value) or not any(p.dim() > 1 for p in parameters):
            return
        clear = sys.modules["torch._functorch.pyfunctorch"].temporarily_clear_interpreter_stack
        with clear(), torch.no_grad():
            self.turn(parameters, float(value.double().mean()), [rows_of(g) for g in tensors_in(result[0])])
            partners = self.watch.parts.get("partners")
            if partners is not None and partners.waits:
                own = {id(p) for p in parameters}
                partners.given([t for t in map(rows_of, tensors_in(given)) if t is not None and id(t) not in own])

    def turn(self, parameters: list[Any], loss: float, gradients: list[Any]) -> None:
        """One step: its loss, and how far the one before went."""
        self.line = here()
        self.steps = self.watch.step
        moved = self.moved(parameters)
        self.parameters = parameters
        if self.began is None:
            self.began = self.statistics.beginning(self, parameters)
            for told in self.began["parameters"]:
                told["trainable"] = True  # by the transform, without being asked for a gradient itself
        elif not self.told and any(moved):
            self.told = True
            if self.length:
                self.began["settings"]["lr"] = self.distance / self.length
            self.recorder.fact("initial_weights", self.began, step=0, stage="train", **(made.place if (made := rebound(parameters[0]) or self.line) else {}))
        pairs = [(self.statistics.series(self, i, p)[2], r) for i, (p, r) in enumerate(zip(parameters, moved))] if self.told else []
        self.recorder.points(self.steps - 1, [(n, r) for n, r in pairs if n is not None])
        number = self.recorder.series("train_loss", Place(stage="train", **(self.line.place if self.line else {})))
        self.recorder.points(self.steps, [(number, loss)] if number is not None else [])
        keeps = dense_early(self.steps + 1)
        self.before = [some(p).clone() for p in parameters] if keeps else []
        self.length = length([g.double().mean(0) if g.dim() > p.dim() else g for g, p in zip(gradients, parameters) if g is not None]) if keeps else 0.0
        self.watch.step += 1
        self.recorder.step, self.recorder.stage = self.watch.step, "train"

    @property
    def statistics(self) -> Statistics:
        """The part that follows parameters."""
        return self.watch.parts["statistics"]

    def moved(self, parameters: list[Any]) -> list[float]:
        """By tensor, how far it was moved since it was kept, by its own norm."""
        if [some(p).shape for p in parameters] != [b.shape for b in self.before]:
            return []
        steps = [some(p) - b for p, b in zip(parameters, self.before)]
        self.distance = length(steps)
        return [length([s]) / n if (n := length([b])) else 0.0 for s, b in zip(steps, self.before)]


def rows_of(tensor: Any) -> Any:
    """What a tensor under vmap holds, the axis of rows with it; None under another transform."""
    functorch = torch._C._functorch
    while torch.is_tensor(tensor) and functorch.is_batchedtensor(tensor):
        tensor = functorch.get_unwrapped(tensor)
    return tensor if torch.is_tensor(tensor) and not functorch.is_functorch_wrapped_tensor(tensor) else None


def length(tensors: list[Any]) -> float:
    """Global l2 norm."""
    return float(sum(float((t.double() ** 2).sum()) for t in tensors)) ** 0.5


def install(watch: Watch) -> None:
    """Watch what all gradient transforms go through."""
    home = sys.modules.get(HOME)
    if not watch.recorder.wants("train_loss") or not hasattr(home, "grad_and_value_impl") or "torch._functorch.pyfunctorch" not in sys.modules:
        return
    patches = Patches()
    patches.around(home, "grad_and_value_impl", None, watch.guard(PART)(Transforms(watch).after))
    watch.around(PART, torch, "compile", lambda args, kwargs: patches.undo())
    watch.at_undo(patches.undo)
