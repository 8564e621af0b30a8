"""Neighbours: how much of a loss the nearest rows of the training data alone would get rid of, as a yardstick for what a model learns.

Rows and targets of sampled steps are kept (a few hundred); at the end each row is predicted from its nearest neighbours, itself left out.
Where there are but a handful of rows (the four of XOR), they are to be learnt by heart, and their number is the fact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...capture import agreement
from .lines import Line
from .targets import ABSOLUTE, BINARY, CLASSES, SQUARES
from .trace import is_plain, tensors_in
from .watch import Watch

PART = "neighbours"
MOST_ROWS = 600
LEAST_ROWS = 150
BY_HEART = (4, 32)  # rows that any net with a hidden layer can learn by heart
SEEN = 4  # batches without a new row, before these are taken to be all
MOST_WIDTH = 4096
MOST_COLUMNS = 16  # of a target
NEAR = 15
PRIOR = 0.5  # counted beforehand for every class


class Neighbours:
    """Rows and targets of the first loss that has one target a row."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.inputs: Any = None
        self.function, self.line = "", None
        self.rows: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
        self.step = 0  # at which the first rows were taken
        self.batches, self.new, self.conflict = 0, 0, False  # looked at, the last that had a new row, one row with two targets
        self.closed = False  # another training has begun: its targets may be others

    def forward(self, root: Any, inputs: Any, outputs: Any) -> None:
        """What the model was given."""
        first = next(iter(tensors_in(inputs)), None)
        fits = first is not None and is_plain(first) and not first.requires_grad and first.dim() > 1 and not first.is_complex()
        fits = fits and first.numel() <= MOST_WIDTH * max(1, first.shape[0]) and first.element_size() >= 2
        self.inputs = first.detach() if fits and self.inputs is None else None

    def loss_call(self, call: Any) -> None:
        """What it should have answered."""
        inputs, self.inputs = self.inputs, None
        line: Line | None = call.made.line
        if inputs is None or self.watch.evaluating or self.closed or len(self.rows) >= MOST_ROWS or call.function not in CLASSES | BINARY | SQUARES | ABSOLUTE:
            return
        target, rows = call.target, inputs.shape[0]
        if self.function and (self.function, self.line) != (call.function, line) or not is_plain(target) or target.requires_grad:
            return
        if target.numel() % rows or target.numel() // rows > MOST_COLUMNS or target.element_size() == 2 or target.shape[:1] != inputs.shape[:1]:
            return
        if call.function in CLASSES and (target.is_floating_point() or target.dim() > 1) or call.value["weights"]:
            return
        if not self.function:
            self.function, self.line, self.step = call.function, line, self.watch.step
        step = max(1, rows // MOST_ROWS)
        given, wanted = wide(inputs[::step]).reshape(-1, inputs[0].numel()).numpy(), target.detach()[::step].reshape(len(inputs[::step]), -1).numpy()
        self.batches += 1
        for x, y in zip(given[:MOST_ROWS], wanted[:MOST_ROWS], strict=False):
            known = self.rows.get(x.tobytes())
            if known is None:
                self.rows[x.tobytes()], self.new = (x.copy(), y.astype(np.float64)), self.batches
            elif len(self.rows) <= BY_HEART[1]:
                self.conflict = self.conflict or not np.array_equal(known[1], y)

    def begins(self, held: Any) -> None:
        """A new optimizer."""
        self.closed = self.closed or bool(self.rows)

    def clear(self) -> None:
        self.inputs = None

    def last_words(self) -> None:
        """Facts `learnable` and `few_rows`."""
        kept = list(self.rows.values())[:MOST_ROWS]
        kept = [(x, y) for x, y in kept if x.shape == kept[0][0].shape and y.shape == kept[0][1].shape]  # several nets may share one loss
        if BY_HEART[0] <= len(kept) <= BY_HEART[1] and self.batches - self.new >= SEEN and not self.conflict and len({tuple(y) for _, y in kept}) > 1:
            value = {"function": self.function, "rows": len(kept), "batches": self.batches}
            self.recorder.fact("few_rows", value, stage="train", step=self.step, **(self.line.place if self.line else {}))
        if len(kept) < LEAST_ROWS or self.function in ABSOLUTE or kept[0][0].dtype.kind != "f":  # numbers of words have no neighbours
            return
        x, y = (np.stack(part) for part in zip(*kept, strict=True))
        features = agreement.prepared(x)
        if features.shape[1] == 0:
            return
        near = agreement.neighbours(features, features, NEAR, same=True)
        binary = self.function in BINARY
        if binary and (y.shape[1] > 1 or not np.isin(y, (0, 1)).all()):
            return
        share = of_classes(y[:, 0].astype(int), near) if binary or self.function in CLASSES else of_numbers(y, near)
        if share is not None:
            value = {"function": self.function, "rows": len(x), "width": x.shape[1], "share": share, "neighbours": NEAR}
            self.recorder.fact("learnable", value, stage="train", step=self.step, **(self.line.place if self.line else {}))


def wide(tensor: Any) -> Any:
    """NumPy has no bfloat16."""
    return tensor.float() if tensor.element_size() == 2 else tensor


def of_classes(y: np.ndarray, near: np.ndarray) -> float | None:
    """The share of the labels' entropy that neighbours' counts get rid of."""
    if y.min() < 0:
        return None
    levels, codes = np.unique(y, return_inverse=True)
    counts = np.bincount(codes)
    if len(levels) < 2 or len(levels) > 60:
        return None
    share = counts / counts.sum()
    votes = (codes[near] == codes[:, None]).sum(1)
    loss = -np.log((votes + PRIOR) / (near.shape[1] + PRIOR * len(levels))).mean()
    entropy = float(-(share * np.log(share)).sum())
    return float(1 - loss / entropy) if entropy > 0.05 else None


def of_numbers(y: np.ndarray, near: np.ndarray) -> float | None:
    """The share of the targets' variance that neighbours' means get rid of."""
    variance = float(y.var(axis=0).mean())
    return float(1 - ((y[near].mean(axis=1) - y) ** 2).mean() / variance) if variance > 1e-12 else None


def install(watch: Watch) -> None:
    """Hang on the calls of models and losses in sampled steps."""
    if not watch.recorder.wants("learnable") and not watch.recorder.wants("few_rows"):
        return
    neighbours = Neighbours(watch)
    watch.hang("on_forward", PART, neighbours.forward)
    watch.hang("on_loss_call", PART, neighbours.loss_call)
    watch.hang("on_optimizer", PART, neighbours.begins)
    watch.hang("on_disarm", PART, neighbours.clear)
    watch.recorder.at_exit(watch.guard(PART)(neighbours.last_words))
