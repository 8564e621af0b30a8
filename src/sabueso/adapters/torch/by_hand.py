"""Updates by hand: loops without an optimizer, whose tensors the program changes itself from one backward to the next.

What an optimizer would tell is told of them: how their weights began, how far a step moves them, and at which rate where it is a plain one.
"""

from __future__ import annotations

from typing import Any

import torch

from .graph import leaves
from .lines import Line, here
from .statistics import Statistics, some
from .trace import is_plain
from .watch import Watch

PART = "by_hand"
MOST = 80  # tensors
NAME, NUMBER = "the update by hand", -1
PLAIN = "gradient descent by hand"


class ByHand:
    """Stands in for the optimizer that there is none of."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.number, self.name, self.cls, self.steps = NUMBER, NAME, "by hand", 0
        self.line: Line | None = None
        self.parameters: list[Any] = []
        self.before: list[Any] = []
        self.gradients: list[Any] = []
        self.began: dict[str, Any] | None = None
        self.moves = self.told = False
        self.known_rate: float | None = None

    @property
    def statistics(self) -> Statistics:
        """The part that follows parameters; it may be put in after this one."""
        return self.watch.parts["statistics"]

    def ref(self) -> None:
        """The optimizer: there is none."""

    def first(self, tensors: tuple[Any, ...], _: Any) -> None:
        """The first backward of the program."""
        self.take(tensors)
        if self.watch.optimizers or not any(p.dim() > 1 for p in self.parameters):
            self.forget()
            return
        self.line = here()
        self.began = self.statistics.beginning(self, self.parameters)
        self.watch.at_next("after_backward", PART, self.after)
        self.watch.at_next("on_backward", PART, self.second)

    def after(self, *_: Any) -> None:
        """Gradients are there, nothing was changed by them yet."""
        self.gradients = [some(p.grad).clone() if p.grad is not None and is_plain(p.grad) else None for p in self.parameters]

    def second(self, tensors: tuple[Any, ...], _: Any) -> None:
        """The next one: did anything move?"""
        ratios = self.moved(tensors)
        if self.watch.optimizers or not ratios or not any(ratios) or self.began is None:
            self.forget()
            return
        self.moves, self.known_rate = True, self.rate()
        if self.known_rate is not None:
            self.began["settings"]["lr"], self.began["class"] = self.known_rate, PLAIN
        self.write(0, ratios)
        self.take(tensors)
        self.watch.recorder.at_exit(self.watch.guard(PART)(self.tell))

    def tell(self) -> None:
        """Fact initial_weights, once, at the line of the update where a sampled step has shown it."""
        if self.moves and not self.told and self.began is not None:
            self.told = True
            self.recorder.fact("initial_weights", self.began, step=0, stage="train", **(self.line.place if self.line else {}))

    def update_line(self) -> Line | None:
        """Where the tensors were written since the last backward."""
        own = {id(p) for p in self.parameters}
        trace = self.watch.parts["trace"]
        return next((m.line for m in trace.order if m.line is not None and m.number and id(m.ref()) in own and m.no_grad), None)

    def sampled(self, tensors: tuple[Any, ...], _: Any) -> None:
        """A later backward in a sampled step: the one after it tells how far that step went."""
        if not self.moves or self.watch.optimizers:
            return
        if not self.told:
            self.line = self.update_line() or self.line
            self.tell()
        if self.steps != self.watch.step or not self.before:
            self.take(tensors)
        self.watch.at_next("on_backward", PART, self.following)

    def following(self, tensors: tuple[Any, ...], _: Any) -> None:
        """The backward after a sampled step."""
        ratios = self.moved(tensors)
        if ratios and not self.watch.optimizers:
            self.write(self.steps, ratios)
        self.take(tensors)
        self.statistics.tell_twins(self)

    # ---- numbers

    def take(self, tensors: tuple[Any, ...]) -> None:
        """Keep what the leaves hold now."""
        self.parameters = found(tensors)
        self.before, self.steps = [some(p).clone() for p in self.parameters], self.watch.step

    def moved(self, tensors: tuple[Any, ...]) -> list[float]:
        """By tensor, how far it was moved since it was kept, by its own norm; nothing where the leaves are others."""
        now = found(tensors)
        if [p.shape for p in now] != [p.shape for p in self.parameters]:
            return []
        self.parameters = now
        norms = [float(torch.linalg.vector_norm(b)) for b in self.before]
        return [float(torch.linalg.vector_norm(some(p) - b)) / n if n else 0.0 for p, b, n in zip(now, self.before, norms)]

    def rate(self) -> float | None:
        """The learning rate of the first step, where every matrix moved by one multiple of its gradient."""
        rates = []
        for p, before, gradient in zip(self.parameters, self.before, self.gradients):
            if p.dim() > 1 and gradient is not None and gradient.shape == before.shape and bool(gradient.any()):
                step = before - some(p)
                rate = float((step * gradient).sum() / (gradient * gradient).sum())
                if float(torch.linalg.vector_norm(step - rate * gradient)) > 1e-3 * abs(rate) * float(torch.linalg.vector_norm(gradient)):
                    return None
                rates.append(rate)
        return rates[0] if rates and max(rates) - min(rates) <= 1e-3 * abs(rates[0]) else None

    def write(self, step: int, ratios: list[float]) -> None:
        """Points of update_ratio, of steps along the gradient alone: of others the rate is not known."""
        if self.known_rate is None:
            return
        pairs = [(self.statistics.series(self, i, p)[2], r) for i, (p, r) in enumerate(zip(self.parameters, ratios))]
        self.recorder.points(step, [(n, r) for n, r in pairs if n is not None])

    def forget(self) -> None:
        self.parameters, self.before, self.gradients = [], [], []


def found(tensors: tuple[Any, ...]) -> list[Any]:
    """The leaves of a backward graph that can be read, those nearest to the data first."""
    return [p for p in leaves(tensors)[::-1] if is_plain(p) and p.is_floating_point() and p.numel()][:MOST]


def install(watch: Watch) -> None:
    """Hang on the first two backward calls, and on those of sampled steps."""
    if not watch.recorder.wants("initial_weights"):
        return
    by_hand = ByHand(watch)
    watch.at_next("on_backward", PART, by_hand.first)
    watch.hang("on_backward", PART, by_hand.sampled, sampled=True)
