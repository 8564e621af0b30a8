"""Keras: the rows that fit learns from beside those that predict is given, whole and in order."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..capture.around import Patches
from ..capture.calling import direct
from ..capture.flow import Flow
from ..capture.recorder import Recorder, guarded
from ..capture.summarise import is_frame

LIBRARIES = ("keras.src.backend.torch.trainer",)
PROVIDES = ("inputs",)
TRAINERS = {"torch": "TorchTrainer", "tensorflow": "TensorFlowTrainer", "jax": "JAXTrainer"}
MOST_COLUMNS = 200


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook fit and predict of the backend in use."""
    patches, guard, flow = Patches(), guarded("keras_flow", recorder), Flow.of(recorder)

    def fits(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        x, y = (args[i] if len(args) > i else kwargs.get(n) for i, n in ((1, "x"), (2, "y")))
        rows = table_of(x) if direct() else None
        if rows is not None and y is not None:
            flow.fitted(args[0], rows, y)

    def asks(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        model = flow.model(args[0], make=False) if direct() else None
        rows = table_of(args[1] if len(args) > 1 else kwargs.get("x")) if model is not None and model.columns else None
        if model is None or rows is None:
            return None
        method = "predict_proba" if model.target is not None and set(np.unique(model.target.stock).tolist()) == {0.0, 1.0} else "predict"
        return method, flow.fed(args[0], method, rows)

    def answers(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if token is not None and isinstance(result, np.ndarray):
            flow.answered(args[0], token[0], result, token[1])

    for backend, name in TRAINERS.items() if recorder.wants("inputs") else ():
        trainer = getattr(sys.modules.get(f"keras.src.backend.{backend}.trainer"), name, None)
        if trainer is not None:
            patches.around(trainer, "fit", guard(fits))
            patches.around(trainer, "predict", guard(asks), guard(answers))
    return patches.undo


def table_of(x: Any) -> Any:
    """The table that a model is given; of several inputs their columns side by side. None for pictures, sequences, loaders."""
    parts = list(x.values()) if isinstance(x, dict) else list(x) if isinstance(x, (list, tuple)) else [x]
    if len(parts) == 1 and is_frame(parts[0]):
        return parts[0]
    if not parts or len(parts) > 40 or not all(isinstance(p, np.ndarray) and p.ndim in (1, 2) and p.dtype.kind in "iufb" and len(p) for p in parts):
        return None
    columns = [p.reshape(len(p), -1) for p in parts]
    if len({len(c) for c in columns}) != 1 or sum(c.shape[1] for c in columns) > MOST_COLUMNS:
        return None
    return columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)
