"""Arming: the module hooks and the function mode of sampled steps and evaluation windows, put in and exactly taken out again.

The mode lies at the bottom of the stack of function modes (above a default device's), so a mode that the person's program enters and leaves
while ours is in pops its own and never ours. The stack is a thread's own: a program that trains or answers in other threads (behind a web
server) has a mode in each of them, of which only that of the thread that opened last sees anything.
"""

from __future__ import annotations

import threading
from typing import Any

import torch
from torch.nn.modules import module as torch_module
from torch.overrides import TorchFunctionMode, _len_torch_function_stack, _pop_mode, _push_mode
from torch.utils._device import DeviceContext

from .trace import Trace
from .watch import Watch

PART = "arming"
MOST_EVALUATIONS = 8  # of a closure in one sampled step: what is done for each grows with the operations since the step began
MOST_BACKWARDS = 64  # of gradient accumulation


class Eye(TorchFunctionMode):
    """Sees every operation on tensors with its arguments and result; changes none."""

    def __init__(self, trace: Trace) -> None:
        super().__init__()
        self.trace, self.live = trace, True

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if self.live and self.trace.open:
            self.trace.see(func, args, kwargs or {}, result)
        return result


class Arming:
    """Puts the hooks in while the step is armed or a window of evaluation is open."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.trace = watch, Trace(watch)
        self.here, self.last = threading.local(), None  # the mode of each thread, and the one put in last
        self.hooks: list[Any] = []
        self.backwards, self.at = 0, -1  # in the step at hand
        guard = watch.guard(PART)
        self.trace.see = guard(self.trace.see)  # type: ignore[method-assign]
        self.pre, self.post = guard(self.trace.enter), guard(self.trace.leave)

    @property
    def mode(self) -> Eye | None:
        """The mode that lies in this thread's stack."""
        return getattr(self.here, "mode", None)

    def put_in(self) -> None:
        """Module hooks and the mode; nothing where they are in already."""
        self.trace.clear()
        self.trace.open = True
        if not self.hooks:
            self.hooks = [
                torch_module.register_module_forward_pre_hook(lambda module, args: self.pre(module, args)),
                torch_module.register_module_forward_hook(
                    # of a module that raised it is called without those given by name
                    lambda module, args, *rest: self.post(module, args, rest[0] if len(rest) > 1 else {}, rest[-1]),
                    with_kwargs=True,
                    always_call=True,
                ),
            ]
        if self.last is not None:
            self.last.live = False
        if self.mode is None:
            self.here.mode = Eye(self.trace)
            insert(self.here.mode)
        self.last = self.mode
        self.last.live = True

    def take_out(self) -> None:
        """All of it out, unless the step is armed or a window open."""
        if not self.watch.armed and not self.watch.evaluating:
            self.rest()

    def evaluated(self, tensors: Any, _: Any) -> None:
        """A loss of a sampled step went backward; the closure of L-BFGS does a hundred times a step: each is looked at by itself, and the first few only."""
        if not self.watch.armed:
            return
        self.backwards = self.backwards + 1 if self.watch.step == self.at else 1
        self.at = self.watch.step
        if self.watch.closure:
            self.trace.clear()
        if self.backwards >= (MOST_EVALUATIONS if self.watch.closure else MOST_BACKWARDS):
            self.rest()

    def rest(self) -> None:
        """Hooks and mode out."""
        self.trace.open = False
        self.trace.clear()
        while self.hooks:
            self.hooks.pop().remove()
        if self.mode is not None and remove(self.mode):
            self.here.mode = None

    def compiled(self, *_: Any) -> None:
        """torch.compile, jit or export is at work: hooks and modes would be traced into the graph."""
        self.watch.compiled = True
        self.watch.evaluating = False
        self.watch.disarm()
        self.take_out()
        if self.watch.recorder.once("torch", "compiled"):
            names = ["loss_call", "broadcast", "graph_cut", "parameters", "mode", "model_input"]
            self.watch.recorder.fact("not_captured", {"names": names, "why": "the model is compiled (torch.compile): its operations are not watched"})


def insert(mode: Any) -> None:
    """Put a function mode at the bottom of this thread's stack, above a default device."""
    above = [_pop_mode() for _ in range(_len_torch_function_stack())]
    while above and isinstance(above[-1], DeviceContext):
        _push_mode(above.pop())
    for held in (mode, *reversed(above)):
        _push_mode(held)


def remove(mode: Any) -> bool:
    """Take a function mode out of this thread's stack, wherever it lies. False if it is not there (called from within it)."""
    stack = [_pop_mode() for _ in range(_len_torch_function_stack())]
    for held in reversed(stack):
        if held is not mode:
            _push_mode(held)
    return any(held is mode for held in stack)


def install(watch: Watch) -> None:
    """Hang the hooks on sampled steps; never with compilation."""
    arming = Arming(watch)
    watch.parts["arming"], watch.parts["trace"] = arming, arming.trace
    watch.hang("on_arm", PART, arming.put_in)
    watch.hang("on_disarm", PART, arming.take_out)
    watch.hang("after_backward", PART, arming.evaluated, sampled=True)
    watch.around(PART, torch, "compile", arming.compiled)
    watch.around(PART, torch.nn.Module, "compile", arming.compiled)
    for name in ("trace", "script", "trace_module"):
        watch.around(PART, torch.jit, name, arming.compiled)
    watch.at_undo(lambda: (watch.disarm(), arming.take_out()))
