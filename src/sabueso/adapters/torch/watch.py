"""Watch: what all parts of one installation of the torch adapter share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ...capture.around import Patches
from ...capture.recorder import Recorder, calm, guarded
from .identity import ByIdentity

EARLY = frozenset({1, 2, 3, 4})  # steps that are looked at closely in any case; then every power of two
MOMENTS = (
    "on_backward", "after_backward", "before_step", "after_step", "on_forward", "on_evaluation", "on_loss_call", "on_arm", "on_disarm",
    "on_optimizer", "on_odd_loss", "on_root", "on_module", "on_operation", "on_module_built", "on_switch", "on_batch", "on_scored",
)  # fmt: skip


class Watch:
    """State and moments of one installation; a part is a module of this folder with `install(watch)`, found by itself.

    A part hangs its functions on moments with `watch.hang(moment, part, call)`. Each call is guarded by itself: an error is kept under the
    part's name and silences that part alone. Moments and what their calls get:

      on_backward(tensors, arguments)      before torch.autograd.backward or .grad runs its graph; `tensors` is a tuple
      on_odd_loss(loss, losses)            before on_backward: the loss is one of the first of its line, or far above the last ones (steps.Losses)
      after_backward(tensors, arguments)   when it returned: gradients are there (not for autograd.grad)
      before_step(optimizer)               before parameters change. Where a closure computes the gradients (L-BFGS, Lightning) this
                                           comes before them: `watch.closure` is True then, and gradients are to be read in after_step
      after_step(optimizer)                parameters have changed, gradients are still there
      on_forward(root, inputs, outputs)    armed only: the outermost module call returned (inputs: args and kwargs as one tuple)
      on_evaluation(root, inputs, outputs) the same within a window of evaluation (no gradients, or eval mode)
      on_loss_call(call)                   armed only: a loss function was called; see losses.LossCall
      on_arm(), on_disarm()                a sampled step begins, ends (also between two sampled steps in a row)
      on_optimizer(held)                   an optimizer was met for the first time
      on_root(root, args)                  armed or evaluating: the outermost module call begins
      on_module(module, args, result)      armed or evaluating: any module call returned
      on_module_built(module, line)        Module.__init__ begins, called from that line
      on_switch(module, training)          train() or eval() of the outermost module that it is called on
      on_operation(name, func, args, kwargs, result, outputs)   armed or evaluating: one operation on tensors; trace.of(tensor) is its record

    State (read it, do not set it):
      recorder, patches   what everything is recorded with and patched with; patches are undone by the adapter's undo
      step                number of the step in progress: 0 before the first optimizer step is done. One step is one turn of the loop: where
                          several optimizers take turns it counts turns; without any optimizer it counts backward calls
      backwards           backward calls so far
      armed               this step is sampled: module hooks and the function mode are in
      evaluating          a window of evaluation is open
      loss, loss_line     value of the loss that goes backward now, where that is one number on the CPU, and the line of it
      optimizers          optimizers by id: Held(number, weak reference, steps, ...), see steps.py
      compiled            torch.compile is in use: never armed
      schedule(step)      is the coming step (counted from 1) of an optimizer to be armed? `watch.schedule = mine` replaces it
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder, self.patches = recorder, Patches()
        self.step = self.backwards = 0
        self.armed = self.evaluating = self.compiled = self.closure = False
        self.optimizers: dict[int, Any] = {}
        self.loss: float | None = None
        self.loss_line: Any = None
        self.models = ByIdentity()  # the models that were called
        self.schedule: Callable[[int], bool] = dense_early
        self.parts: dict[str, Any] = {}  # what a part wants others to find, by its name
        self.wrapped: set[tuple[str, int, str]] = set()  # what a part has put its hooks round
        self._undo: list[Callable[[], Any]] = []
        self.ordinary: dict[str, list[tuple[str, Callable[..., Any]]]] = {moment: [] for moment in MOMENTS}  # what is not for sampled steps alone
        self.waiting: dict[str, list[tuple[str, Callable[..., Any]]]] = {moment: [] for moment in MOMENTS}  # what is to run once
        for moment in MOMENTS:
            setattr(self, moment, [])

    def hang(self, moment: str, part: str, call: Callable[..., Any], sampled: bool = False) -> None:
        """Have `call` run at a moment (only in sampled steps if `sampled`); its errors are kept under the part's name."""
        getattr(self, moment).append((f"torch.{part}", call, sampled))
        if not sampled:
            self.ordinary[moment].append((f"torch.{part}", call))

    def at_next(self, moment: str, part: str, call: Callable[..., Any]) -> None:
        """Have `call` run the next time that the moment comes, and never again: an ordinary step asks nobody who has nothing to do."""
        waits = self.waiting[moment]
        if (f"torch.{part}", call) not in waits:
            waits.append((f"torch.{part}", call))

    def tell(self, moment: str, *arguments: Any) -> None:
        """Run what hangs on a moment. Called from within hooks that are guarded already."""
        off = self.recorder.off
        if waits := self.waiting[moment]:
            self.waiting[moment] = []
            for part, call in waits:
                self.run(part, call, arguments)
        if not self.armed:  # no part does arithmetic with NumPy here: keeping its warnings down would cost more than the parts do
            for part, call in self.ordinary[moment]:
                if part not in off:
                    try:
                        call(*arguments)
                    except Exception as error:
                        self.recorder.own_error(part, error)
            return
        with calm():
            for part, call, _ in getattr(self, moment):
                self.run(part, call, arguments)

    def run(self, part: str, call: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        """One call of a part, unless the part is off; its error is kept."""
        if part not in self.recorder.off:
            try:
                call(*arguments)
            except Exception as error:
                self.recorder.own_error(part, error)

    def guard(self, part: str, arithmetic: bool = True) -> Callable[[Any], Any]:
        """A decorator for hooks put into torch: `guarded` under the part's name."""
        return guarded(f"torch.{part}", self.recorder, arithmetic)

    def arm(self) -> None:
        """The step that begins now is sampled."""
        if self.armed:
            self.tell("on_disarm")
        self.armed = not self.compiled
        if self.armed:
            self.tell("on_arm")

    def disarm(self) -> None:
        """The step that begins now is an ordinary one."""
        if self.armed:
            self.armed = False
            self.tell("on_disarm")

    def around(self, part: str, owner: Any, name: str, before: Any = None, after: Any = None, arithmetic: bool = True) -> None:
        """Patches.around with both hooks guarded."""
        key, guard = (part, id(owner), name), self.guard(part, arithmetic)
        if key not in self.wrapped:
            self.wrapped.add(key)
            self.patches.around(owner, name, guard(before) if before else None, guard(after) if after else None, again=True)

    def at_undo(self, call: Callable[[], Any]) -> None:
        """Have `call` run when the adapter is taken out."""
        self._undo.append(call)

    def undo(self) -> None:
        """Take everything out of torch again."""
        while self._undo:
            self._undo.pop()()
        self.patches.undo()


def dense_early(step: int) -> bool:
    """Steps 1 to 4 and then the powers of two."""
    return step in EARLY or step & (step - 1) == 0


def loaded(name: str) -> Any:
    """A module that the program has imported, or None; nothing is imported for us."""
    return sys.modules.get(name)
