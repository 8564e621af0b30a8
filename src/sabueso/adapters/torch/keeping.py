"""Keeping: at which steps the program takes its weights out, or puts weights in, as one does who keeps those of the best step."""

from __future__ import annotations

from typing import Any

import torch

from .watch import Watch

PART = "keeping"
MOST = 200


class Keeping:
    """Steps at which weights were kept or loaded."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.last: Any = None
        self.told = 0

    def tell(self, how: str) -> None:
        """Once a step and kind, and only while training is under way."""
        if self.watch.step < 1 or self.told >= MOST or self.last == (how, self.watch.step):
            return
        self.last, self.told = (how, self.watch.step), self.told + 1
        self.recorder.fact("weights_kept", {"how": how}, step=self.watch.step)


def install(watch: Watch) -> None:
    """Patch state_dict, load_state_dict and the state of a copy."""
    keeping = Keeping(watch)
    if not watch.recorder.wants("weights_kept"):
        return
    watch.around(PART, torch.nn.Module, "state_dict", lambda args, kwargs: keeping.tell("kept"))
    watch.around(PART, torch.nn.Module, "__setstate__", lambda args, kwargs: keeping.tell("kept"))
    watch.around(PART, torch.nn.Module, "load_state_dict", lambda args, kwargs: keeping.tell("loaded"))
