"""Keras' modes: layers that drop while `predict` and `evaluate` answer, since what calls them passes `training=True` on."""

from __future__ import annotations

from typing import Any

from ...capture.summarise import library
from .lines import Line, here
from .watch import Watch, loaded

PART = "keras_modes"
ROOT = "keras.src."
DROPS = ("dropout.Dropout", "spatial_dropout.SpatialDropout1D", "spatial_dropout.SpatialDropout2D", "alpha_dropout.AlphaDropout",
         "gaussian_dropout.GaussianDropout", "gaussian_noise.GaussianNoise")  # fmt: skip
MOST = 200  # calls of predict and evaluate that are told
VALUES = 16


class KerasModes:
    """One a watch."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.here = False
        self.asked: Any = None  # the model that answers, and no other within it
        self.drops: tuple[Line | None, str] | None = None
        self.met: dict[Any, int] = {}
        self.told = 0

    def module_built(self, module: Any, line: Line | None) -> None:
        """The first layer of Keras: put the patches in."""
        trainer = loaded(ROOT + "backend.torch.trainer")
        if self.here or trainer is None:
            return
        self.here = True
        for name in ("predict", "evaluate"):
            self.watch.around(PART, trainer.TorchTrainer, name, self.begins, self.ended)
        for path in DROPS:
            home, _, cls = path.partition(".")
            layer = getattr(loaded(f"{ROOT}layers.regularization.{home}"), cls, None)
            if layer is not None:
                self.watch.around(PART, layer, "call", self.called)

    def begins(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """predict(x) or evaluate(x, ..)."""
        if self.asked is not None or self.told >= MOST:
            return None
        self.asked, self.drops = args[0], None
        return args[0]

    def called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A dropout is called."""
        on = kwargs.get("training", args[2] if len(args) > 2 else False)
        if self.asked is not None and self.drops is None and on and (getattr(args[0], "rate", None) or getattr(args[0], "stddev", 0)):
            self.drops = here(), str(args[0].name)

    def ended(self, token: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """What was answered with dropout on is told; the same rows asked again and again are sampling by design."""
        if token is None:
            return
        drops, self.asked, self.drops = self.drops, None, None
        if drops is None or drops[0] is None:
            return
        self.told += 1
        x = args[1] if len(args) > 1 else kwargs.get("x")
        key = fingerprint(x)
        self.met[key] = self.met.get(key, 0) + 1
        value = {"model": args[0].name, "class": type(args[0]).__name__, "why": "keras", "grad": False, "training": False, "live": [], "asleep": [],
                 "dropouts": 1, "lines": {}, "rows": x.shape[0] if getattr(x, "shape", None) else None, "step": self.watch.step,
                 "backwards": self.watch.backwards, "training_batch": False, "metrics": ["keras"], "window": [], "repeats": 1, "met": self.met[key],
                 "drops": drops[0].told, "layer": drops[1]}  # fmt: skip
        line = here()
        self.recorder.fact("evaluation", value, stage="evaluate", step=self.watch.step, module=args[0].name, **(line.place if line else {}))


def fingerprint(x: Any) -> Any:
    """The same rows have the same."""
    if library(x) == "numpy" and x.ndim and x.size and x.dtype.kind in "iufb":
        flat = x.reshape(-1) if x.flags.c_contiguous else x[:: max(len(x) // VALUES, 1)].reshape(-1)
        return x.shape, tuple(flat[:: max(len(flat) // VALUES, 1)].tolist())
    return id(x)


def install(watch: Watch) -> None:
    """Wait for Keras."""
    if watch.recorder.wants("evaluation"):
        watch.hang("on_module_built", PART, KerasModes(watch).module_built)
