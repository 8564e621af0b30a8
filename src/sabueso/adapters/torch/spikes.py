"""Spikes: a loss far above those before it, and the rows of the batch that make it up.

Each step compares one number with the median of the last ones. Only at a spike the graph of the loss is read, before it is freed: the node
that reduced the rows to one number still holds predictions and targets.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from statistics import median
from typing import Any

import torch

from .lines import here
from .rows import frames_of
from .trace import is_plain
from .watch import Watch

PART = "spikes"
TIMES = 100.0  # the median: a heavy-tailed loss reaches some tens
RECENT = 51
FEWEST = 3
MOST_TOLD = 5
DEEP = 12  # nodes of the graph between the loss and what it reduces
MOST_VALUES = 2_000_000


class Spikes:
    """The last losses of each line that goes backward."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.recent: dict[Any, deque[float]] = {}
        self.told = 0

    def backward(self, tensors: tuple[Any, ...], _: Any) -> None:
        """Is this loss out of line?"""
        if self.told >= MOST_TOLD or len(tensors) != 1 or not torch.is_tensor(tensors[0]) or tensors[0].device.type != "cpu" or tensors[0].numel() != 1:
            return
        value = abs(float(tensors[0].detach()))
        line = here()
        recent = self.recent.setdefault(line, deque(maxlen=RECENT))
        if len(recent) >= FEWEST and not value <= TIMES * max(usual := median(recent), 1e-12) and value > 20 * max(recent):
            self.told += 1
            self.tell(tensors[0], value, usual, line)
        elif not recent or len(recent) < FEWEST:
            self.first(tensors[0], value, line)
        if math.isfinite(value):
            recent.append(value)

    def first(self, loss: Any, value: float, line: Any) -> None:
        """The first losses have nothing to be compared with but the rows of their own batch."""
        rows = reduced(loss)
        if rows is None or len(rows["terms"]) < 8:
            return
        terms = rows["terms"]
        usual = float(terms.median())
        if float(terms.max()) > 1e4 * max(usual, 1e-12) and float(terms.max()) > 0.99 * float(terms.sum()):
            self.told += 1
            self.tell(loss, value, usual, line)

    def tell(self, loss: Any, value: float, usual: float, line: Any) -> None:
        """Fact loss_spike."""
        told: dict[str, Any] = {"loss": value, "usual": usual, "backwards": self.watch.backwards}
        rows = reduced(loss)
        if rows is not None:
            terms = rows["terms"]
            order = torch.argsort(terms.nan_to_num(nan=float("inf")), descending=True)[:3].tolist()
            total = float(terms.sum())
            share = float(terms[order[0]]) / total if total > 0 and math.isfinite(total) else None
            told |= {"rows_in_batch": len(terms), "node": rows["node"], "top": order, "share": share, "median_term": float(terms.median())}
            for name in ("prediction", "target"):
                if rows[name] is not None:
                    values = rows[name].reshape(len(terms), -1)
                    told[name] = [float(v) for v in values[order[0]][:4]]
                    ends = torch.tensor([0.05, 0.95], dtype=torch.float64)
                    told[f"{name}_range"] = [float(v) for v in torch.quantile(values[:100_000, 0].double(), ends)]
            told |= self.located(rows, order[:1])
        self.recorder.fact("loss_spike", told, step=self.watch.step, stage="train", **(line.place if line else {}))

    def located(self, rows: dict[str, Any], positions: list[int]) -> dict[str, Any]:
        """Where these rows of the batch stand in the data as read."""
        finder = self.watch.parts.get("rows")
        tensors = {n: rows[n] for n in ("target",) if rows[n] is not None and rows[n].dim()}
        if finder is None or not tensors:
            return {}
        spot = finder.locate(tensors, positions, frames_of(sys._getframe(1)))
        return {"spot": spot.as_dict()} if spot is not None else {}


def reduced(loss: Any) -> dict[str, Any] | None:
    """What the loss is the mean or sum of: a term a row, and the prediction and target of the node that made the terms."""
    node = loss.grad_fn
    for _ in range(DEEP):
        if node is None:
            return None
        name = type(node).__name__
        terms, prediction, target = terms_of(node, name)
        if terms is not None and terms.dim() and 1 < terms.numel() <= MOST_VALUES:
            rows = terms.reshape(terms.shape[0], -1).abs().double().mean(1)
            return {"terms": rows, "prediction": prediction, "target": target, "node": name}
        node = next((n for n, _ in node.next_functions if n is not None and "AccumulateGrad" not in type(n).__name__), None)
    return None


def terms_of(node: Any, name: str) -> tuple[Any, Any, Any]:
    """(terms, prediction, target) that a node of the graph holds; (None, None, None) where it holds none."""
    if name.startswith(("MseLoss", "SmoothL1Loss", "HuberLoss", "L1Loss", "BinaryCrossEntropy")):
        prediction, target = saved(node, "self"), saved(node, "target")
        if prediction is None or target is None or prediction.shape != target.shape:
            return None, None, None
        difference = prediction.double() - target.double()
        return (difference.square() if name.startswith("Mse") else difference.abs()), prediction, target
    if name.startswith("NllLoss"):
        scores, target = saved(node, "self"), saved(node, "target")
        if scores is None or target is None or scores.dim() != 2:
            return None, None, None
        return -scores.gather(1, target.clamp(0, scores.shape[1] - 1)[:, None])[:, 0], None, target
    if name.startswith("Pow"):
        error = saved(node, "self")
        return (error.double().square(), None, None) if error is not None else (None, None, None)
    return None, None, None


def saved(node: Any, name: str) -> Any:
    """A tensor that a node kept for its backward, if it can be read at once."""
    tensor = getattr(node, f"_saved_{name}", None)
    return tensor.detach() if torch.is_tensor(tensor) and is_plain(tensor.detach()) else None


def install(watch: Watch) -> None:
    """Hang on every backward."""
    spikes = Spikes(watch)
    watch.parts[PART] = spikes
    if watch.recorder.wants("loss_spike"):
        watch.hang("on_backward", PART, spikes.backward)
