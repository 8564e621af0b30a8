"""Keras: the rows that fit, its validation part and evaluate are given."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ..capture import lineage
from ..capture.around import Patches
from ..capture.calling import direct
from ..capture.flow import Flow
from ..capture.lineage import order, sight, uses
from ..capture.lineage.fingerprints import table_of
from ..capture.lineage.known import Known
from ..capture.lineage.registry import shape_of
from ..capture.origin import user_line
from ..capture.outputs import Output, plain
from ..capture.recorder import Recorder, guarded
from ..places import Place

LIBRARIES = ("keras.src.backend.torch.trainer",)
PROVIDES = ("row_use", "label_order", "logged", "accuracy_of_quantities")
ACCURACIES = ("accuracy", "acc", "binary_accuracy", "categorical_accuracy", "sparse_categorical_accuracy")
LEVELS = 60  # that classes have at most, and quantities more of
ROOT = "keras.src."
MOST_ROWS = 50_000  # of an answer that is remembered
MOST_EPOCHS = 5000  # whose numbers are kept
TRAINERS = {"torch": "TorchTrainer", "tensorflow": "TensorFlowTrainer", "jax": "JAXTrainer"}


class KerasRows:
    """The hooks of one installation."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.lineage = lineage.of(recorder)
        self.uses = uses.of(recorder, self.lineage)
        self.compiled: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()  # by model

    def compiles(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """compile(optimizer, loss, .., metrics) of a model that has accuracies."""
        if not direct():
            return
        given = {**dict(zip(("self", "optimizer", "loss", "loss_weights", "metrics"), args)), **kwargs}
        loss, held = given.get("loss"), given.get("metrics")
        asked = [m for m in (held if isinstance(held, (list, tuple)) else [held]) if m in ACCURACIES or type(m).__module__ == ROOT + "metrics.accuracy_metrics"]
        named = loss if isinstance(loss, str) else getattr(loss, "__name__", None) or type(loss).__name__
        file, line = user_line()
        if asked and not isinstance(loss, (dict, list, tuple)):
            self.compiled[args[0]] = {"names": [m if isinstance(m, str) else m.name for m in asked], "loss": named, "file": file, "line": line}

    def quantities(self, given: dict[str, Any], history: dict[str, list[float]]) -> None:
        """Fact accuracy_of_quantities: numbers of many levels, fitted with an accuracy."""
        told, y = self.compiled.get(given["self"]), given.get("y")
        if told is None or "crossentropy" in told["loss"].lower().replace("_", "") or shape_of(y) is None or shape_of(y)[0] > 2_000_000:  # type: ignore[index]
            return
        table, metric = table_of(y), told["names"][0]
        values = history.get(f"val_{metric}") or history.get(metric)
        if table is None or not table.numeric.all() or not values:
            return
        first = table.floats()[:, 0]
        levels = len(np.unique(first))
        if levels <= max(LEVELS, len(first) // 10):
            return
        watching = [{"callback": type(c).__name__, "monitor": c.monitor} for c in listed(given.get("callbacks"))
                    if str(getattr(c, "monitor", "")).removeprefix("val_") == metric]  # fmt: skip
        value = {"metric": metric, "best": float(max(values)), "levels": levels, "columns": table.width, "watching": watching, "ran": len(values),
                 "epochs": given.get("epochs", 1)}  # fmt: skip
        self.recorder.fact("accuracy_of_quantities", value, stage="evaluate", file=told["file"], line=told["line"])

    def fitted(self, token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """fit(x, y, .., validation_split, validation_data)."""
        if not direct():
            return
        self.history(getattr(result, "history", None))
        given = {**dict(zip(("self", "x", "y", "batch_size", "epochs", "verbose", "callbacks", "validation_split", "validation_data"), args)), **kwargs}
        self.quantities(given, getattr(result, "history", None) or {})
        x, y, share = given.get("x"), given.get("y"), float(given.get("validation_split") or 0.0)
        known, origin = self.lineage.known_of(x) if shape_of(x) is not None else None, sight.origin()
        rows = (shape_of(x) or (0,))[0]
        cut = int(rows * (1 - share)) if share else rows
        if share and y is not None:
            self.in_order(y, cut, origin)
        elif (both := joined(y, given.get("validation_data"))) is not None:
            self.in_order(both, cut, origin, y)
        if known is None:
            return
        train = part(known, np.arange(cut)) if share else known
        fit = self.uses.fitted(args[0], type(args[0]).__name__, train, origin, supervised=y is not None)
        held = given.get("validation_data")
        judged = part(known, np.arange(cut, rows)) if share else None
        if isinstance(held, (tuple, list)) and len(held) > 1 and shape_of(held[0]) is not None:
            x, judged = held[0], self.lineage.known_of(held[0])
        if judged is not None:
            self.uses.evaluated(fit, judged, x, origin, "validation")

    def history(self, held: Any) -> None:
        """What fit itself says of its epochs, of the validation part too."""
        for name, values in (held or {}).items() if self.recorder.wants("logged") else ():
            for epoch, value in enumerate(values[:MOST_EPOCHS]):
                if isinstance(value, (int, float)):
                    self.recorder.point("logged", float(value), epoch, Place(stage="train", tensor=name))

    def in_order(self, y: Any, cut: int, origin: sight.Origin, called: Any = None) -> None:
        """The last rows are held out before anything is shuffled: are they sorted by their label? `called` is the part of them that has a name."""
        held = order.codes_of(y)
        if held is None or not held[1] or not 4 < cut < len(held[0]) - 1:
            return
        values, labels = held[0], order.named(y if called is None else called, self.lineage) or {}
        told = {"how": "hold-out", "sorted": order.is_sorted(values, True), "lacking": round(order.lacking(values[:cut], values[cut:], values, True), 4),
                "runs": order.runs(values), "levels": len(np.unique(values)), "levels_train": len(np.unique(values[:cut])), "judged": len(values) - cut,
                "name": labels.get("name"), "column": labels.get("column"), "rows": list(range(cut, min(cut + 50, len(values)))),
                "remedy": "Shuffle inputs and labels with one permutation before fit: validation_split takes the last rows as they stand."
                if called is None else "Shuffle inputs and labels with one permutation before they are cut (train_test_split does)."}  # fmt: skip
        file, line = origin[0][:2] if origin else (None, None)
        if called is not None and labels.get("line"):  # where the part was cut off
            file, line = labels["file"], labels["line"]
        self.recorder.fact("label_order", told, stage="preprocess", file=file, line=line)

    def judged(self, how: str) -> Callable[..., None]:
        """evaluate(x, y) and predict(x)."""

        def before(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            x = args[1] if len(args) > 1 else kwargs.get("x")
            fit = self.uses.fit_of(args[0]) if direct() and shape_of(x) is not None else None
            known = self.lineage.known_of(x) if fit is not None else None
            if fit is not None and known is not None and fit.supervised:
                self.uses.evaluated(fit, known, x, sight.origin(), how, scored=how == "evaluate")

        return before

    def answered(self, token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """What predict made of all batches is remembered as one answer; its batches were noted one by one as they went through the model."""
        values, outputs = plain(result) if isinstance(result, np.ndarray) and direct() else None, Flow.of(self.recorder).outputs
        if values is None or values.ndim > 2 or not 1 < len(values) <= MOST_ROWS or outputs.find(result, values) is not None:
            return
        values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
        outputs.put(Output(type(args[0]).__name__, "forward", np.array(values), 0), result)


def listed(callbacks: Any) -> list[Any]:
    """The callbacks of a fit."""
    callbacks = getattr(callbacks, "callbacks", callbacks)
    return list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks is not None else []


def joined(y: Any, held: Any) -> np.ndarray | None:
    """The labels to learn and those held out, one behind the other; None where they are no arrays of one width."""
    other = held[1] if isinstance(held, (tuple, list)) and len(held) > 1 else None
    if not isinstance(y, np.ndarray) or not isinstance(other, np.ndarray) or y.shape[1:] != other.shape[1:]:
        return None
    return np.concatenate([y, other]) if y.size + other.size <= 2_000_000 else None


def part(known: Known, positions: np.ndarray) -> Known:
    """Some rows of what is known."""
    table = known.table.take(positions) if known.table is not None else None
    return Known(known.ids[positions], known.source, known.width, known.names, known.makers, known.resampled, None, known.exact, table)


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook the trainer of the backend in use; returns the undo."""
    patches, guard, hooks = Patches(), guarded("keras_rows", recorder), KerasRows(recorder)
    base = sys.modules.get(ROOT + "trainers.trainer")
    if base is not None and recorder.wants("accuracy_of_quantities"):
        patches.around(base.Trainer, "compile", guard(hooks.compiles))
    for backend, name in TRAINERS.items() if recorder.wants(*PROVIDES) else ():
        module = sys.modules.get(f"keras.src.backend.{backend}.trainer")
        trainer = getattr(module, name, None)
        if trainer is not None:
            patches.around(trainer, "fit", None, guard(hooks.fitted))
            patches.around(trainer, "evaluate", guard(hooks.judged("evaluate")))
            patches.around(trainer, "predict", guard(hooks.judged("predict")), guard(hooks.answered))
    return patches.undo
