"""Steps: what every turn of a training loop shows without a module hook: losses, rates, gradient norms, and which step it is.

Also decides when the next step is sampled (armed). An ordinary step costs a few microseconds here.
"""

from __future__ import annotations

import time
import weakref
from collections import deque
from typing import Any

import torch
from torch.optim import optimizer as torch_optimizer

from ...capture.kernel import Kernel
from ...places import Place
from .lines import Line, built_at, by_settings, here, named
from .modules import sample
from .watch import Watch

PART = "steps"
NORM_SHARE = 0.01  # of the time between two steps that the norm of the gradients may cost
RECENT = 30  # losses that are kept, of whatever line
FIRST, LAST, FAR = 3, 51, 20.0  # of one line: those looked at in any case, those kept, and how far above the largest one is out of line
INFINITE = float("inf")
MANY_OPTIMIZERS = 12  # up to here each new optimizer arms its first step, then every power of two


class Held:
    """An optimizer that the program has: its number, a weak reference, and what it has done so far."""

    def __init__(self, number: int, optimizer: Any, line: Line | None) -> None:
        self.number, self.ref, self.line = number, weakref.ref(optimizer, self.gone), line
        self.cls = type(optimizer).__name__
        self.name = f"{self.cls}-{number}" if number else self.cls
        self.steps = self.empty = self.looked = self.reached = self.brought = 0  # brought: backward calls that left a gradient other than zero
        self.step_line: Line | None = None
        self.called: str | None = None  # what the person calls it
        self.backward_line: Line | None = None  # a backward that brought it gradients
        self.first: Any = None  # a few values of its parameters when that was first seen
        self.dead = False
        self.moved = False  # were they seen to be others since; it may be dropped before the end
        self.series: dict[str, int | None] = {}
        self.sentinel_list: tuple[Any, list[Any]] | None = None  # its parameters, as the sentinel keeps them

    def gone(self, _: Any) -> None:
        """The optimizer is no more: keep nothing of it alive."""
        self.sentinel_list, self.dead = None, True

    @property
    def parameters(self) -> list[Any]:
        """The tensors that it holds."""
        optimizer = self.ref()
        return [p for g in optimizer.param_groups for p in g["params"]] if optimizer is not None else []

    def rate(self, optimizer: Any) -> Any:
        """The learning rate of its first group."""
        return optimizer.param_groups[0].get("lr") if optimizer.param_groups else None


class Losses:
    """The last losses that went backward from one line; the largest is looked for anew only when it leaves."""

    __slots__ = ("number", "line", "values", "most")

    def __init__(self, number: int | None, line: Line | None) -> None:
        self.number, self.line = number, line  # the line is kept, since it is known by the identity of its code
        self.values: deque[float] = deque()
        self.most = -1.0

    def add(self, size: float) -> bool:
        """Take one more, by its size; is it to be looked at: one of the first, not finite, or far above the last ones?"""
        odd = len(self.values) < FIRST or not size <= FAR * self.most
        if size < INFINITE:
            self.values.append(size)
            if size > self.most:
                self.most = size
            if len(self.values) > LAST and self.values.popleft() == self.most:
                self.most = max(self.values)
        return odd


