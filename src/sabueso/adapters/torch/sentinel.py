"""Sentinel: is the loss finite before its backward pass, are the gradients after it? If not, the step is taken apart at once.

What is found is told only when it does harm: parameters that are no longer finite after the step, or, without an optimizer, a loss that
stays so. A scaler of mixed precision that skips such a step, or a loop that does, is healthy.
"""

from __future__ import annotations

import math
import sys
from types import FrameType
from typing import Any

import torch

from ...capture.kernel import Kernel
from ...capture.origin import is_users
from ...capture.provenance import stops_of
from ...capture.recorder import calm
from .given import Given
from .loader import tensors as leaves_of
from .rows import anew, frames_of, values_of
from .trace import is_plain
from .watch import Watch

PART = "sentinel"
MOST_LOOKS = 6  # steps that are taken apart in one run
MOST_SECONDS = 30.0  # that this may take in all
SKIPPED = 8  # backward passes in a row that a scaler leaves out for a loss that is not finite itself: no smaller scale mends that
STAYS = 3  # further steps with such a loss, one after the other, are harm too, even if the parameters are finite


class Sentinel:
    """One a watch."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.kernel = Kernel()
        self.given = Given(watch)
        self.suspect: dict[str, Any] | None = None
        self.looks, self.seconds = 0, 0.0
        self.done = False
        self.streams: Any = None  # what keeps the random streams
        self.random: Any = None  # the random streams at the beginning of the step
        self.passes, self.several = 0, False  # backward passes since the last step; were there several before it (accumulation, a closure)?
        self.infinite = (0, 0, 0)  # the last backward pass of an infinite scaled loss, how many there were in a row, the step of the first

    # ---- moments

    def on_backward(self, tensors: tuple[Any, ...], arguments: Any) -> None:
        """Before the backward pass: floating scalars on the CPU, so that nothing waits for a device."""
        loss = self.watch.loss
        if self.done or loss is not None and self.suspect is None and math.isfinite(loss):
            return
        scalars = [t for t in tensors if torch.is_tensor(t) and t.numel() == 1 and t.device.type == "cpu" and t.is_floating_point()]
        wrong = next((t for t in scalars if not math.isfinite(t.item())), None)
        if wrong is None:
            if scalars and self.suspect is not None and (self.suspect["stepped"] or scaled()):
                self.suspect = None  # the program took care of it, or a scaler left the step out
        elif self.suspect is None:
            if not (math.isinf(wrong.item()) and scaled()) or self.stays_infinite():
                self.look("loss", wrong)
                if self.suspect is not None and self.infinite[1] > SKIPPED:
                    self.suspect["step"] = self.infinite[2]
        elif self.suspect["bare"]:
            self.confirm()  # a loop without an optimizer whose loss has not come back
        elif self.suspect["stepped"] or scaled():
            self.suspect["again"] += 1
            if self.suspect["again"] >= (STAYS if self.suspect["stepped"] else SKIPPED):
                self.confirm()

    def stays_infinite(self) -> bool:
        """A scaled loss that overflows is the scaler's to mend, unless it has long tried."""
        now, (last, count, first) = self.watch.backwards, self.infinite
        self.infinite = (now, count + 1, first) if now == last + 1 else (now, 1, self.watch.step)
        return count >= SKIPPED

    def after_backward(self, tensors: tuple[Any, ...], arguments: Any) -> None:
        """After it: are the gradients finite? Where several passes make one step, the next begins with the random streams as they are now."""
        self.passes += 1
        if not self.done:
            if self.suspect is None:
                self.judge(tensors)
            if (self.several or self.passes > 1) and self.streams is not None:
                self.random = self.streams.snapshot()

    def judge(self, tensors: tuple[Any, ...]) -> None:
        """The gradients of all that the optimizers hold, in one pass."""
        optimizers = self.watch.optimizers.values()
        held = self.parameters(next(iter(optimizers))) if len(optimizers) == 1 else [p for h in optimizers for p in self.parameters(h)]
        if held and self.kernel.sentinel(held, True)[1] and not scaled():
            loss = next((t for t in tensors if torch.is_tensor(t)), None)
            if loss is not None:
                self.look("gradient", loss)

    def grad_done(self, _: Any, found: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """torch.autograd.grad returned: a hand-written loop's gradients."""
        if self.done or self.suspect is not None or self.watch.optimizers or not isinstance(found, (list, tuple)):
            return
        if self.kernel.sentinel([g for g in found if g is not None and is_plain(g)])[1]:  # within torch.func they may be wrapped
            outputs = args[0] if args else kwargs.get("outputs")
            loss = outputs[0] if isinstance(outputs, (list, tuple)) else outputs
            if torch.is_tensor(loss) and loss.numel() == 1:
                self.look("gradient", loss)

    def before_step(self, optimizer: Any) -> None:
        """A step with such gradients is about to be taken: not by a scaler that will leave it out."""
        if self.suspect is not None and getattr(optimizer, "found_inf", None) is not None:
            self.suspect = None
        if self.suspect is not None:
            self.watch.at_next("before_step", PART, self.before_step)

    def after_step(self, optimizer: Any) -> None:
        """Did the step do harm? Then it is told; else it was taken care of."""
        if self.suspect is not None and not self.done:
            held = self.watch.optimizers.get(id(optimizer))
            parameters = self.parameters(held) if held is not None else []
            if parameters and self.kernel.sentinel(parameters)[1]:
                self.confirm()
            else:
                self.suspect["stepped"] = True  # no harm yet: the next loss decides
        self.several, self.passes = self.passes > 1, 0
        if self.streams is None and (zoom := self.recorder.shared.get("zoom")) is not None:
            self.streams = zoom.streams
            zoom.prepare()
        self.random = self.streams.snapshot() if self.streams is not None and not self.done else None

    # ---- what is done about it

    def parameters(self, held: Any) -> list[Any]:
        """The parameters of an optimizer; the list is made anew when a group is added or replaced."""
        optimizer = held.ref()
        if optimizer is None:
            return []
        if not hasattr(optimizer, "param_groups"):  # an optimizer of Keras
            return held.parameters
        groups = optimizer.param_groups
        kept, size = held.sentinel_list, len(groups[0]["params"]) if len(groups) == 1 else [len(g["params"]) for g in groups]
        if kept is None or kept[0] != size:
            kept = held.sentinel_list = (size, [p for g in groups for p in g["params"] if torch.is_tensor(p)])
        return kept[1]

    def look(self, kind: str, loss: Any) -> None:
        """Take the step apart: what was not finite before it, else the first operation that made something so."""
        if self.looks >= MOST_LOOKS or self.seconds > MOST_SECONDS:
            self.done = True
            return
        self.looks += 1
        frame = sys._getframe(1)
        loader = self.watch.parts.get("loader")
        zoom = self.recorder.shared.get("zoom")
        batch = zoom.fed(frame) if zoom is not None else None
        batch = batch if batch is not None else loader.batch if loader is not None else None
        models = self.models(frame)
        told: dict[str, Any] = {"births": [], "ran": False, "why": "no replay"}
        if zoom is not None:
            with calm():
                told = zoom.look(kind, loss, batch, models, self.random, frame)
        self.seconds += told.get("seconds", 0.0)
        value = loss.item() if loss.numel() == 1 and loss.device.type == "cpu" else None
        facts = self.given.facts(told, batch, models, frames_of(frame))
        births = [{k: v for k, v in b.items() if k != "tensor"} for b in told["births"]]
        for birth in births:
            self.attribute(birth, frame, batch)
        told = {**told, "births": births, "kind": kind, "compiled": self.watch.compiled, "value": None if value is None else str(value), "given": facts}
        bare = not self.watch.optimizers
        self.suspect = {"told": told, "bare": bare, "stepped": False, "again": 0, "step": self.watch.step, "epoch": self.recorder.epoch}
        self.watch.at_next("before_step", PART, self.before_step)

    def models(self, frame: FrameType) -> list[Any]:
        """Models that the program called, and modules in the frames of the step."""
        found = {id(m): m for m in list(self.watch.models)}
        for f in frames_of(frame):
            for scope in (f.f_locals, f.f_globals):
                found.update({id(v): v for v in list(scope.values()) if isinstance(v, torch.nn.Module)})
        inner = {id(c) for m in found.values() for c in list(m.modules())[1:]}
        return [m for i, m in found.items() if i not in inner]

    def attribute(self, birth: dict[str, Any], frame: FrameType, batch: Any) -> None:
        """The rows of the data whose values the operation could not take, where its first axis is the batch's."""
        picked = birth.pop("picked", [])
        if birth["how"] == "given" or not birth["rows"] or birth.get("all_rows"):
            return
        size = birth["shape"][0]
        rows, loader = self.watch.parts.get("rows"), self.watch.parts.get("loader")
        tensors: dict[str, Any] = {}
        if loader is not None and loader.recent and (held := loader.of(leaves_of(batch), size)) is not None and held.rows == size:
            tensors = {f"batch[{k}]": t for k, t in enumerate(r() for r in held.leaves) if t is not None}
        frames = frames_of(frame)
        for f in frames[:3]:
            tensors.update({n: v for n, v in f.f_locals.items() if is_batch(v, size)})
        if rows is not None:
            spot = rows.locate(tensors, birth["rows"], frames) or rows.by_subscript(size, birth["rows"], frames)
            spot = spot or rows.by_pick(picked, birth["rows"], frames)
            whole = [t for t in tensors.values() if t.is_floating_point()]
            if spot is None and whole:  # the step is taken on all rows at once
                spot = self.given.itself(whole[0], birth["rows"], frames)
                spot = None if spot is None or anew(spot.held) else spot  # type: ignore[arg-type]
            if spot is not None:
                birth["spot"] = spot.as_dict()

    def witness(self, error: BaseException, told: dict[str, Any]) -> None:
        """An exception over values that are not finite: say where they came in."""
        operands = [*told.get("operands", ()), *(told.get("inner") or {}).get("given", ()), *(told.get("layer") or {}).get("inputs", ())]
        if self.done or not any(o.get("nonfinite") for o in operands):
            return
        stops = list(stops_of(error.__traceback__))[::-1]
        frames = [f for f in stops if is_users(f.f_code.co_filename)]
        models = [v for f in stops for v in f.f_locals.values() if isinstance(v, torch.nn.Module)]
        outer = {id(m): m for m in models}
        for fact in self.given.facts({"ran": False, "births": []}, None, list(outer.values()), frames):
            where = {k: fact.pop(k) for k in ("module", "file", "line") if k in fact}
            if frames and "file" not in where:
                where.update(file=told["frames"][0][0], line=told["frames"][0][1])
            self.recorder.fact("nonfinite_found", {**fact, "reaches": "crash", "ran": False}, **where)
            return

    def confirm(self) -> None:
        """The step did harm: tell it, once a run."""
        suspect, self.suspect, self.done = self.suspect, None, True
        told = suspect["told"]
        place = {"step": suspect["step"], "epoch": suspect["epoch"]}
        for fact in told.pop("given"):
            where = {k: fact.pop(k) for k in ("module", "file", "line") if k in fact}
            fact.update(reaches=told["kind"], ran=told["ran"], equal=told["equal"])
            self.recorder.fact("nonfinite_found", fact, **where, **place)
        first = told["births"][0] if told["births"] else {}
        line = {"file": first.get("file") or "", "line": first.get("line")} if first else {}
        self.recorder.fact("nonfinite_step", told, module=first.get("module"), **line, **place)

    def last_words(self) -> None:
        """A loop without an optimizer may have ended with the step that was suspected."""
        if self.suspect is not None and not self.done and self.suspect["bare"]:
            self.confirm()


def is_batch(value: Any, size: int) -> bool:
    """Can the tensor be the batch's data: as many rows, no part of the graph?"""
    return torch.is_tensor(value) and value.dim() > 0 and value.shape[0] == size and value.grad_fn is None and values_of(value) is not None


def scaled() -> bool:
    """Is a gradient scaler of mixed precision at work in the step? Then infinite gradients are what it is there for."""
    frame: FrameType | None = sys._getframe(1)
    scaler = getattr(sys.modules.get("torch.amp.grad_scaler"), "GradScaler", None)
    while frame is not None and scaler is not None:
        if any(isinstance(v, scaler) and v.is_enabled() for v in frame.f_locals.values()):
            return True
        frame = frame.f_back
    return False


def install(watch: Watch) -> None:
    """Stand at the backward pass and the step, where a check wants to know."""
    if not watch.recorder.wants("nonfinite_step", "nonfinite_found"):
        return
    sentinel = Sentinel(watch)
    watch.parts[PART] = sentinel
    watch.hang("on_backward", PART, sentinel.on_backward)
    watch.hang("after_backward", PART, sentinel.after_backward)
    watch.hang("after_step", PART, sentinel.after_step)
    watch.around(PART, torch.autograd, "grad", None, sentinel.grad_done)
    watch.recorder.at_crash.append(sentinel.witness)
    watch.recorder.at_exit(sentinel.last_words)
