"""Inputs: what a model is given in sampled steps: shape, dtype, range, and by column; and how much of it is padding."""

from __future__ import annotations

from typing import Any

import torch

from .lines import here
from .modules import Modules
from .trace import is_plain, tensors_in
from .watch import Watch

PART = "inputs"
TIMES = 6  # how often a model's inputs are told
MOST_VALUES = 400_000
MOST_COLUMNS = 200


class Inputs:
    """Describes inputs at the root's call and at the first parametrised layer below it."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.modules: Modules = watch.parts["modules"]
        self.told: dict[int, int] = {}

    def forward(self, root: Any, inputs: Any, outputs: Any) -> None:
        """A model was called in a sampled step."""
        root = self.modules.root_of(root) or root
        count = self.told[id(root)] = self.told.get(id(root), 0) + 1
        if count > TIMES:
            return
        line = here()
        for position, tensor in enumerate(tensors_in(inputs)[:4]):
            value = {"model": self.modules.label(root), "class": type(root).__name__, "position": position, **summary(tensor)}
            self.recorder.fact("model_input", value, step=self.watch.step, stage="train", module=value["model"], **(line.place if line else {}))


def summary(tensor: Any) -> dict[str, Any]:
    """Shape, dtype, range and moments of an input; by column where it is a table, by channel where it is pictures."""
    value: dict[str, Any] = {"shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch."), "grad": bool(tensor.requires_grad)}
    if not is_plain(tensor) or not tensor.numel() or tensor.is_complex():
        return value
    x = tensor.detach()
    if x.dim() and x.numel() > MOST_VALUES:
        x = x[: max(1, MOST_VALUES * x.shape[0] // x.numel())]
    low, high = torch.aminmax(x.reshape(-1))
    x64 = x.double()
    value |= {"low": low.item(), "high": high.item(), "mean": x64.mean().item(), "std": x64.std(correction=0).item(), "zeros": (x == 0).double().mean().item()}
    if x.is_floating_point():
        value["whole"] = bool((x == x.round()).all())
        if x.dim() == 2 and x.shape[1] <= MOST_COLUMNS and x.shape[0] > 1:
            value["columns"] = {"mean": x64.mean(0).tolist(), "std": x64.std(0, correction=0).tolist()}
    elif x.dim() == 2 and x.dtype in (torch.int64, torch.int32):
        value |= padding(x)
    return value


def padding(ids: Any) -> dict[str, Any]:
    """Of a batch of token numbers: the value that fills the ends of rows, its share, and the longest row without it."""
    last = ids[:, -1]
    pad = int(last.mode().values)
    tail = (ids == pad).flip(1).int().cumprod(1).sum(1)  # how many of it at each row's end
    head = (ids == pad).int().cumprod(1).sum(1)
    side = tail if int(tail.sum()) >= int(head.sum()) else head
    lengths = ids.shape[1] - side
    return {"pad": pad, "pad_share": float(side.sum()) / ids.numel(), "padded_rows": float((side > 0).double().mean()), "longest": int(lengths.max()),
            "median_length": float(lengths.double().median()), "side": "end" if side is tail else "start"}  # fmt: skip


def install(watch: Watch) -> None:
    """Hang on the models' calls of sampled steps."""
    watch.hang("on_forward", PART, Inputs(watch).forward)
