"""Rebuilds: models and optimizers that are built again and again while training goes on, and what became of those before."""

from __future__ import annotations

import sys
import weakref
from typing import Any

import torch

from ...capture.around import Patches
from ...capture.origin import OWN, is_users
from .lines import Line, lines
from .modules import sample
from .steps import Held
from .watch import Watch

PART = "rebuilds"
MOST_BUILDS = 400


class Build:
    """One building of an optimizer: what it held, and what had been done when the next one came."""

    def __init__(self, held: Held, stack: list[Line], backwards: int, epochs: int) -> None:
        parameters = held.parameters
        self.held, self.stack, self.backwards, self.epochs = held, stack, backwards, epochs
        self.shapes = [tuple(p.shape) for p in parameters[:40]]
        self.values = [sample(p) for p in parameters[:4]]
        self.parameter = weakref.ref(parameters[0]) if parameters else None
        self.used = False


class Rebuilds:
    """Builds by the line that makes the optimizer."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.builds: dict[Line, list[Build]] = {}
        self.use = -1  # backward calls when gradients were last turned off, a model put into eval mode or its state taken
        self.epochs = 0
        self.training: list[Line] = []

    def built(self, held: Held) -> None:
        """An optimizer is built."""
        stack = lines(5)
        if not stack:
            return
        builds = self.builds.setdefault(stack[0], [])
        if builds:
            builds[-1].used = builds[-1].used or self.use == self.watch.backwards
        if len(builds) < MOST_BUILDS:
            builds.append(Build(held, stack, self.watch.backwards, self.epochs))

    def backward(self, *_: Any) -> None:
        self.training = lines(5)

    def used(self, *_: Any) -> None:
        """Gradients are turned on again, or a state is taken: by the person's own line?"""
        if self.use != self.watch.backwards and called_by_user():
            self.use = self.watch.backwards

    def switched(self, module: Any, training: bool) -> None:
        if not training:
            self.use = self.watch.backwards

    def begun(self, *_: Any) -> None:
        """A loader is iterated anew."""
        self.epochs += 1

    def last_words(self) -> None:
        """The fact `rebuilt` of each line that built more than four."""
        for line, builds in self.builds.items():
            if len(builds) < 5:
                continue
            pairs = list(zip(builds, builds[1:]))
            steps = [b.backwards - a.backwards for a, b in pairs]
            value = {
                "builds": len(builds), "class": builds[0].held.cls, "steps": steps[:20], "same_shapes": sum(a.shapes == b.shapes for a, b in pairs),
                "same_values": sum(a.values == b.values and any(a.values) for a, b in pairs),
                "dropped": sum(a.parameter is None or a.parameter() is None for a, _ in pairs), "unused": sum(not a.used for a, _ in pairs),
                "epochs": [b.epochs - a.epochs for a, b in pairs][:20], "pairs": len(pairs), "built": line.told,
            }  # fmt: skip
            trained = {t.code: t for t in self.training}
            common = next((s for s in builds[-1].stack if s.code in trained), line)
            self.recorder.fact("rebuilt", value, step=steps[0], stage="train", **common.place)


def called_by_user() -> bool:
    """Is the nearest frame outside of us and of torch's decorators the person's? (Initialisers and clipping turn gradients off too.)"""
    frame = sys._getframe(2)
    while frame is not None and (frame.f_code.co_filename.startswith(OWN) or frame.f_code.co_filename.endswith("_contextlib.py")):
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None and is_users(frame.f_code.co_filename)


def install(watch: Watch) -> None:
    """Hang on optimizers as they are built, and on what uses a trained model."""
    rebuilds = Rebuilds(watch)
    watch.parts["rebuilds"] = rebuilds
    watch.hang("on_optimizer", PART, rebuilds.built)
    watch.hang("on_backward", PART, rebuilds.backward, sampled=True)
    watch.at_next("on_backward", PART, rebuilds.backward)
    watch.hang("on_switch", PART, rebuilds.switched)

    patches, guard = Patches(), watch.guard(PART)  # its own: other parts watch the same functions
    used = guard(rebuilds.used)
    for owner, name in ((torch.no_grad, "__exit__"), (torch.inference_mode, "__exit__"), (torch.nn.Module, "state_dict")):
        patches.around(owner, name, used)
    patches.around(torch.utils.data.DataLoader, "__iter__", guard(rebuilds.begun))
    watch.at_undo(patches.undo)
    watch.recorder.at_exit(rebuilds.last_words)
