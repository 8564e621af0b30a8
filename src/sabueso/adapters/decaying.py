"""scikit-learn's networks: did the penalty on their weights shrink them until they fit worse than a plain linear fit?"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..capture.around import Patches
from ..capture.origin import is_users, user_line
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("sklearn.neural_network._multilayer_perceptron",)
PROVIDES = ("decayed",)
SHRUNK = 0.5  # of the norm that the initialiser gives a weight matrix
MOST_ROWS, MOST_COLUMNS, LEAST_ROWS = 2000, 200, 100
MOST = 12  # fits that are looked at
SEARCHING = ("sklearn/model_selection/", "sklearn/ensemble/", "sklearn/inspection/", "/optuna/", "/skopt/")  # they try settings, good and bad ones


def install(recorder: Recorder) -> Callable[[], None]:
    """Look at each network that the person's code has fitted, by itself or within a pipeline."""
    patches = Patches()
    if not recorder.wants("decayed"):
        return patches.undo
    base = sys.modules["sklearn.neural_network._multilayer_perceptron"].BaseMultilayerPerceptron
    told: list[float] = []

    @guarded("decaying", recorder)
    def fitted(_: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        model, x, y = args[0], args[1] if len(args) > 1 else kwargs.get("X"), args[2] if len(args) > 2 else kwargs.get("y")
        if len(told) < MOST and not searched():
            told.append(model.alpha)
            value = described(model, x, y)
            file, line = user_line()
            if value is not None and file:
                recorder.fact("decayed", value, stage="train", estimator=type(model).__name__, file=file, line=line)

    patches.around(base, "fit", None, fitted, again=True)
    return patches.undo


def searched() -> bool:
    """Is it a search that tries settings, rather than the person?"""
    frame = sys._getframe(2)
    while frame is not None and not is_users(name := frame.f_code.co_filename):
        if any(part in name.replace("\\", "/") for part in SEARCHING):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def described(model: Any, x: Any, y: Any) -> dict[str, Any] | None:
    """The fact: what is left of the weights; where that is little, how well the network and a linear fit tell the targets."""
    left = [float(np.linalg.norm(w) / begun(model, w.shape)) for w in model.coefs_]
    batch = len(x) if model.solver == "lbfgs" else min(200 if model.batch_size == "auto" else model.batch_size, len(x))
    value = {"alpha": float(model.alpha), "batch": int(batch), "rows": len(x), "left": [round(v, 4) for v in left], "loss": float(model.loss_)}
    value["penalty"] = 0.5 * model.alpha * sum(float((w**2).sum()) for w in model.coefs_) / batch
    if not model.alpha > 0 or np.median(left) > SHRUNK:
        return value
    x, y = np.asarray(x, float) if not hasattr(x, "toarray") else x, np.asarray(y)
    if hasattr(x, "toarray") or x.shape[1] > MOST_COLUMNS or len(x) < max(LEAST_ROWS, 5 * x.shape[1]):
        return value
    rows = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_ROWS)).astype(int))
    x, y = x[rows], y[rows]
    classes = getattr(model, "classes_", None)
    wanted = (y.reshape(-1, 1) == classes).astype(float) if classes is not None and y.ndim == 1 else y.reshape(len(y), -1).astype(float)
    line = linear(x, wanted)
    if classes is not None and y.ndim == 1:
        mine, theirs = (answered(model, x) != y).astype(float), (classes[line.argmax(1)] != y).astype(float)
    else:
        mine, theirs = (((p.reshape(wanted.shape) - wanted) ** 2).mean(1) for p in (np.asarray(answered(model, x), float), line))
    apart = mine - theirs
    error = float(apart.std() / len(apart) ** 0.5)
    return value | {"mine": float(mine.mean()), "linear": float(theirs.mean()), "errors": float(apart.mean() / error) if error > 0 else 0.0,
                    "classes": classes is not None}  # fmt: skip


def answered(model: Any, x: np.ndarray) -> Any:
    """What predict gives, without its look at the names of columns: it would warn the person of our array, which has none."""
    return model._predict(x, check_input=False)


def begun(model: Any, shape: tuple[int, ...]) -> float:
    """The norm that the initialiser gives a weight matrix: Glorot's, uniform."""
    bound = ((2.0 if model.activation == "logistic" else 6.0) / (shape[0] + shape[1])) ** 0.5
    return float(bound * (shape[0] * shape[1] / 3) ** 0.5)


def linear(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Each row's answer by least squares on the other half of the rows."""
    out, given = np.empty_like(y), np.column_stack([x, np.ones(len(x))])
    for half in (0, 1):
        out[half::2] = given[half::2] @ np.linalg.lstsq(given[1 - half :: 2], y[1 - half :: 2], rcond=None)[0]
    return out
