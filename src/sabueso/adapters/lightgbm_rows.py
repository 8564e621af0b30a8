"""LightGBM's own interface: rows behind Dataset, train and Booster.predict."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..capture.around import Patches
from ..capture.calling import direct
from ..capture.recorder import Recorder, guarded
from .sklearn.boosters import Boosters

LIBRARIES = ("lightgbm",)
PROVIDES = ("row_use", "tell")


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook Dataset, train and Booster.predict; returns the undo."""
    patches, guard, held, library = Patches(), guarded("lightgbm_rows", recorder), Boosters(recorder), sys.modules["lightgbm"]

    def built(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if direct():
            held.built(args[0], args[1] if len(args) > 1 else kwargs.get("data"), args[2] if len(args) > 2 else kwargs.get("label"))

    def trained(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        data = args[1] if len(args) > 1 else kwargs.get("train_set")
        params = args[0] if args else kwargs.get("params") or {}
        rounds = any(params.get(n) for n in ("early_stopping_round", "early_stopping_rounds", "early_stopping", "n_iter_no_change"))
        calls = kwargs.get("callbacks") or ()
        stops = rounds or any("early" in type(c).__name__.lower() for c in calls)
        watched = kwargs.get("valid_sets") or (args[3] if len(args) > 3 else None) or ()
        held.trained(result, data, list(watched) if isinstance(watched, (list, tuple)) else [watched], stops)

    def predicts(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        held.judged(args[0], args[1] if len(args) > 1 else kwargs.get("data"))

    if recorder.wants(*PROVIDES):
        patches.around(library.Dataset, "__init__", None, guard(built))
        patches.around(library, "train", None, guard(trained))
        patches.around(library.Booster, "predict", guard(predicts))
    return patches.undo
