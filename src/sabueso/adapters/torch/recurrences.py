"""Recurrences: a weight that is applied again and again to its own result within one forward, and what that makes of the gradient.

Known by the trace of a sampled step, whatever loop or cell it is written as. While that step's loss goes backward the norm of the gradient at
each call is read on its way; nothing is changed and nothing is kept.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from .lines import Line
from .trace import Made, Trace, is_plain
from .watch import Watch

PART = "recurrences"
LEAST = 8  # calls
MOST_CALLS = 600
TIMES = 6  # steps told
APPLIES = frozenset({"linear", "addmm", "matmul", "mm", "mv", "einsum", "conv1d", "conv2d", "mul"})


class Recurrences:
    """The recurrence of the step in progress."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.trace: Trace = watch.parts["trace"]
        self.handles: list[Any] = []
        self.norms: dict[int, float] = {}
        self.seen: tuple[Any, Made, int] | None = None  # the weight, its first call, how many there are
        self.told = 0

    def backward(self, tensors: tuple[Any, ...], _: Any) -> None:
        """Find the longest recurrence, and stand where its gradient comes through."""
        self.clear()
        found = max(self.chains(), key=lambda c: len(c[1]), default=None) if self.told < TIMES and self.watch.armed else None
        if found is None:
            return
        weight, calls = found
        self.seen = weight, calls[0], len(calls)
        for number, made in enumerate(calls):
            parts = [(p, p.ref()) for p in made.parents if p.op != "parameter" and p.grad]
            hidden = next((t for _, t in parts if t is not None and t is not weight and not t.is_leaf), None)
            if hidden is not None and is_plain(hidden):
                self.handles.append(hidden.register_hook(self.reader(number)))

    def chains(self) -> list[tuple[Any, list[Made]]]:
        """(weight, calls) of weights that one line applies at least eight times, each time to what came of the time before."""
        by_weight: dict[tuple[int, Line | None], tuple[Any, list[Made]]] = {}
        for made in self.trace.order:
            if made.op not in APPLIES or not made.grad:
                continue
            for p in made.parents:
                weight = p.ref() if p.grad and p.op in ("parameter", "leaf") else None
                if weight is not None and weight.dim() > 1:
                    by_weight.setdefault((id(weight), made.line), (weight, []))[1].append(made)
        long = [(w, c) for w, c in by_weight.values() if LEAST <= len(c) <= MOST_CALLS]
        return [(w, c) for w, c in long if any(m is c[0] for m in c[-1].ancestors())]

    def reader(self, number: int) -> Any:
        """A hook that notes the norm of the gradient and lets it pass."""

        def read(gradient: Any) -> None:
            self.norms[number] = float(torch.linalg.vector_norm(gradient.detach().double()))

        return self.watch.guard(PART, arithmetic=False)(read)

    def after(self, tensors: tuple[Any, ...], _: Any) -> None:
        """The gradient has come through: tell by how much it grew from the last call to the first."""
        if self.seen is None:
            return
        (weight, first, calls), norms = self.seen, [n for _, n in sorted(self.norms.items())]
        self.clear()
        norms = [n for n in norms if n > 0 or not math.isfinite(n)]
        if len(norms) < LEAST // 2:
            return
        self.told += 1
        modules = self.watch.parts["modules"]
        growth = norms[0] / norms[-1] if math.isfinite(norms[0]) and math.isfinite(norms[-1]) else math.inf
        value = {"calls": calls, "growth": growth if math.isfinite(growth) else 1e38, "last": norms[-1], "first": norms[0], "op": first.op,
                 "shape": list(weight.shape), "parameter": self.name(weight)}  # fmt: skip
        module = modules.label(first.module) if first.module is not None else None
        self.recorder.fact("recurrence", value, step=self.watch.step, stage="train", module=module, **(first.line.place if first.line else {}))

    def name(self, weight: Any) -> str | None:
        """The weight's path in the first known model that has it."""
        roots = [r.ref() for r in self.watch.parts["modules"].roots.values()]
        return next((path for root in roots if root is not None for path, p in root.named_parameters() if p is weight), None)

    def clear(self) -> None:
        while self.handles:
            self.handles.pop().remove()
        self.norms, self.seen = {}, None


def install(watch: Watch) -> None:
    """Hang on the backward of sampled steps."""
    if not watch.recorder.wants("recurrence"):
        return
    recurrences = Recurrences(watch)
    watch.hang("on_backward", PART, recurrences.backward, sampled=True)
    watch.hang("after_backward", PART, recurrences.after, sampled=True)
    watch.hang("on_disarm", PART, recurrences.clear)
