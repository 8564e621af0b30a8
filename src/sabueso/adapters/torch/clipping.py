"""Clipping: was there a gradient to clip when gradients were clipped, or did that come before the backward or after the step?"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.utils import clip_grad

from .lines import Line, here
from .trace import is_plain
from .watch import Watch

PART = "clipping"
MOST_LINES = 16
NAMES = ("clip_grad_norm_", "clip_grad_value_")


class Clipping:
    """Counts the calls of each line, and those that met nothing new."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.lines: dict[Line, dict[str, Any]] = {}
        self.stepped_at = 0  # backward calls when the last step was done

    def stepped(self, optimizer: Any) -> None:
        self.stepped_at = self.watch.backwards

    def clipped(self, _: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A clip returned: the norm that it met, and whether any backward came since the last step."""
        watch, line = self.watch, here()
        if line is None or line not in self.lines and len(self.lines) >= MOST_LINES:
            return
        bound = args[1] if len(args) > 1 else kwargs.get("max_norm", kwargs.get("clip_value"))
        told = self.lines.setdefault(line, {"bound": bound if isinstance(bound, (int, float)) else None, "calls": 0, "idle": 0})
        empty = torch.is_tensor(result) and is_plain(result) and not float(result)
        told["calls"] += 1
        told["idle"] += bool(empty or len(watch.optimizers) == 1 and watch.backwards == self.stepped_at)
        watch.at_next("after_step", PART, self.stepped)

    def last_words(self) -> None:
        """The fact `clipping` of each line."""
        for line, told in self.lines.items():
            self.recorder.fact("clipping", told, stage="train", **line.place)


def install(watch: Watch) -> None:
    """Patch what clips, under both of its addresses."""
    if not watch.recorder.wants("clipping"):
        return
    clipping = Clipping(watch)
    for owner in (torch.nn.utils, clip_grad):
        for name in NAMES:
            watch.around(PART, owner, name, None, clipping.clipped)
    watch.recorder.at_exit(watch.guard(PART)(clipping.last_words))