class Steps:
    """The hooks and counters."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.stepped: set[int] = set()  # optimizers that have had their step in this turn
        self.cycle: set[int] = set()  # those that had one in a whole turn, as far as is known
        self.unstepped = 0  # backward calls before the first step of any optimizer
        self.any_step = False
        self.losses: dict[Any, Losses] = {}  # by code object and line: hashing a Line is too slow for every step
        self.waiting: list[tuple[int, int, Any]] = []  # losses on a device: (series, step, copy), read when they have arrived
        self.norm_cost, self.period, self.last = 0.0, 0.0, 0.0
        self.kernel, self.pairs = Kernel(), []  # pairs: (series, value) of this step, not yet written
        self.seen = 0
        self.asked: set[int] = set()  # optimizers that a gradient scaler was asked to step
        self.recent: deque[float] = deque(maxlen=RECENT)  # losses on the CPU

    # ---- optimizers

    def built(self, _: Any, __: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """An Optimizer's __init__ returned: number it and look closely at its first step."""
        if isinstance(getattr(args[0], "param_groups", None), list):
            self.held(args[0], by_settings(self.recorder.shared.get("settings", {}), "learning_rate") or built_at(args[0]))

    def held(self, optimizer: Any, line: Line | None = None, kind: type[Held] = Held) -> Held:
        """The record of an optimizer; a new one where it was not known (built before we woke, or unpickled)."""
        known = self.watch.optimizers.get(id(optimizer))
        if known is not None and known.ref() is optimizer:
            return known
        held = self.watch.optimizers[id(optimizer)] = kind(self.seen, optimizer, line)
        self.seen += 1
        if self.seen <= MANY_OPTIMIZERS or self.seen & (self.seen - 1) == 0:
            self.watch.arm()
        self.watch.tell("on_optimizer", held)
        return held

    def scaled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """GradScaler.step begins: it steps the optimizer or leaves the step out."""
        self.asked.add(id(args[1] if len(args) > 1 else kwargs.get("optimizer")))

    def before(self, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Global pre-step hook."""
        watch, held = self.watch, self.held(optimizer)
        closure = (args[1] if len(args) > 1 else None) or kwargs.get("closure")
        watch.closure = closure is not None
        if not self.any_step:  # so far backward calls were counted
            self.any_step, watch.step = True, 0
        self.recorder.step, self.recorder.stage = watch.step, "train"
        if watch.armed:
            held.step_line = here()
            held.called = held.called or named(optimizer)
        if id(optimizer) in self.stepped:  # the turn ended unseen: now it is known who takes part in one
            self.cycle = set(self.stepped)
            self.turn()
        watch.tell("before_step", optimizer)

    def after(self, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Global post-step hook."""
        watch, held = self.watch, self.held(optimizer)
        held.steps += 1
        watch.closure = False
        self.points(optimizer, held)
        watch.tell("after_step", optimizer)
        self.stepped.add(id(optimizer))
        if len(watch.optimizers) == 1 or (self.cycle and self.stepped >= self.cycle):
            self.turn()

    def points(self, optimizer: Any, held: Held) -> None:
        """Loss, learning rate and gradient norm of this step, in one block."""
        if not held.series:
            place = Place(stage="train", module=held.name, **(held.line.place if held.line else {}))
            held.series = {n: self.recorder.series(n, place) for n in ("learning_rate", "gradient_norm")}
        rate, pairs = held.rate(optimizer), self.pairs
        self.pairs = []
        rates, norms = held.series["learning_rate"], held.series["gradient_norm"]
        if rates is not None and rate is not None and (type(rate) is float or not torch.is_tensor(rate) or rate.is_cpu):
            pairs.append((rates, float(rate)))
        if norms is not None:
            now = time.perf_counter()
            if self.last:
                self.period = 0.8 * self.period + 0.2 * (now - self.last) if self.period else now - self.last
            self.last = now
            if self.watch.armed or self.norm_cost < NORM_SHARE * self.period:
                norm = self.gradient_norm(held)
                cost = time.perf_counter() - now
                self.norm_cost = 0.9 * self.norm_cost + 0.1 * cost  # one disturbed look must not end it
                if norm is not None:
                    pairs.append((norms, norm))
        self.recorder.points(self.watch.step, pairs)

    def gradient_norm(self, held: Held) -> float | None:
        """Global l2 norm of the gradients on the CPU; None where there is none to be had without waiting for a device."""
        parameters = held.parameters
        for p in parameters:
            if p.grad is not None and p.is_cpu:
                break
        else:
            return None
        return float("nan") if (found := self.kernel.sentinel(parameters, True))[1] else found[0]

    def turn(self) -> None:
        """A turn of the loop is over: the next one may be sampled."""
        watch = self.watch
        self.stepped.clear()
        watch.step += 1
        self.recorder.step = watch.step
        for held in watch.optimizers.values():
            if held.dead:
                watch.optimizers = {k: h for k, h in watch.optimizers.items() if not h.dead}
                break
        due = watch.schedule(watch.step + 1)
        for held in watch.optimizers.values() if not due else ():
            if 0 < held.steps < 4 and held.number < MANY_OPTIMIZERS and watch.schedule(held.steps + 1):
                due = True
                break
        if due:
            watch.arm()
        elif watch.armed:
            watch.disarm()

    # ---- backward

    def backward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Before torch.autograd.backward runs its graph."""
        watch = self.watch
        tensors = args[0] if args else kwargs.get("tensors", ())
        tensors = (tensors,) if torch.is_tensor(tensors) else tuple(tensors)
        watch.backwards += 1
        self.recorder.stage, watch.loss, watch.loss_line = "train", None, here()
        if self.pairs:  # no step came between
            self.flush()
        for tensor in tensors:
            if torch.is_tensor(tensor) and tensor.numel() == 1:
                self.loss(tensor)
        if len(tensors) != 1:
            watch.loss = None
        if self.waiting:
            self.read()
        watch.tell("on_backward", tensors, (args, kwargs))
        return tensors

    def backward_done(self, tensors: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """torch.autograd.backward returned."""
        if tensors is None:
            return
        self.watch.tell("after_backward", tensors, (args, kwargs))
        if not self.any_step and not self.watch.closure:  # a loop of its own making, or one that forgot to step
            self.unstepped += 1
            if not self.watch.optimizers or self.unstepped > 1:
                self.turn()

    def grad(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Before torch.autograd.grad runs: a hand-written loop, or a penalty on gradients within a larger one."""
        outputs = args[0] if args else kwargs.get("outputs", ())
        outputs = (outputs,) if torch.is_tensor(outputs) else tuple(outputs)
        create = kwargs.get("create_graph", args[4] if len(args) > 4 else False)
        if create or len(outputs) != 1 or outputs[0].numel() != 1:
            return
        self.watch.loss, self.watch.loss_line = outputs[0].item() if outputs[0].is_cpu else None, here()
        self.watch.tell("on_backward", outputs, (args, kwargs))
        if not self.any_step and not self.watch.backwards:
            self.loss(outputs[0])

    def grad_done(self, _: Any, __: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        create = kwargs.get("create_graph", args[4] if len(args) > 4 else False)
        if not create and not self.any_step and not self.watch.backwards:
            self.turn()

    def loss(self, tensor: Any) -> None:
        """One point of train_loss; a value on a device is copied without waiting and read at a later step."""
        line = self.watch.loss_line or here()
        key = (id(line.code), line.line) if line is not None else None
        known = self.losses.get(key)
        if known is None:
            place = Place(stage="train", **(line.place if line else {}))
            known = self.losses[key] = Losses(self.recorder.series("train_loss", place), line)
        number = known.number
        if tensor.is_cpu:
            value = self.watch.loss = tensor.item()
            self.recent.append(value)
            if known.add(abs(value)):
                self.watch.tell("on_odd_loss", tensor, known)
            if number is None:
                return
            self.pairs.append((number, float(value)))
            if not self.any_step:  # written with the step's own numbers otherwise
                self.flush()
        elif number is None:
            return
        elif len(self.waiting) < 64 and tensor.device.type == "cuda":
            copy = tensor.detach().to("cpu", non_blocking=True)
            event = torch.cuda.Event()
            event.record()
            self.waiting.append((number, self.watch.step, (copy, event)))

    def flush(self) -> None:
        """Write what waits for a step."""
        pairs, self.pairs = self.pairs, []
        self.recorder.points(self.watch.step, pairs)

    def read(self) -> None:
        """Losses whose copies have arrived."""
        while self.waiting and self.waiting[0][2][1].query():
            number, step, (copy, _) = self.waiting.pop(0)
            self.recorder.points(step, [(number, float(copy))])

    def last_words(self) -> None:
        """What each optimizer did."""
        self.read()
        self.flush()
        self.watch.disarm()
        for held in self.watch.optimizers.values():
            where = held.backward_line or held.step_line or held.line
            owned = {id(p) for p in held.parameters}
            alive = held.ref() is not None
            moved = held.moved or alive and held.first is not None and [sample(p) for p in held.parameters[:20]] != held.first
            shared = any(o is not held and o.steps and any(id(p) in owned for p in o.parameters) for o in self.watch.optimizers.values())
            value = {"number": held.number, "class": held.cls, "steps": held.steps, "empty": held.empty, "looked": held.looked, "reached": held.reached,
                     "brought": held.brought,
                     "moved": moved, "shared": shared, "alive": alive, "scaler": id(held.ref()) in self.asked,
                     "built": held.line.told if held.line else None, "name": held.called, "model": self.model_of(owned),
                     "turns": self.watch.step, "backwards": self.watch.backwards}  # fmt: skip
            self.recorder.fact("optimizer_use", value, **(where.place if where else {"file": "", "line": None}))

    def model_of(self, owned: set[int]) -> str | None:
        """The model that an optimizer's parameters belong to."""
        modules = self.watch.parts["modules"]
        for module in list(self.watch.models):
            if any(id(p) in owned for p in module.parameters()):
                return modules.label(module)
        return None


def install(watch: Watch) -> None:
    """Put in the hooks that are always in."""
    steps, guard = Steps(watch), watch.guard(PART, arithmetic=False)
    watch.parts["steps"] = steps
    before = torch_optimizer.register_optimizer_step_pre_hook(guard(steps.before))
    after = torch_optimizer.register_optimizer_step_post_hook(guard(steps.after))
    watch.at_undo(before.remove)
    watch.at_undo(after.remove)
    watch.around(PART, torch.optim.Optimizer, "__init__", None, steps.built)
    watch.around(PART, torch.amp.GradScaler, "step", steps.scaled, None)
    watch.around(PART, torch.autograd, "backward", steps.backward, steps.backward_done, arithmetic=False)
    watch.around(PART, torch.autograd, "grad", steps.grad, steps.grad_done)
    watch.recorder.at_exit(steps.last_words)
