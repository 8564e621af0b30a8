"""Keras 3 on torch: its optimizers, layers, losses and initialisers, told as those of torch.

Its optimizers are none of torch's and its layers bypass torch's module hooks, so both are patched once Keras is there (seen when the first
of its layers is built).
"""

from __future__ import annotations

from typing import Any

import torch

from ...capture.around import Around
from .graph import Graph
from .identity import ByIdentity
from .lines import Line, built_at, here
from .losses import Losses, described, producers
from .modules import Modules, sample
from .steps import Held, Steps
from .trace import Trace
from .watch import Watch, loaded

PART = "keras"
LOSSES = ("sparse_categorical_crossentropy", "categorical_crossentropy", "binary_crossentropy")
ROOT = "keras.src."


class KerasHeld(Held):
    """An optimizer of Keras."""

    @property
    def parameters(self) -> list[Any]:
        optimizer = self.ref()
        variables = getattr(optimizer, "_trainable_variables", None) or ()
        return [v.value for v in variables if torch.is_tensor(getattr(v, "value", None))]

    def rate(self, optimizer: Any) -> Any:
        return getattr(optimizer, "learning_rate", None)


class Keras:
    """The hooks."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.steps: Steps = watch.parts["steps"]
        self.trace: Trace = watch.parts["trace"]
        self.modules: Modules = watch.parts["modules"]
        self.here = False
        self.built = ByIdentity()  # loss -> line
        self.compiled_at: Line | None = None
        self.calling: list[Any] = []

    def module_built(self, module: Any, line: Line | None) -> None:
        """The first layer of Keras: put the patches in."""
        base = loaded(ROOT + "optimizers.base_optimizer")
        layer, losses, nn = (loaded(ROOT + n) for n in ("layers.layer", "losses.loss", "backend.torch.nn"))
        if self.here or not all((base, layer, losses, nn)) or not isinstance(module, layer.Layer):
            return
        self.here = True
        watch = self.watch
        watch.around(PART, base.BaseOptimizer, "__init__", None, self.optimizer_built)
        watch.around(PART, base.BaseOptimizer, "apply", self.before_apply, self.after_apply)
        watch.around(PART, layer.Layer, "__call__", self.enter, self.leave)
        watch.around(PART, losses.Loss, "__init__", self.loss_built)
        watch.around(PART, losses.Loss, "__call__", self.loss_begins, self.loss_ended)
        for name in LOSSES:
            watch.around(PART, nn, name, None, self.loss(name))
        trainer, variables = loaded(ROOT + "trainers.trainer"), loaded(ROOT + "backend.common.variables")
        if trainer is not None:
            watch.around(PART, trainer.Trainer, "compile", self.compiled)
        if variables is not None:
            watch.around(PART, variables.Variable, "_initialize_with_initializer", None, self.initialised)
        self.watch_freezing(layer.Layer)

    # ---- optimizers

    def optimizer_built(self, _: Any, __: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.steps.held(args[0], built_at(args[0]), KerasHeld)

    def before_apply(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        self.steps.held(args[0], None, KerasHeld)
        self.steps.before(args[0], (args[0],), {})
        return True

    def after_apply(self, token: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if token:
            self.steps.after(args[0], (args[0],), {})

    # ---- layers

    def enter(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A layer is called: the stack of modules is kept as torch's hooks would."""
        if not self.trace.open or not (self.watch.armed or self.watch.evaluating):
            return None
        if any(m is args[0] for m in self.trace.stack[-1:]):
            return None
        self.trace.enter(args[0], args[1:])
        return True

    def leave(self, token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if token:
            self.trace.leave(args[0], args[1:], kwargs, result)

    def initialised(self, _: Any, __: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A variable was drawn by its initialiser."""
        value = getattr(args[0], "_value", None)
        graph: Graph = self.watch.parts["graph"]
        if torch.is_tensor(value):
            name = type(args[1] if len(args) > 1 else kwargs.get("initializer")).__name__
            graph.remember(value, name, narrows=len(value.shape) > 1 and value.shape[-1] < value.shape[-2])

    def watch_freezing(self, layer: Any) -> None:
        """The line that sets `trainable` to False."""
        old = layer.trainable
        if not isinstance(old, property) or old.fset is None:
            return
        before = self.watch.guard(PART)(self.frozen)
        self.watch.patches.put(layer, "trainable", property(old.fget, Around(old.fset, before, None), old.fdel, old.__doc__))

    def frozen(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if len(args) > 1 and not args[1]:
            graph: Graph = self.watch.parts["graph"]
            line = here()
            for variable in getattr(args[0], "weights", ()):
                value = getattr(variable, "_value", None)
                if torch.is_tensor(value):
                    graph.frozen_at.setdefault(id(value), line)

    # ---- losses

    def compiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.compiled_at = here()

    def loss_built(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.built[args[0]] = self.compiled_at or here()

    def loss_begins(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.calling = [*self.calling[-3:], args[0]]
        return True

    def loss_ended(self, *_: Any) -> None:
        self.calling = self.calling[:-1]

    def loss_call(self, call: Any) -> None:
        """A loss of Keras that ends in one of torch's: where it was built says more than the line of fit()."""
        line = next((self.built.get(loss) for loss in reversed(self.calling) if self.built.get(loss)), None)
        if line is not None:
            call.value.setdefault("built", line.told)

    def loss(self, name: str) -> Any:
        """The hook behind one of the backend's losses."""

        def after(_: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if not self.watch.armed or not torch.is_tensor(result):
                return
            target, prediction = args[0], args[1] if len(args) > 1 else kwargs.get("output")
            made = self.trace.of(result)
            if made is None or not torch.is_tensor(prediction):
                return
            given = self.trace.of(prediction)
            line = next((self.built.get(loss) for loss in reversed(self.calling) if self.built.get(loss)), None)
            value = {
                "function": name, "reduction": "none", "prediction": described(prediction), "weights": [], "grad": torch.is_grad_enabled(),
                "target": described(target) if torch.is_tensor(target) else {"shape": [], "dtype": ""}, "target_grad": False, "ignore_index": None,
                "producers": producers(given, self.modules) if given is not None else [], "evaluating": self.watch.evaluating,
                "from_logits": bool(kwargs.get("from_logits", args[2] if len(args) > 2 else False)), "built": line.told if line else None,
            }  # fmt: skip
            losses: Losses = self.watch.parts["losses"]
            losses.calls.append((made, value))

        return after


def install(watch: Watch) -> None:
    """Wait for the first layer of Keras."""
    keras = Keras(watch)
    watch.parts["keras"] = keras
    watch.hang("on_module_built", PART, keras.module_built)
    watch.hang("on_loss_call", PART, keras.loss_call)


__all__ = ["Keras", "KerasHeld", "install", "sample"]
