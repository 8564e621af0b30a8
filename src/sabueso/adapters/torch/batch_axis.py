"""Batch axis: where the rows of the batch lie in each tensor between a model's input and the loss, and which operation tears or mixes them.

Followed by shapes alone, within one sampled step, and only as far as they are sure: where an operation could have put the rows elsewhere the
trail ends. A reshape keeps rows whole when the digit that counts them stays within one axis, or is cut out exactly.
"""

from __future__ import annotations

import math
from typing import Any

from .losses import SHAPING
from .trace import Made, Trace, tensors_in
from .watch import Watch

PART = "batch_axis"
RESHAPES = frozenset({"view", "reshape"})
MOVES = frozenset({"transpose", "permute", "T", "mT", "t", "movedim", "swapaxes", "swapdims", "moveaxis", "getitem", "select", "index_select", "flip"})
RECURRENT = frozenset({"lstm", "gru", "rnn_tanh", "rnn_relu"})
PRODUCTS = frozenset({"matmul", "bmm", "einsum", "baddbmm"})
BATCHED = frozenset({"matmul", "bmm"})  # of which all axes but the last two stay what they are
REDUCED = frozenset({"sum", "mean", "amax", "amin", "max", "min", "logsumexp", "squeeze", "select"})
WIDE = frozenset({"mul", "rmul", "multiply"})
MOST_STEPS = 8  # of which it is told


class BatchAxis:
    """The trail of the step in progress."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.trace: Trace = watch.parts["trace"]
        self.first: Made | None = None
        self.calls: list[tuple[Made, list[int]]] = []

    def clear(self) -> None:
        self.first, self.calls = None, []

    def forward(self, root: Any, inputs: Any, outputs: Any) -> None:
        """A model was called: its first input holds the rows."""
        first = next(iter(tensors_in(inputs)), None)
        if first is not None and first.dim() > 1 and self.first is None:
            self.first = self.trace.of(first)

    def loss_call(self, call: Any) -> None:
        """A loss: has every row its own target?"""
        self.calls.append((call.made, list(call.target.shape)))

    def backward(self, tensors: tuple[Any, ...], _: Any) -> None:
        """Follow the rows from the input to this loss."""
        first, calls = self.first, self.calls
        self.clear()
        if first is None or not calls or not self.watch.armed or self.watch.step > 64:
            return
        for tensor in tensors:
            loss = self.trace.of(tensor)
            leads = {id(m) for m in loss.ancestors()} if loss is not None else set()
            if any(id(made) in leads and shape[:1] == [first.shape[0]] for made, shape in calls) and id(first) in leads and first.shape[0] > 1:
                self.follow(first, leads)

    def follow(self, first: Made, leads: set[int]) -> None:
        """Walk the operations in their order."""
        rows, axes, torn = first.shape[0], {id(first): 0}, None
        order = [m for m in self.trace.order if id(m) in leads]
        for made in order:
            sources = [p for p in made.parents if id(p) in axes]
            if not sources or id(made) in axes:
                continue
            before = sources[0]
            if made.op in RESHAPES and not whole(before.shape, axes[id(before)], made.shape):
                torn = torn or (rows in made.shape and (before, made, axes[id(before)]))
                continue
            axis = placed(before, axes[id(before)], made, rows)
            if axis is not None:
                axes[id(made)] = axis
        if torn:
            self.torn(*torn, rows, order)
        for made in order:
            if made.op == "softmax" and made.module is not None and any(axes.get(id(p)) == made.dim for p in made.parents):
                self.across(made, order, axes, rows)

    def torn(self, before: Made, made: Made, axis: int, rows: int, order: list[Made]) -> None:
        """Fact batch_mixing: a reshape where axes had to be exchanged."""
        label, line = self.watch.parts["modules"].label, made.line
        user = next((m for m in order if m.number > made.number and m.module is not None and m.module is not made.module
                     and any(p is made for p in m.parents)), None)  # fmt: skip
        if line is None or not self.recorder.once("batch_mixing", "torn", line, self.watch.step):
            return
        module = (user or made).module
        value = {"how": "reshape", "op": made.op, "shape": list(before.shape), "result": list(made.shape), "axis": axis, "batch": rows,
                 "class": type(module).__name__ if module is not None else None}  # fmt: skip
        self.recorder.fact("batch_mixing", value, step=self.watch.step, stage="train", module=label(module) if module is not None else None, **line.place)

    def across(self, made: Made, order: list[Made], axes: dict[int, int], rows: int) -> None:
        """Fact softmax_dim: weights that sum to 1 over the rows of the batch, by which something is summed within each row."""
        pooled = summed(made, order, axes)
        if pooled is None or made.line is None or not self.recorder.once("softmax_dim", "pooled", made.line, self.watch.step):
            return
        value = {"operation": made.op, "shape": list(made.shape), "dim": made.dim, "used_by": [], "batch": rows, "rows": rows, "implicit": False,
                 "both_ways": False, "module_class": type(made.module).__name__, "pooled": pooled}  # fmt: skip
        self.recorder.fact("softmax_dim", value, step=self.watch.step, stage="train", module=self.watch.parts["modules"].label(made.module), **made.line.place)


def whole(shape: tuple[int, ...], axis: int, into: tuple[int, ...]) -> bool:
    """Does a reshape keep the rows that lie along an axis whole: their digit within one new axis, or cut out exactly?"""
    low = math.prod(shape[axis + 1 :])
    high = low * shape[axis]
    bounds = [math.prod(into[i:]) for i in range(len(into), -1, -1)]
    held = any(a <= low and high <= b and low % a == 0 for a, b in zip(bounds, bounds[1:]))
    return held or low in bounds and high in bounds


def placed(before: Made, axis: int, made: Made, rows: int) -> int | None:
    """The axis along which the rows lie in a result; None where that is not sure."""
    shape = before.shape
    if shape.count(rows) == 1 == made.shape.count(rows):
        return made.shape.index(rows)
    if made.op in RECURRENT and len(made.shape) == 3 == len(shape):
        kept = axis if made.shape[:2] == shape[:2] else 1
        return kept if made.shape[kept] == rows else None
    if made.op == "embedding":
        return axis
    if made.op == "einsum":
        return lettered(before, axis, made)
    if made.op in BATCHED and len(made.shape) == len(shape) >= 3 and axis < len(shape) - 2:
        return axis
    if made.op in REDUCED and isinstance(made.dim, int) and len(made.shape) == len(shape) - 1 and (over := made.dim % len(shape)) != axis:
        return axis - (over < axis)
    if made.op == "unsqueeze" and isinstance(made.dim, int):
        return axis + (made.dim % len(made.shape) <= axis)
    same = made.op not in MOVES and len(made.shape) == len(shape) and made.shape[:-1] == shape[:-1] and made.op not in PRODUCTS
    return axis if same and axis < len(shape) - 1 else None


def lettered(before: Made, axis: int, made: Made) -> int | None:
    """Where the letter of the rows' axis stands in the result of an einsum."""
    given, _, result = str(made.extra or "").replace(" ", "").partition("->")
    operands, place = given.split(","), next((i for i, p in enumerate(made.parents) if p is before), 0)
    if "." in given or place >= len(operands) or axis >= len(operands[place]):
        return None
    found = result.find(operands[place][axis])
    return found if found >= 0 else None


