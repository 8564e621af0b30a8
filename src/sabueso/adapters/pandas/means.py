"""Means of a Series: pandas has its own, so what NumPy's tells (reductions.py) is told for them here."""

from __future__ import annotations

import sys
from typing import Any

from ...capture.around import Patches
from ...capture.origin import user_frame
from ...capture.recorder import Recorder, guarded


def install(recorder: Recorder, patches: Patches) -> None:
    """Hook the mean that Series and frames are reduced with."""
    nanops = sys.modules.get("pandas.core.nanops")
    if nanops is None or not recorder.wants("hand_metric", "labels_compared"):
        return

    def mean(_: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        reductions, flow = recorder.shared.get("reductions"), recorder.shared.get("flow")
        x = args[0] if args else None
        if reductions is None or type(x).__name__ != "ndarray" or x.ndim != 1:
            return
        if x.dtype.kind == "b":
            reductions.compared(x, user_frame(), float(result))
        if flow is None or len(x) not in flow.outputs.lengths:
            return
        frame = user_frame()
        if frame is not None:
            reductions.of_series(x, frame, float(result))

    patches.around(nanops, "nanmean", None, guarded("pandas.means", recorder)(mean))
