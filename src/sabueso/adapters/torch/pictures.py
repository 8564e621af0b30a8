"""Pictures: do those that a model is judged with lie as those that it learnt from do, or turned, mirrored, with their channels reversed?

Told by the mean picture: that of many pictures of one source is much the same from part to part, and no longer so once axes change places.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .identity import ByIdentity
from .lines import here
from .modules import Modules
from .rows import values_of
from .watch import Watch

PART = "pictures"
FEWEST = 64  # pictures of either kind
MOST = 2048
LEAST_SIDE = 6
LOOKS = 12  # calls of a model that are looked at
TURNS = {
    "height and width exchanged": lambda m: m.transpose(0, 2, 1),
    "top and bottom exchanged": lambda m: m[:, ::-1],
    "left and right exchanged": lambda m: m[:, :, ::-1],
    "turned by half": lambda m: m[:, ::-1, ::-1],
    "turned by a quarter": lambda m: m.transpose(0, 2, 1)[:, ::-1],
    "turned back by a quarter": lambda m: m.transpose(0, 2, 1)[:, :, ::-1],
    "the channels in reverse order": lambda m: m[::-1],
}


class Mean:
    """Sum of pictures, in two halves that tell how much a mean picture wobbles."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.halves, self.counts = np.zeros((2, *shape)), [0, 0]

    def add(self, pictures: np.ndarray) -> None:
        for k in (0, 1):
            self.halves[k] += pictures[k::2].sum(axis=0)
            self.counts[k] += len(pictures[k::2])

    @property
    def mean(self) -> np.ndarray:
        return self.halves.sum(axis=0) / max(sum(self.counts), 1)

    @property
    def steady(self) -> float:
        """How alike are the means of both halves?"""
        a, b = (h / max(n, 1) for h, n in zip(self.halves, self.counts))
        return alike(a, b)


class Pictures:
    """One a watch."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.modules: Modules = watch.parts["modules"]
        self.learnt = ByIdentity()
        self.asked: dict[Any, Mean] = {}  # by model and line
        self.looks = 0

    def trained(self, root: Any, inputs: Any, outputs: Any) -> None:
        """A sampled training step's pictures."""
        x, root = pictures_in(inputs), self.modules.root_of(root) or root
        if x is None:
            return
        held = self.learnt.get(root)
        if held is None or held.halves.shape[1:] != x.shape[1:]:
            held = Mean(x.shape[1:])
            self.learnt[root] = held
        if sum(held.counts) < MOST:
            held.add(x)

    def judged(self, root: Any, inputs: Any, outputs: Any) -> None:
        """Pictures that a model answers for without learning."""
        root = self.modules.root_of(root) or root
        held = self.learnt.get(root)
        if held is None or sum(held.counts) < FEWEST or self.looks >= LOOKS:
            return
        x, line = pictures_in(inputs), here()
        if x is None or x.shape[1:] != held.halves.shape[1:]:
            return
        mean = self.asked.setdefault((id(root), line), Mean(x.shape[1:]))
        mean.add(x)
        if sum(mean.counts) < FEWEST:
            return
        del self.asked[id(root), line]
        self.looks += 1
        as_given, turns = alike(held.mean, mean.mean), turned(held.mean, mean.mean)
        best = max(turns, key=lambda t: turns[t])
        value = {"model": self.modules.label(root), "as_given": as_given, "best": turns[best], "how": best, "steady": min(held.steady, mean.steady),
                 "learnt": sum(held.counts), "judged": sum(mean.counts), "shape": list(x.shape[1:])}  # fmt: skip
        self.recorder.fact("picture_layout", value, step=self.watch.step, stage="evaluate", module=value["model"], **(line.place if line else {}))


def alike(a: np.ndarray, b: np.ndarray) -> float:
    """Correlation of two pictures over all pixels."""
    a, b = a - a.mean(), b - b.mean()
    norm = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / norm if norm > 0 else 0.0


def turned(learnt: np.ndarray, judged: np.ndarray) -> dict[str, float]:
    """How alike they are after each turn of the second."""
    return {how: alike(learnt, t) for how, turn in TURNS.items() if (t := turn(judged)).shape == learnt.shape}


def pictures_in(inputs: Any) -> np.ndarray | None:
    """The one batch of pictures (rows, channels, height, width) among the inputs, in float32."""
    args = inputs[0] if isinstance(inputs, tuple) and len(inputs) == 2 and isinstance(inputs[1], dict) else inputs
    for x in args if isinstance(args, (tuple, list)) else [args]:
        if torch.is_tensor(x) and x.dim() == 4 and x.shape[1] <= 4 and min(x.shape[2:]) >= LEAST_SIDE and x.is_floating_point():
            values = values_of(x[:MOST].float())
            return values if values is not None and np.isfinite(values).all() else None
    return None


def install(watch: Watch) -> None:
    """Hang on the models' calls."""
    if watch.recorder.wants("picture_layout"):
        pictures = Pictures(watch)
        watch.hang("on_forward", PART, pictures.trained)
        watch.hang("on_evaluation", PART, pictures.judged)