def summed(weights: Made, order: list[Made], axes: dict[int, int]) -> int | None:
    """The axis of the weights over which a sum is taken by them, where its result has the rows of the batch still."""
    known, products = {id(weights)}, set()
    for made in order:
        if made.number <= weights.number or id(made) not in axes:
            continue
        if any(id(p) in known for p in made.parents):
            others = any(id(p) in axes and id(p) not in known for p in made.parents)
            if made.op in PRODUCTS and others:
                return len(weights.shape) - 1 if weights.shape[-1] > 1 else len(weights.shape) - 2
            if made.op in WIDE and others:
                products.add(id(made))
            elif made.op in SHAPING:
                known.add(id(made))
        elif made.op in ("sum", "mean") and isinstance(made.dim, int) and any(id(p) in products for p in made.parents):
            over = made.dim % len(made.parents[0].shape)
            return over if over < len(weights.shape) and over != weights.dim and weights.shape[over] > 1 else None
    return None


def install(watch: Watch) -> None:
    """Hang on models, losses and the backward of sampled steps."""
    if not watch.recorder.wants("batch_mixing", "softmax_dim"):
        return
    axis = BatchAxis(watch)
    watch.hang("on_forward", PART, axis.forward)
    watch.hang("on_loss_call", PART, axis.loss_call)
    watch.hang("on_backward", PART, axis.backward, sampled=True)
    watch.hang("on_arm", PART, axis.clear)
    watch.hang("on_disarm", PART, axis.clear)
