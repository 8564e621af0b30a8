"""XGBoost's own interface: rows behind DMatrix, train and Booster.predict."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..capture.around import Patches
from ..capture.calling import direct
from ..capture.recorder import Recorder, guarded
from .sklearn.boosters import Boosters

LIBRARIES = ("xgboost",)
PROVIDES = ("row_use", "tell")


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook DMatrix, train and Booster.predict; returns the undo."""
    patches, guard, held, library = Patches(), guarded("xgboost_rows", recorder), Boosters(recorder), sys.modules["xgboost"]

    def built(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if direct():
            held.built(args[0], args[1] if len(args) > 1 else kwargs.get("data"), args[2] if len(args) > 2 else kwargs.get("label"))

    def trained(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        data = args[1] if len(args) > 1 else kwargs.get("dtrain")
        calls = kwargs.get("callbacks") or ()
        stops = bool(kwargs.get("early_stopping_rounds")) or any("Early" in type(c).__name__ for c in calls)
        held.trained(result, data, [e[0] for e in kwargs.get("evals") or (args[3] if len(args) > 3 else None) or ()], stops)

    def predicts(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        held.judged(args[0], args[1] if len(args) > 1 else kwargs.get("data"))

    if recorder.wants(*PROVIDES):
        for name in ("DMatrix", "QuantileDMatrix"):
            patches.around(getattr(library, name), "__init__", None, guard(built))
        patches.around(library, "train", None, guard(trained))
        patches.around(library.Booster, "predict", guard(predicts))
        patches.around(library.Booster, "inplace_predict", guard(predicts))
    return patches.undo
