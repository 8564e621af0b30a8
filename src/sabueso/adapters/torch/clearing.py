"""Clearing: are gradients cleared between two steps of an optimizer, and do its steps get new ones? Looked at in sampled steps."""

from __future__ import annotations

from typing import Any

import torch

from .lines import Line, here, named
from .modules import sample
from .steps import Held, Steps
from .trace import is_plain
from .watch import Watch

PART = "clearing"
LOOKED_AT = 6  # parameters of an optimizer
MOST_FACTS = 24


class Kept:
    """What is remembered of an optimizer's gradients between its steps: a few values each, never a tensor."""

    def __init__(self) -> None:
        self.after: dict[int, list[float]] | None = None  # as they were when the last step was done; None: not seen
        self.before: dict[int, list[float]] = {}  # as they were before the backward in progress
        self.cleared = self.carried = self.changed = False
        self.reached = 0
        self.evaluations: Any = None
        self.closure_stale = self.closure_evaluations = 0
        self.line: Line | None = None
        self.steps = 0  # that the optimizer had done when this was begun


class Clearing:
    """Compares the gradients of each optimizer at backward and step."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.steps: Steps = watch.parts["steps"]
        self.kept: dict[int, Kept] = {}
        self.calls: dict[int, Line | None] = {}  # optimizer's number -> the person's line that first called its zero_grad, or that of a model which it trains
        self.cleared: set[int] = set()  # models met
        self.count = 0

    def clears(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """zero_grad of an optimizer or a model."""
        held = self.watch.optimizers.get(id(args[0]))
        if held is not None:
            if held.number not in self.calls and len(self.calls) < MOST_FACTS:
                self.calls[held.number] = here()
        elif isinstance(args[0], torch.nn.Module) and id(args[0]) not in self.cleared and len(self.cleared) < MOST_FACTS and self.watch.optimizers:
            self.cleared.add(id(args[0]))
            own, line = {id(p) for p in args[0].parameters()}, here()
            for other in self.watch.optimizers.values():
                if any(id(p) in own for p in other.parameters):
                    self.calls.setdefault(other.number, line)

    def last_words(self) -> None:
        """Where gradients were cleared, though it may have been too seldom."""
        for held in self.watch.optimizers.values() if self.count else ():
            line = self.calls.get(held.number)
            if line is not None:
                self.recorder.fact("cleared_at", {"optimizer": held.number}, stage="train", **line.place)

    def of(self, held: Held) -> Kept:
        kept = self.kept.get(held.number)
        if kept is None or kept.steps != held.steps:  # ordinary steps came between: nobody looked
            kept = self.kept[held.number] = Kept()
            kept.steps = held.steps
        return kept

    def backward(self, tensors: Any, _: Any) -> None:
        """Before a backward: what lies in .grad already?"""
        if not self.watch.armed:
            return
        line = here()
        for held in list(self.watch.optimizers.values()):
            kept = self.of(held)
            kept.line = line
            kept.before = gradients(held)
            if any(v is None for v in kept.before.values()):
                kept.after = None  # on a device: not to be read
            zero = all(not any(v) for v in kept.before.values())
            if self.watch.closure:
                self.evaluation(held, kept, zero)
            if kept.after is None:
                continue
            if zero:
                kept.cleared = True
            elif all(kept.after.get(k) == v for k, v in kept.before.items() if any(v)):
                kept.carried = True
            else:
                kept.changed = kept.changed or not kept.reached

    def evaluation(self, held: Held, kept: Kept, zero: bool) -> None:
        """L-BFGS evaluates its closure many times within one step: each evaluation is to begin with cleared gradients."""
        optimizer = held.ref()
        state = next(iter(optimizer.state.values()), {}) if optimizer is not None and optimizer.state else {}
        evaluations = state.get("func_evals") if isinstance(state, dict) else None
        if evaluations is None or evaluations == kept.evaluations:
            return
        if kept.evaluations is not None:
            kept.closure_evaluations += 1
            kept.closure_stale += not zero
        kept.evaluations = evaluations

    def after_backward(self, tensors: Any, _: Any) -> None:
        """After a backward: did it reach this optimizer's parameters?"""
        if not self.watch.armed:
            return
        for held in self.watch.optimizers.values():
            kept, now = self.of(held), gradients(held)
            if any(kept.before.get(k) != v for k, v in now.items()):
                kept.reached += 1
                held.reached += 1
                held.brought += any(any(v or ()) for v in now.values())
                held.backward_line = held.backward_line or kept.line
                held.called = held.called or named(held.ref())
                if not held.moved:
                    values = [sample(p) for p in held.parameters[:20]]
                    held.first = held.first or values
                    held.moved = values != held.first

    def step(self, optimizer: Any) -> None:
        """After a step: tell what was seen since the last one."""
        held = self.steps.held(optimizer)
        kept = self.kept.setdefault(held.number, Kept())
        now = gradients(held)
        empty = not any(any(v or ()) for v in now.values())
        held.empty += empty
        held.looked += 1
        if kept.after is not None and self.count < MOST_FACTS:
            self.count += 1
            value = {"optimizer": held.number, "class": held.cls, "name": held.called, "cleared": kept.cleared, "carried": kept.carried and not kept.changed,
                     "reached": kept.reached, "empty": empty, "closure": [kept.closure_stale, kept.closure_evaluations],
                     "backward": kept.line.told if kept.line else None}  # fmt: skip
            where = held.step_line or kept.line
            self.recorder.fact("zeroed", value, step=self.watch.step, **(where.place if where else {}))
        fresh = self.kept[held.number] = Kept()
        fresh.after = now if not any(v is None for v in now.values()) else None
        fresh.evaluations, fresh.steps = kept.evaluations, held.steps


def gradients(held: Held) -> dict[int, Any]:
    """A few values of some of an optimizer's gradients; None for one that can't be read at once."""
    parameters = held.parameters
    chosen = parameters[:: max(1, len(parameters) // LOOKED_AT)][:LOOKED_AT]
    found: dict[int, Any] = {}
    for p in chosen:
        grad = p.grad
        if grad is None:
            continue
        if grad.layout != torch.strided:
            grad = grad.coalesce().values() if grad.device.type == "cpu" else grad
        if not is_plain(grad):
            found[id(p)] = None
        elif grad.numel():
            flat = grad.detach().reshape(-1)
            values = flat[:: max(1, flat.numel() // 32)][:32].tolist()
            found[id(p)] = values if any(values) or not flat.any() else [flat.abs().sum().item()]
    return found


def install(watch: Watch) -> None:
    """Hang on backward and step."""
    clearing = Clearing(watch)
    watch.around(PART, torch.optim.Optimizer, "zero_grad", clearing.clears)
    watch.around(PART, torch.nn.Module, "zero_grad", clearing.clears)
    watch.recorder.at_exit(watch.guard(PART)(clearing.last_words))
    watch.hang("on_backward", PART, clearing.backward, sampled=True)
    watch.hang("after_backward", PART, clearing.after_backward, sampled=True)
    watch.hang("after_step", PART, clearing.step, sampled=True)
