"""Trials: interventions on some steps of a copied model and optimizer, each as what it changes of them."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from ...interventions import factor
from ...remedies import GIVEN_RIGHT, OF_NUMBERS, Masters, moments, renewed, spread, standardised
from .trace import tensors_in

FAR = 10.0  # a deviation or a mean beyond is no standard scale


class Kept:
    """One step: what the model was given and the state of torch's stream then, and the loss function with its target."""

    def __init__(self, args: Any, state: Any, function: str, shape: Any, target: Any, settings: dict[str, Any], loss: float, dtype: Any = None) -> None:
        self.args, self.state, self.loss, self.dtype = args, state, loss, dtype  # dtype: what the answers are made into before the loss
        self.function, self.shape, self.target, self.settings = function, shape, target, settings


class Steps:
    """Some steps on a copy, as they were until a trial changes them."""

    def __init__(self, held: tuple[Any, Any], kept: list[Kept], clears: bool) -> None:
        self.model, self.optimizer = copy.deepcopy(held)
        self.kept, self.clears = kept, clears
        self.given: Callable[[Any], Any] = same  # of the first tensor that the model is given
        self.target: Callable[[Any], Any] = same
        self.prediction: Callable[[str, Any], Any] = lambda function, x: x
        self.before_step: Callable[[], Any] = lambda: None

    def taken(self, steps: int, late: Callable[[int], bool]) -> dict[str, Any]:
        """The loss over the kept batches at the end, how many steps there were (fewer where it is `late`), the first and second loss."""
        seen: list[float] = []
        for step in range(steps):
            if late(step):
                break
            if self.clears or not step:
                self.optimizer.zero_grad()
            loss = self.loss(self.kept[step % len(self.kept)])
            seen.append(float(loss.detach()))
            loss.backward()
            self.before_step()
            self.optimizer.step()
        with torch.no_grad():
            ends = [float(self.loss(k)) for k in self.kept]
        return {"loss": sum(ends) / len(ends), "steps": len(seen), "first": seen[0], "second": seen[1] if len(seen) > 1 else math.nan}

    def loss(self, kept: Kept) -> Any:
        """The loss of a kept batch."""
        if kept.state is not None:
            torch.set_rng_state(kept.state)  # the same is dropped out
        out = self.model(*with_first(kept.args, self.given))
        answer = next(iter(tensors_in(out))).reshape(kept.shape)
        prediction = self.prediction(kept.function, answer if kept.dtype is None else answer.to(kept.dtype))
        return getattr(functional, kept.function)(prediction, self.target(kept.target), **kept.settings)


def same(x: Any) -> Any:
    return x


def with_first(args: Any, change: Callable[[Any], Any]) -> Any:
    """Arguments with their first tensor changed."""
    if change is same:
        return args
    first, done = tensors_in(args)[0], [False]

    def changed(value: Any) -> Any:
        if value is first and not done[0]:
            done[0] = True
            return change(value)
        return type(value)(map(changed, value)) if type(value) in (list, tuple) else value

    return changed(args)


def far(by: tuple[Any, Any]) -> bool:
    """Are values of these moments on no standard scale?"""
    return float(by[1].max()) > FAR or float(by[0].abs().max()) > FAR


# ---- each returns False where it changes nothing


def rated(name: str) -> Callable[[Steps], bool]:
    def apply(steps: Steps) -> bool:
        for group in steps.optimizer.param_groups:
            group["lr"] = group["lr"] * factor(name)
        return True

    return apply


def clipped(steps: Steps) -> bool:
    steps.before_step = lambda: torch.nn.utils.clip_grad_norm_(steps.model.parameters(), 1.0)
    return True


def cleared(steps: Steps) -> bool:
    changes, steps.clears = not steps.clears, True
    return changes


def mastered(steps: Steps) -> bool:
    masters = Masters()

    def before(optimizer: Any, args: Any, kwargs: Any) -> None:
        masters.before(optimizer)

    steps.optimizer.register_step_pre_hook(before)
    steps.optimizer.register_step_post_hook(lambda optimizer, args, kwargs: masters.after())
    return any(p.element_size() == 2 and p.is_floating_point() for p in steps.model.parameters())


def scaled_inputs(steps: Steps) -> bool:
    first = [next(iter(tensors_in(k.args)), None) for k in steps.kept]
    if any(t is None or not t.is_floating_point() or t.dim() != 2 for t in first):
        return False
    by = moments(torch.cat(first))  # type: ignore[arg-type]
    steps.given = lambda x: standardised(x, by)
    return far(by)


def scaled_targets(steps: Steps) -> bool:
    if any(k.function not in OF_NUMBERS for k in steps.kept):
        return False
    by = moments(torch.cat([k.target.flatten() for k in steps.kept]))
    steps.target = lambda t: standardised(t, by)
    return far(by)


def renewed_layers(steps: Steps) -> bool:
    return bool(renewed(steps.model, lambda p: torch.nn.init.normal_(p, std=spread(p))))


def training(steps: Steps) -> bool:
    changes = not all(m.training for m in steps.model.modules())
    steps.model.train()
    return changes


def given_right(steps: Steps) -> bool:
    if any(k.function not in GIVEN_RIGHT for k in steps.kept):
        return False
    with torch.no_grad():
        out = next(iter(tensors_in(steps.model(*steps.kept[0].args)))).reshape(steps.kept[0].shape)
    right = GIVEN_RIGHT[steps.kept[0].function]
    steps.prediction = lambda function, x: GIVEN_RIGHT[function](x)
    return right(out) is not out


TRIALS: dict[str, Callable[[Steps], bool]] = {
    "learning rate / 10": rated("learning rate / 10"), "learning rate / 100": rated("learning rate / 100"), "gradients clipped": clipped,
    "inputs standardised": scaled_inputs, "targets standardised": scaled_targets, "gradients cleared": cleared, "training mode": training,
    "loss given what it takes": given_right, "layers initialised anew": renewed_layers, "learning rate * 10": rated("learning rate * 10"),
    "learning rate * 100": rated("learning rate * 100"), "master weights": mastered,
}  # fmt: skip
