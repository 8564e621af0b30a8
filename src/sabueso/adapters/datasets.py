"""Data sets that scikit-learn brings along or fetches: inputs and labels that belong together, row by row."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..capture import lineage
from ..capture.around import Patches
from ..capture.lineage import answers
from ..capture.origin import user_line
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("sklearn.datasets",)
PROVIDES = ("row_mismatch",)
MOST_CELLS = 4_000_000


def install(recorder: Recorder) -> Callable[[], None]:
    """Note what `load_*` and `fetch_*` return; the undo takes it out."""
    patches, guard = Patches(), guarded("datasets", recorder)
    registry = lineage.of(recorder)

    def loaded(name: str) -> Callable[..., None]:
        def after(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            x, y = result if isinstance(result, tuple) and len(result) == 2 else (getattr(result, "data", None), getattr(result, "target", None))
            if hasattr(x, "shape") and hasattr(y, "shape") and len(x.shape) == 2 and x.shape[0] * x.shape[1] <= MOST_CELLS:
                answers.of(recorder, registry).loaded(x, y, name, *user_line())

        return after

    module = sys.modules["sklearn.datasets"]
    for name in list(vars(module)) if recorder.wants(*PROVIDES) else ():
        if name.startswith(("load_", "fetch_")) and callable(getattr(module, name, None)):
            patches.around(module, name, None, guard(loaded(name)))
    return patches.undo
