"""sklearn.utils.resample: which rows were drawn again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..capture import lineage
from ..capture.around import Patches
from ..capture.calling import direct
from ..capture.lineage import sight, uses
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("sklearn.utils._indexing",)
PROVIDES = ("row_use",)


def install(recorder: Recorder) -> Callable[[], None]:
    """Watch resample; returns the undo."""
    patches, guard = Patches(), guarded("resampling", recorder)
    registry = lineage.of(recorder)

    def after(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not direct() or kwargs.get("replace", True) is False or not args:
            return
        known = registry.known_of(args[0])
        drawn = result if len(args) == 1 else result[0]
        out = registry.known_of(drawn) if known is not None else None
        if out is not None and known is not None:
            made = uses.Learner("resample", uses.unique(known), "resampling", True, sight.origin(), known=known)
            made.extra["extra_rows"] = int(out.rows - len(np.unique(out.ids)))
            uses.of(recorder, registry).resamplings.append(made)

    if recorder.wants(*PROVIDES):
        for name in ("sklearn.utils._indexing", "sklearn.utils"):
            module = sys.modules.get(name)
            if module is not None and hasattr(module, "resample"):
                patches.around(module, "resample", None, guard(after))
    return patches.undo
