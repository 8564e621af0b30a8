"""Restored: the learning rate that an optimizer's loaded state sets in place of the one that it was built with."""

from __future__ import annotations

from typing import Any

import torch

from .lines import here
from .watch import Watch

PART = "restored"


class Restored:
    """Compares the rate of the first group before and after load_state_dict."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder

    def begins(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return rate(args[0])

    def ended(self, asked: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """The state is loaded: told where the rate is another one now."""
        now = rate(args[0])
        if asked is None or now is None or asked == now:
            return
        held = self.watch.parts["steps"].held(args[0])
        line = here()
        value = {"optimizer": held.number, "class": held.cls, "asked": asked, "restored": now}
        self.recorder.fact("rate_restored", value, step=self.watch.step, stage="train", **(line.place if line else {}))


def rate(optimizer: Any) -> float | None:
    """The learning rate of its first group, where it is a number."""
    groups = getattr(optimizer, "param_groups", None)
    value = groups[0].get("lr") if groups else None
    return float(value) if isinstance(value, (int, float)) else None


def install(watch: Watch) -> None:
    """Patch load_state_dict of optimizers."""
    if watch.recorder.wants("rate_restored"):
        seen = Restored(watch)
        watch.around(PART, torch.optim.Optimizer, "load_state_dict", seen.begins, seen.ended)
