"""Lightning's `self.log`: single numbers that the trainer averages over the batches of an epoch."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from typing import Any

from ..capture.around import Patches
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("lightning.pytorch.core.module", "pytorch_lightning.core.module")
PROVIDES = ("metric",)


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook the method; the metrics' adapter reads what was given to it."""
    patches, guard = Patches(), guarded("lightning_log", recorder)

    def log(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        module, name = args[0], args[1] if len(args) > 1 else kwargs.get("name")
        value = args[2] if len(args) > 2 else kwargs.get("value")
        on_epoch, learning = kwargs.get("on_epoch"), getattr(getattr(module, "_trainer", None), "training", False)
        if kwargs.get("reduce_fx", "mean") != "mean" or not (on_epoch or on_epoch is None and not learning):
            return
        if getattr(value, "ndim", None) == 0 and (averaged := recorder.shared.get("averaged_tensor")) is not None:
            averaged(str(name), value)
        elif isinstance(value, float):
            recorder.shared.setdefault("averaged_values", deque(maxlen=64)).append((str(name), float(value)))

    for name in LIBRARIES:
        module = sys.modules.get(name)
        if module is not None and hasattr(module, "LightningModule") and recorder.wants("metric"):
            patches.around(module.LightningModule, "log", guard(log), None)
    return patches.undo
