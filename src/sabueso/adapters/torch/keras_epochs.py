"""Keras' epochs: the validation loss that `fit` reckons itself after each, told as our recount of other loops' evaluations is."""

from __future__ import annotations

from typing import Any

from ...places import Place
from .lines import Line, here
from .watch import Watch, loaded

PART = "keras_epochs"
ROOT = "keras.src."
ACCURACY = ("val_accuracy", "val_acc", "val_sparse_categorical_accuracy", "val_categorical_accuracy", "val_binary_accuracy")
KEEPERS = ("EarlyStopping", "ModelCheckpoint")  # callbacks that mind the best epoch


class KerasEpochs:
    """One a watch."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.here = False
        self.line: Line | None = None
        self.rows, self.trained, self.fits, self.best = 0.0, 0.0, 0, float("inf")

    def module_built(self, module: Any, line: Line | None) -> None:
        """The first layer of Keras: put the patches in."""
        trainer, callbacks = loaded(ROOT + "backend.torch.trainer"), loaded(ROOT + "callbacks.callback_list")
        if self.here or trainer is None or callbacks is None:
            return
        self.here = True
        self.watch.around(PART, trainer.TorchTrainer, "fit", self.fit)
        self.watch.around(PART, callbacks.CallbackList, "on_epoch_end", self.epoch)

    def fit(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """fit begins: how many rows does it validate on, and are they the training rows?"""
        x, held = args[1] if len(args) > 1 else kwargs.get("x"), kwargs.get("validation_data")
        inputs = held[0] if isinstance(held, (tuple, list)) and held else None
        share = kwargs.get("validation_split") or 0.0
        self.line, self.fits, self.best = here(), self.fits + 1, float("inf")
        self.rows = float(height(inputs)) if inputs is not None else share * height(x)
        self.trained = 1.0 if inputs is not None and inputs is x else 0.0

    def epoch(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """An epoch ends; its logs hold the validation loss where there was one."""
        logs = (args[2] if len(args) > 2 else kwargs.get("logs")) or {}
        loss = logs.get("val_loss")
        if loss is None or not self.recorder.wants("evaluation_error"):
            return
        step, value = self.watch.step, float(loss)
        found = {"loss": value, "rows": self.rows, "trained": self.trained}
        right = next((logs[name] for name in ACCURACY if name in logs), None)
        if right is not None:
            found["accuracy"] = float(right)
        where = self.line.place if self.line else {}
        for tensor, number in found.items():
            place = Place(stage="evaluate", tensor=tensor, estimator=f"validation of fit {self.fits}", **where)  # type: ignore[arg-type]
            self.recorder.point("evaluation_error", number, step, place)
        if value < self.best:
            self.best = value
            if any(type(c).__name__ in KEEPERS for c in getattr(args[0], "callbacks", ())):
                self.recorder.fact("weights_kept", {"how": "kept"}, step=step, stage="train", **where)


def height(x: Any) -> int:
    """Rows of an array; 0 where it has none to tell."""
    shape = getattr(x, "shape", None)
    return int(shape[0]) if shape is not None and len(shape) else 0


def install(watch: Watch) -> None:
    """Wait for Keras."""
    if watch.recorder.wants("evaluation_error"):
        watch.hang("on_module_built", PART, KerasEpochs(watch).module_built)
