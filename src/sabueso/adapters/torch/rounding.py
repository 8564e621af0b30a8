"""Rounding: what half precision loses on sampled steps, and the line that asked for it.

Two losses are told by themselves. A gradient below the smallest normal float16 (2^-14) is a whole multiple of 2^-24 or nothing; one that an
autocast region made is widened to float32 afterwards, but stays such a multiple. And a step that is smaller than half the spacing of a
weight's format leaves the weight as it was. A scaler of mixed precision prevents the first, master weights in float32 the second.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from ...capture.kernel import HIGH, LOW
from ...places import Place
from .lines import Line, here
from .naming import parameter_names
from .statistics import some
from .watch import Watch

PART = "rounding"
HALVES = (torch.float16, torch.bfloat16)
SERIES = ("updates_lost", "gradients_underflown")
NORMAL, STEP = 2.0**-14, 2.0**24  # the smallest normal float16; one by the distance between the numbers below it


class Rounding:
    """One a watch; called by the statistics of a step, which has the tensors at hand."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.series: dict[tuple[int, int], tuple[int | None, ...]] = {}
        self.lost: list[float] = []  # of sampled steps: share of all elements with a gradient that were left as they were
        self.asked: dict[str, Line | None] = {}  # by how: the first line that asked for half precision

    # ---- who asked for it

    def converted(self, _: Any, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """half(), bfloat16() or to() of a module returned."""
        if "module" not in self.asked and any(p.dtype in HALVES for p in module.parameters()):
            self.asked["module"] = here()

    def autocast(self, _: Any, __: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """An autocast region was made."""
        if "autocast" not in self.asked and getattr(args[0], "fast_dtype", None) == torch.float16:
            self.asked["autocast"] = here()

    # ---- what it cost

    def step(self, held: Any, tensors: list[Any], before: list[Any], grads: np.ndarray) -> None:
        """The tensors of an optimizer after a step; `before` holds (some of) their elements from before it."""
        float16, pairs, shares = "autocast" in self.asked, [], []
        for i, tensor in enumerate(tensors):
            lost = lost_share(tensor, before[i]) if tensor.dtype in HALVES else None
            if lost is not None:
                shares.append((lost, tensor.numel()))
            made_half = tensor.dtype == torch.float16 or float16 and tensor.dtype == torch.float32
            gone = gone_share(tensor.grad) if made_half and max(-grads[i, LOW], grads[i, HIGH]) < NORMAL else None
            if lost is not None or gone is not None:
                pairs += [(n, v) for n, v in zip(self.numbers(held, i, tensor), (lost, gone), strict=True) if n is not None and v is not None]
        if shares:
            self.lost.append(sum(v * n for v, n in shares) / sum(n for _, n in shares))
        if pairs:
            self.recorder.points(self.watch.step, pairs)
            self.tell(tensors)

    def most_lost(self) -> float:
        """The share that is lost in the median sampled step; 0 where nothing lies in half precision."""
        return sorted(self.lost)[len(self.lost) // 2] if self.lost else 0.0

    def numbers(self, held: Any, index: int, tensor: Any) -> tuple[int | None, ...]:
        """The series of one tensor."""
        known = self.series.get((held.number, index))
        if known is None:
            module, path = parameter_names(self.watch, held).get(id(tensor), (None, f"parameter {index}"))
            place = Place(stage="train", module=module, tensor=path, estimator=held.name)
            known = self.series[held.number, index] = tuple(self.recorder.series(n, place) for n in SERIES)
        return known

    def tell(self, tensors: list[Any]) -> None:
        """Fact half_precision, once: how the program came to it and where."""
        how = "module" if any(t.dtype in HALVES for t in tensors) else "autocast"
        if self.recorder.once("half_precision", how):
            line = self.asked.get(how)
            dtypes = sorted({str(t.dtype).removeprefix("torch.") for t in tensors})
            place = Place(stage="train", **(line.place if line else {}))
            value = {"how": how, "dtypes": dtypes}
            self.recorder.fact("half_precision", value, file=place.file or "", line=place.line, stage="train")


def lost_share(tensor: Any, before: Any) -> float | None:
    """Of the elements with a gradient, the share that the step left as they were; None where none has one."""
    if tensor.grad is None or not tensor.grad.is_cpu or tensor.grad.is_sparse:
        return None
    moving = some(tensor.grad) != 0
    count = int(moving.sum())
    return int(((some(tensor) == before) & moving).sum()) / count if count else None


def gone_share(gradient: Any) -> float | None:
    """The share of zeros in a gradient that lies wholly below the normal numbers of float16 and in its steps; None for any other."""
    if gradient is None or not gradient.is_cpu or gradient.is_sparse:
        return None
    values = some(gradient).double()
    whole = values * STEP
    return float((values == 0).double().mean()) if bool((whole == whole.round()).all()) else None


def install(watch: Watch) -> None:
    """Hear who asks for half precision; the numbers come from the statistics of a step."""
    if not watch.recorder.wants(*SERIES, "half_precision"):
        return
    rounding = Rounding(watch)
    watch.parts[PART] = rounding
    for name in ("half", "bfloat16"):
        watch.around(PART, nn.Module, name, None, rounding.converted)
    watch.around(PART, torch.amp.autocast_mode.autocast, "__init__", None, rounding.autocast)
