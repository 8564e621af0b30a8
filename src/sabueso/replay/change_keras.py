"""Changes for Keras 3 on torch: its optimizers, losses and layers are none of torch's, and its models are given whole arrays."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..interventions import factor
from ..remedies import shares, unit
from .change_steps import ended

ROOT = "keras.src."
CATEGORICAL = ("categorical_crossentropy", "sparse_categorical_crossentropy")
SPLIT = "validation_split"


def of(name: str) -> Any:
    """A module of Keras that is loaded; None where it runs on something else than torch."""
    return sys.modules.get(ROOT + name)


def put(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    """Another function in the place of one, in this class and wherever a class derived of it has its own."""
    held = vars(owner).get(name)
    if held is not None:
        setattr(owner, name, make(held))
    for sub in owner.__subclasses__() if isinstance(owner, type) else ():
        put(sub, name, make)


# ---- optimizers


def rate(change: Any, by: float) -> None:
    """The rate multiplied while an update is applied, so that schedules and logs go on as they would."""
    base, within = of("optimizers.base_optimizer").BaseOptimizer, []
    asked = base._get_current_learning_rate

    def applied(call: Any) -> Any:
        def apply(self: Any, *args: Any, **kwargs: Any) -> Any:
            within.append(self)
            change.applied()
            try:
                return call(self, *args, **kwargs)
            finally:
                within.pop()

        return apply

    put(base, "apply", applied)
    base._get_current_learning_rate = lambda self: asked(self) * by if within else asked(self)


def clipped(change: Any) -> None:
    """Gradients at a norm of 1 at most, all of them together."""

    def make(call: Any) -> Any:
        def apply(self: Any, grads: Any, *args: Any, **kwargs: Any) -> Any:
            held = [g for g in grads if g is not None]
            norm = float(sum(g.detach().square().sum() for g in held)) ** 0.5
            if norm > 1.0:
                change.applied()
                grads = [g if g is None else g / norm for g in grads]
            return call(self, grads, *args, **kwargs)

        return apply

    put(of("optimizers.base_optimizer").BaseOptimizer, "apply", make)


def undecayed(change: Any) -> None:
    """No optimizer decays weights."""

    def make(call: Any) -> Any:
        return lambda self, variables: change.applied() if getattr(self, "weight_decay", None) else None

    put(of("optimizers.base_optimizer").BaseOptimizer, "_apply_weight_decay", make)


def budget(change: Any) -> None:
    """End the program after so many updates."""
    if not change.steps:
        return

    def make(call: Any) -> Any:
        def apply(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = call(self, *args, **kwargs)
            ended(change)
            return result

        return apply

    put(of("optimizers.base_optimizer").BaseOptimizer, "apply", make)


# ---- losses


def given_right(change: Any) -> None:
    """A loss is told whether it is given logits, by what it is given."""
    module = of("backend.torch.nn")

    def make(call: Any, probabilities: Callable[..., bool]) -> Any:
        def loss(target: Any, output: Any, from_logits: bool = False, *args: Any, **kwargs: Any) -> Any:
            right = not probabilities(output)
            if right != bool(from_logits):
                change.applied()
            return call(target, output, right, *args, **kwargs)

        return loss

    for name in CATEGORICAL:
        setattr(module, name, make(getattr(module, name), lambda x: shares(x.movedim(-1, 1) if x.dim() > 2 else x)))
    module.binary_crossentropy = make(module.binary_crossentropy, unit)


# ---- a model and what it is given


def at_fit(then: Callable[[Any, dict[str, Any]], None], methods: tuple[str, ...] = ("fit",)) -> None:
    """Run `then(model, arguments by name)`, which may change the arguments, before the trainer's own methods."""
    trainer = of("backend.torch.trainer").TorchTrainer
    names = {"fit": ("x", "y", "batch_size", "epochs", "verbose", "callbacks", SPLIT, "validation_data", "shuffle"), "train_on_batch": ("x", "y")}

    def make(call: Any, order: tuple[str, ...]) -> Any:
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            given = {**dict(zip(order, args)), **kwargs}
            then(self, given)
            first = [given.pop(n) for n in order[: len(args)]]
            return call(self, *first, *args[len(order) :], **given)

        return method

    for name in methods:
        setattr(trainer, name, make(getattr(trainer, name), names.get(name, ("x",))))


