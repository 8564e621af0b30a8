"""Labels beside features, and what was subtracted: looked at once, when the first optimizer of torch is about to take its first step."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..capture import content, pairs
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("torch",)
PROVIDES = ("label_agreement",)


def install(recorder: Recorder) -> Callable[[], None]:
    """A hook on all optimizers that does nothing after the first step (a hook may not take itself out while hooks run)."""
    content.install(recorder)
    register = getattr(sys.modules.get("torch.optim.optimizer"), "register_optimizer_step_pre_hook", None)
    if register is None or not recorder.wants("label_agreement", "unsigned_difference"):
        return lambda: None

    @guarded("beside", recorder)
    def look() -> None:
        pairs.look(recorder)
        if "unsigned" in recorder.shared:
            recorder.shared["unsigned"].fitted()

    waits = [True]

    def first(*_: Any) -> None:
        if waits:  # taking the hook out here would change the dictionary that torch is walking through
            waits.clear()
            look()

    handle = register(first)
    return handle.remove
