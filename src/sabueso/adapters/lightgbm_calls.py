"""LightGBM's own training interface: the rows of a Dataset that is trained on, and those that a Booster predicts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..capture import fits
from ..capture.around import Patches
from ..capture.calling import direct
from ..capture.flow import Flow
from ..capture.recorder import Recorder, guarded
from ..capture.storing import Stored, name_of

LIBRARIES = ("lightgbm",)
PROVIDES = ("inputs", "stored")


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook `train` and `Booster.predict`."""
    patches, flow, guard = Patches(), Flow.of(recorder), guarded("lightgbm_calls", recorder)
    library = sys.modules["lightgbm"]

    def trains(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        data = args[1] if len(args) > 1 else kwargs.get("train_set")
        if not direct() or data is None or getattr(data, "data", None) is None or isinstance(data.data, (str, bytes)):
            return None
        fits.tell(recorder, fits.Booster(), data.data, getattr(data, "label", None))
        return flow.held(data.data, getattr(data, "label", None))

    def trained(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if token is not None:
            params = args[0] if args else kwargs.get("params") or {}
            flow.adopt(result, token, classifier="binary" in str(params.get("objective", "")) or "multi" in str(params.get("objective", "")))

    def predicts(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        x = args[1] if len(args) > 1 else kwargs.get("data")
        return (flow.fed(args[0], "predict_proba", x),) if direct() and x is not None and not isinstance(x, str) else None

    def predicted(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if token is not None:
            flow.answered(args[0], "predict_proba" if getattr(flow.model(args[0], False), "classifier", False) else "predict", result, token[0])

    def saved(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        path = name_of(args[1] if len(args) > 1 else kwargs.get("filename"))
        Stored.of(recorder).dumped(args[0], path, path)

    def read(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        path = name_of(args[2] if len(args) > 2 else kwargs.get("model_file"))
        if path:
            Stored.of(recorder).loaded(args[0], path, path)

    if recorder.wants("inputs"):
        patches.around(library.Booster, "save_model", None, guard(saved))
        patches.around(library.Booster, "__init__", None, guard(read))
        patches.around(library, "train", guard(trains), guard(trained))
        patches.around(library.Booster, "predict", guard(predicts), guard(predicted))
    return patches.undo