def once(then: Callable[[Any], None]) -> Callable[[Any, dict[str, Any]], None]:
    """At the first fit of each model, before its optimizer has met its weights."""
    done: list[Any] = []

    def before(model: Any, _: dict[str, Any]) -> None:
        if not any(m is model for m in done):
            done.append(model)
            then(model)

    return before


def unfrozen(change: Any) -> None:
    """Every layer is trained."""

    def then(model: Any) -> None:
        for layer in [m for m in model._flatten_layers() if not m.trainable]:
            layer.trainable = True
            change.applied()

    at_fit(once(then), ("fit", "train_on_batch"))


def begun_anew(change: Any) -> None:
    """Each layer's weights by the initialiser that Keras gives by itself."""

    def then(model: Any) -> None:
        draw = sys.modules["keras"].initializers
        for v in model.trainable_variables:
            v.assign(own(draw, v)(v.shape))
            change.applied()

    at_fit(once(then))


def own(draw: Any, variable: Any) -> Any:
    """The initialiser that a layer of Keras has unless told otherwise."""
    return draw.GlorotUniform() if len(variable.shape) > 1 else draw.Ones() if "gamma" in variable.path else draw.Zeros()


def shuffled(change: Any) -> None:
    """Rows in no order, before a last part of them is set aside and in each epoch."""

    def then(model: Any, given: dict[str, Any]) -> None:
        arrays = [n for n in ("x", "y", "sample_weight") if hasattr(given.get(n), "__len__") and hasattr(given[n], "shape")]
        if given.get(SPLIT) and "x" in arrays:
            rows = np.random.default_rng(0).permutation(len(given["x"]))
            given |= {n: given[n].iloc[rows] if hasattr(given[n], "iloc") else given[n][rows] for n in arrays}
            change.applied()
        if not given.get("shuffle", True):
            given["shuffle"] = True
            change.applied()

    at_fit(then)


def standardised(change: Any) -> None:
    """Inputs by the moments of what a model was first fitted on: by column in tables, as a whole in anything else."""
    moments: dict[int, Any] = {}

    def scaled(model: Any, x: Any) -> Any:
        if not hasattr(x, "shape") or not hasattr(x, "__len__") or id(model) not in moments:
            return x
        change.applied()
        mean, std = moments[id(model)]
        return ((np.asarray(x, dtype="float64") - mean) / std).astype("float32")

    def then(model: Any, given: dict[str, Any]) -> None:
        x = given.get("x")
        if id(model) not in moments and hasattr(x, "shape"):
            values = np.asarray(x, dtype="float64")
            mean, std = (values.mean(0), values.std(0)) if values.ndim == 2 else (values.mean(), values.std())
            moments[id(model)] = mean, np.where(std > 1e-8 * np.abs(mean), std, 1.0) + 1e-30
        given["x"] = scaled(model, x)
        beside = given.get("validation_data")
        if isinstance(beside, tuple) and beside:
            given["validation_data"] = (scaled(model, beside[0]), *beside[1:])

    at_fit(then, ("fit", "evaluate", "predict", "train_on_batch", "predict_on_batch", "test_on_batch"))


CHANGES: dict[str, Callable[[Any], None]] = {
    "gradients clipped": clipped, "weight decay 0": undecayed, "loss given what it takes": given_right, "all parameters trained": unfrozen,
    "layers initialised anew": begun_anew, "rows shuffled": shuffled, "inputs standardised": standardised,
}  # fmt: skip


def install(change: Any) -> None:
    """Put the intervention into Keras, where it runs on torch."""
    if of("backend.torch.trainer") is None:
        return
    budget(change)
    if change.name.startswith("learning rate"):
        rate(change, factor(change.name))
    elif change.name in CHANGES:
        CHANGES[change.name](change)
