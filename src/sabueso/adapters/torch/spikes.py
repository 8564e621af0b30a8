"""Spikes: a loss far above those before it, and the rows of the batch that make it up.

Only at a spike the graph of the loss is read, before it is freed: the node
that reduced the rows to one number still holds predictions and targets.
"""

from __future__ import annotations

import math
import sys
from statistics import median
from typing import Any

import numpy as np
import torch

from .rows import frames_of, held
from .trace import is_plain
from .watch import Watch

PART = "spikes"
TIMES = 100.0  # the median: a heavy-tailed loss reaches some tens
FEWEST = 3
MOST_TOLD = 5
DEEP = 12  # nodes of the graph between the loss and what it reduces
MOST_VALUES = 2_000_000
MOST_NODES = 4000
FAR = 100.0  # spreads (of 98 in 100 values) from the median: no heavy tail that a model is trained on bare reaches that by one value alone


class Spikes:
    """Asked of the losses that steps.py finds out of line."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.told = 0

    def odd(self, loss: Any, losses: Any) -> None:
        """Is this loss a spike?"""
        if self.told >= MOST_TOLD or self.watch.loss is None:
            return
        value, line = abs(self.watch.loss), losses.line
        if len(losses.values) < FEWEST:
            self.first(loss, value, line)
        elif value > TIMES * max(usual := median(losses.values), 1e-12):
            self.told += 1
            self.tell(loss, value, usual, line)

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
            rows["input"] = given(loss, len(terms))
            if rows["input"] is not None and rows["input"].dim() == 2:
                told |= extreme(rows["input"].double(), order[0])
            for name in ("prediction", "target"):
                if rows[name] is not None:
                    values = rows[name].reshape(len(terms), -1)
                    told[name] = [float(v) for v in values[order[0]][:4]]
                    ends = torch.tensor([0.05, 0.95], dtype=torch.float64)
                    told[f"{name}_range"] = [float(v) for v in torch.quantile(values[:100_000, 0].double(), ends)]
            told |= self.located(rows, order[:1])
        self.recorder.fact("loss_spike", told, step=self.watch.step, stage="train", **(line.place if line else {}))

    def located(self, rows: dict[str, Any], positions: list[int]) -> dict[str, Any]:
        """Where these rows of the batch stand in the data as read, and in which column the outlier is."""
        finder, frames = self.watch.parts.get("rows"), frames_of(sys._getframe(1))
        tensors = {n: rows[n] for n in ("target", "input") if rows[n] is not None and rows[n].dim()}
        spot = None
        for names in (("input", "target"), ("target",)) if finder is not None else ():
            part = {n: tensors[n] for n in names if n in tensors}
            spot = spot or (finder.locate(part, positions, frames) if part else None)
        told = spot.as_dict() if spot is not None else {}
        if (far := outlier(frames)) is not None and (not told or told["rows"] == [far["row"]]):
            told = {"rows": [far["row"]], "array": told.get("array"), "table": told.get("table") or far["table"], **told, "column": far["column"]}
            told["value"], told["others"] = far["value"], far["others"]
        return {"spot": told} if told else {}


def outlier(frames: list[Any]) -> dict[str, Any] | None:
    """The one column of the tables at hand with a value far beyond all others, where there is but one such value."""
    found = []
    for array in held(frames):
        if array.column is None or array.values.dtype.kind not in "fi" or not 20 <= len(array.values) <= MOST_VALUES:
            continue
        values = array.values.astype(float)
        values = values[np.isfinite(values)]
        middle = np.median(values) if len(values) else 0.0
        low, high = np.quantile(values, [0.01, 0.99]) if len(values) else (0.0, 0.0)
        off = np.abs(values - middle)
        if high > low and len(values) == len(array.values) and off.max() > FAR * (high - low) and (off > FAR * (high - low)).sum() == 1:
            at = int(np.argmax(off))
            found.append({"column": array.column, "row": at, "table": array.name, "value": float(values[at]), "others": [float(low), float(high)]})
    same = {(f["column"], f["value"]) for f in found}
    return max(found, key=lambda f: f["row"]) if len(same) == 1 else None


def given(loss: Any, rows: int) -> Any:
    """The rows that the first layer was given, as a node of the graph keeps them."""
    queue, seen = [loss.grad_fn], set()
    for node in queue:
        name = type(node).__name__
        for kind, field, edge in (("Addmm", "mat1", 1), ("Mm", "self", 0), ("Convolution", "input", 0)):
            if name.startswith(kind) and len(node.next_functions) > edge and node.next_functions[edge][0] is None:
                tensor = saved(node, field)
                if tensor is not None and tensor.dim() and tensor.shape[0] == rows:
                    return tensor
        for after, _ in node.next_functions:
            if after is not None and id(after) not in seen and len(seen) < MOST_NODES:
                seen.add(id(after))
                queue.append(after)
    return None


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


def extreme(batch: Any, row: int) -> dict[str, Any]:
    """The input column in which a row lies farthest from the others of its batch, in spreads of nine rows in ten."""
    ends = torch.quantile(batch[:4096, :2000], torch.tensor([0.05, 0.5, 0.95], dtype=torch.float64), dim=0)
    off = (batch[row, :2000] - ends[1]).abs() / (ends[2] - ends[0]).clamp(min=1e-12)
    at = int(off.argmax())
    return {"input_column": at, "input": float(batch[row, at]), "input_range": [float(ends[0, at]), float(ends[2, at])], "input_off": float(off[at])}


def saved(node: Any, name: str) -> Any:
    """A tensor that a node kept for its backward, if it can be read at once."""
    tensor = getattr(node, f"_saved_{name}", None)
    return tensor.detach() if torch.is_tensor(tensor) and is_plain(tensor.detach()) else None


def install(watch: Watch) -> None:
    """Hang on losses that are out of line."""
    spikes = Spikes(watch)
    watch.parts[PART] = spikes
    if watch.recorder.wants("loss_spike"):
        watch.hang("on_odd_loss", PART, spikes.odd)
