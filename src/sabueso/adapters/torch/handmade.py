"""Hand-made losses: a mean of squares, a picked logarithm and their like, known for the loss functions that they are by their value.

In a sampled step every comparison of a prediction with data (a difference, a product with a logarithm, a pick by label) is kept until a single
number is made of it. If that number is what a known loss function gives for the two, to four digits, it is that function.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch.nn import functional

from .trace import Made, Trace, is_plain

MOST_PAIRS = 24  # comparisons kept in one step
MOST_VALUES = 400_000
NEAR = 80  # operations between a comparison and the number made of it
SAME = 1e-4  # relative difference of two values of one loss in float32
REDUCES = frozenset({"mean", "sum", "div", "truediv", "sqrt", "nanmean"})
LOGS = frozenset({"log", "log2", "log_softmax", "logsigmoid", "log1p"})
BEFORE_LOG = frozenset({"clamp", "clip", "add", "radd", "clamp_min"})
DIFFERENCES = ("mse_loss", "l1_loss", "smooth_l1_loss")


class Pair:
    """A comparison: how (difference, product, pick), both sides without their graph, and the record of its result."""

    def __init__(self, how: str, prediction: Any, target: Any, source: Made | None, made: Made) -> None:
        self.how, self.prediction, self.target, self.source, self.made = how, prediction.detach(), target.detach(), source, made


class Known:
    """What a number turned out to be: a loss function of a prediction and a target, and by how much the number is larger than its mean."""

    def __init__(self, function: str, prediction: Any, target: Any, source: Made | None, value: float, times: float) -> None:
        self.function, self.prediction, self.target, self.source, self.value, self.times = function, prediction, target, source, value, times


class Handmade:
    """The comparisons of the step in progress."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.pairs: list[Pair] = []

    def clear(self) -> None:
        self.pairs = []

    def see(self, name: str, args: Any, kwargs: Any, out: Any) -> Known | None:
        """One operation: keep a comparison, or know the number that was made of one."""
        if not torch.is_tensor(out):
            return None
        if name in REDUCES and out.numel() == 1 and self.pairs and is_plain(out):
            return self.known(out)
        if len(self.pairs) < MOST_PAIRS and len(args) > 1 and 1 < out.numel() <= MOST_VALUES and out.is_floating_point() and is_plain(out):
            self.compare(name, args, kwargs, out)
        return None

    # ---- comparisons

    def compare(self, name: str, args: Any, kwargs: Any, out: Any) -> None:
        """Is it one of a prediction with data?"""
        made = self.trace.of(out)
        if made is None:
            return
        if name in ("sub", "rsub", "mul", "rmul") and torch.is_tensor(args[0]) and torch.is_tensor(args[1]) and args[0].shape == args[1].shape:
            sides = [(t, self.trace.of(t)) for t in args[:2]]
            flows = [m is not None and (m.grad or m.lost and not made.grad) for _, m in sides]
            if flows[0] != flows[1] and not sides[flows[0]][0].requires_grad:
                (prediction, source), (target, _) = sides if flows[0] else sides[::-1]
                self.pairs.append(Pair("difference" if "sub" in name else "product", prediction, target, source, made))
        elif name in ("getitem", "gather", "take_along_dim") and torch.is_tensor(args[0]) and args[0].dim() == 2:
            source, labels = self.trace.of(args[0]), picked(name, args, kwargs, args[0].shape)
            if labels is not None and source is not None and (source.grad or source.lost):
                self.pairs.append(Pair("pick", args[0], labels, source, made))

    # ---- numbers

    def known(self, out: Any) -> Known | None:
        """The loss function that a number is the value of."""
        made = self.trace.of(out)
        value = float(out.detach())
        if made is None or not math.isfinite(value) or value == 0:
            return None
        before = list(made.ancestors(NEAR))
        near, log = {id(m) for m in before}, next((m for m in before if m.op in LOGS), None)
        for pair in self.pairs:
            if id(pair.made) not in near:
                continue
            for function, prediction, target, source in readings(pair, log):
                own = mean_loss(function, prediction, target)
                times = value / own if own else math.nan
                if any(abs(abs(times) - scale) <= SAME * scale for scale in scales(function, prediction)):
                    self.pairs.remove(pair)
                    return Known(function, prediction, target, source, own, times)
        return None


def picked(name: str, args: Any, kwargs: Any, shape: Any) -> Any:
    """The labels by which one number a row is picked out of a table, else None."""
    index = args[1] if name == "getitem" else kwargs.get("index", args[-1] if name == "take_along_dim" or len(args) < 3 else args[2])
    if name == "getitem":
        if not isinstance(index, tuple) or len(index) != 2 or not all(torch.is_tensor(i) for i in index):
            return None
        rows, index = index
        if rows.dim() != 1 or len(rows) != shape[0] or not torch.equal(rows, torch.arange(shape[0], dtype=rows.dtype, device=rows.device)):
            return None
    fits = torch.is_tensor(index) and is_plain(index) and not index.is_floating_point() and index.dtype != torch.bool and index.numel() == shape[0] > 1
    return index.detach().reshape(-1).long() if fits else None


def readings(pair: Pair, log: Made | None) -> Iterator[tuple[str, Any, Any, Made | None]]:
    """What a comparison can be part of: (loss function, prediction, target, record of the prediction); `log` is the last logarithm taken."""
    p, y, source = pair.prediction, pair.target, pair.source
    if pair.how == "difference":
        yield from ((f, p, y.to(p.dtype), source) for f in DIFFERENCES)
        return
    logged = source is not None and source.op in LOGS
    if pair.how == "pick":
        if float(y.min()) < 0 or int(y.max()) >= p.shape[1]:
            return
        yield "nll_loss", p, y, source
        if not logged and log is not None and float(p.min()) >= 0:  # picked first: the logarithm was taken of what was picked
            yield "nll_loss", p.clamp(min=1e-12).log(), y, log
        return
    if not y.is_floating_point() and y.dtype not in (torch.bool, torch.long, torch.int) or float(y.min()) < 0 or float(y.max()) > 1:
        return
    y = y.to(p.dtype)
    yield "binary_cross_entropy_with_logits", p, y, source
    if logged and float(p.max()) <= 0:
        yield "binary_cross_entropy", p.exp().clamp(0, 1), y, below_log(source)
        if p.dim() == 2 and p.shape[1] > 1:
            yield "cross_entropy", p, y, source


def below_log(source: Made | None) -> Made | None:
    """What the logarithm was taken of, through the small number that keeps it from 0."""
    made = source.parents[0] if source is not None and source.parents else None
    while made is not None and made.op in BEFORE_LOG and made.parents:
        made = made.parents[0]
    return made


def mean_loss(function: str, prediction: Any, target: Any) -> float:
    """The loss function's mean, NaN where it does not take them."""
    with torch.no_grad():
        try:
            return float(getattr(functional, function)(prediction, target))
        except (RuntimeError, ValueError, IndexError):
            return math.nan


def scales(function: str, prediction: Any) -> list[float]:
    """By what a number may be larger than the mean and still be that loss: sums over columns, rows or all, and their halves."""
    rows = float(prediction.shape[0])
    whole = {1.0, rows} if function in ("nll_loss", "cross_entropy") else {1.0, rows, prediction.numel() / rows, float(prediction.numel())}
    return sorted(whole | ({s / 2 for s in whole} if function == "mse_loss" else set()))
