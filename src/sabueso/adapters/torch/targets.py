"""Targets: what a loss was asked to predict, and what the best constant would lose."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn import functional

from .lines import Line

CLASSES = frozenset({"cross_entropy", "nll_loss"})
BINARY = frozenset({"binary_cross_entropy", "binary_cross_entropy_with_logits"})
SQUARES = frozenset({"mse_loss"})
ABSOLUTE = frozenset({"l1_loss", "smooth_l1_loss", "huber_loss"})
KEPT = 4000  # values of a real target kept for its median
WIDEST = 4096  # columns of a target for which moments are held apart
NARROW, MOST_MOMENTS = 64, 96  # columns of a target whose batches are held apart too, and how many batches
LATE, WIDER = 32, 1.5  # rows of the later batches, and how much larger their variance about the common mean is


class Targets:
    """Targets of one loss call, gathered over sampled steps."""

    def __init__(self, function: str, call: dict[str, Any], line: Line | None) -> None:
        self.function, self.line = function, line
        self.settings = {k: call[k] for k in ("label_smoothing", "ignore_index", "beta", "delta") if call.get(k) is not None}
        self.by_row = call["reduction"] == "none"  # averaged by the program or its library (Keras): known by what goes backward
        self.summed = call["reduction"] == "sum"  # told as the mean of its terms: what goes backward is then some multiple of it
        self.plain = (self.by_row or call["reduction"] in ("mean", "sum", "scaled")) and not call["weights"]
        self.batches = self.count = self.terms = 0  # terms: of the last batch
        self.classes: torch.Tensor | None = None
        self.sum: torch.Tensor | None = None
        self.square: torch.Tensor | None = None
        self.values: list[float] = []
        self.moments: list[tuple[int, torch.Tensor, torch.Tensor]] = []  # of the single batches: rows, sums, sums of squares
        self.ratios: list[float] = []
        self.loss_line: Line | None = None
        self.made_line: Line | None = None  # of what went backward, where that is more than this call
        self.built: list[Any] | None = None  # where the loss's module was built
        self.own: list[float] = []  # what this call gave in the last sampled steps

    # ---- gathered

    def add(self, prediction: Any, target: Any) -> None:
        """One batch."""
        self.batches, self.terms = self.batches + 1, target.numel()
        if self.function in CLASSES and prediction.dim() > 1:
            self.add_classes(prediction, target)
        elif target.numel() and target.is_floating_point() and target.dim() < 6:
            rows = target.double().reshape(target.shape[0] if target.dim() > 1 else target.numel(), -1)
            rows = rows if rows.shape[1] <= WIDEST else rows.reshape(-1, 1)
            if self.sum is None or self.sum.shape[0] != rows.shape[1]:
                self.sum = self.square = torch.zeros(rows.shape[1], dtype=torch.float64)
                self.count, self.moments = 0, []
            total, square = rows.sum(0), rows.square().sum(0)
            if rows.shape[1] <= NARROW:
                self.moments = [*self.moments[1 - MOST_MOMENTS :], (rows.shape[0], total, square)]
            self.sum, self.square, self.count = self.sum + total, self.square + square, self.count + rows.shape[0]
            if rows.shape[1] == 1 and len(self.values) < KEPT:
                self.values += rows[:256, 0].tolist()

    def add_classes(self, prediction: Any, target: Any) -> None:
        width = prediction.shape[1]
        if target.is_floating_point():  # probabilities of classes
            counts = target.double().movedim(1, -1).reshape(-1, width).sum(0) if target.shape == prediction.shape else None
        else:
            labels = target.reshape(-1)
            labels = labels[(labels >= 0) & (labels < width) & (labels != self.settings.get("ignore_index", -100))]
            counts = torch.bincount(labels, minlength=width).double()
        if counts is None:
            return
        self.classes = counts if self.classes is None or len(self.classes) != width else self.classes + counts
        self.count, self.terms = int(self.classes.sum()), int(counts.sum())

    def part(self, loss: float, own: float, line: Line | None, parts: int) -> None:
        """The loss that went backward beside what this call gave it; a call that is but one of several parts says nothing."""
        self.loss_line, self.own = line, [*self.own[-2:], own]
        if parts == 1 and own and math.isfinite(loss) and math.isfinite(own):
            self.ratios.append(loss / own)
        else:
            self.plain = self.plain and parts == 1

    # ---- told

    def as_dict(self) -> dict[str, Any]:
        """The fact `targets`."""
        classes = None if self.classes is None else [int(c) for c in self.classes[:200]]
        low, high = (min(self.ratios), max(self.ratios)) if self.ratios else (None, None)
        value: dict[str, Any] = {
            "function": self.function, "count": self.count, "batches": self.batches, "classes": classes, "baseline": self.baseline(), "ratio": [low, high],
            "own": sum(self.own) / len(self.own) if self.own else None, "ratio_first": self.ratios[0] if self.ratios else None,
            "built": self.built,
            "made_line": self.made_line.told if self.made_line else None,
            "loss_line": self.loss_line.told if self.loss_line else None,
        }  # fmt: skip
        if self.sum is not None and self.count:
            mean = self.sum / self.count
            value |= {"mean": float(mean.mean()), "std": float(self.variance(mean).mean().clamp(min=0).sqrt()), "columns": len(mean)}
        return value

    def variance(self, mean: torch.Tensor) -> torch.Tensor:
        return self.square / self.count - mean.square()  # type: ignore[operator]

    def widens(self, mean: torch.Tensor) -> bool:
        """Do the targets of the later batches spread far wider than all together (a curriculum)? Then no one constant is the yardstick of the end."""
        if len(self.moments) < 4:
            return False
        late = self.moments[-max(1, len(self.moments) // 3) :]
        rows = sum(n for n, _, _ in late)
        about = sum(square - 2 * mean * total + n * mean.square() for n, total, square in late) / rows
        return rows >= LATE and float(about.mean()) > WIDER * float(self.variance(mean).mean())

    def baseline(self) -> float | None:
        """Mean loss of the best prediction that knows no input; None where it can't be told."""
        if not self.plain or not self.count or self.by_row and not (self.ratios and all(abs(r - 1) < 0.02 for r in self.ratios)):
            return None
        if self.function in CLASSES and self.classes is not None:
            share = self.classes / self.classes.sum()
            smooth = self.settings.get("label_smoothing") or 0.0
            share = (1 - smooth) * share + smooth / len(share)
            return float(-torch.special.xlogy(share, share).sum())
        if self.sum is None:
            return None
        mean = self.sum / self.count
        if self.function in BINARY:
            mean = mean.clamp(0, 1)
            return float(-(torch.special.xlogy(mean, mean) + torch.special.xlogy(1 - mean, 1 - mean)).mean())
        if self.function in SQUARES:
            return None if self.widens(mean) else float(self.variance(mean).mean())
        if self.function in ABSOLUTE and len(self.values) > 8:
            values = torch.tensor(self.values, dtype=torch.float64)
            return float(self.compute(values.median().expand_as(values), values))
        return None

    # ---- scored

    def compute(self, prediction: Any, target: Any) -> Any:
        """The loss itself."""
        keys = {"cross_entropy": ("label_smoothing", "ignore_index"), "nll_loss": ("ignore_index",), "smooth_l1_loss": ("beta",), "huber_loss": ("delta",)}
        return getattr(functional, self.function)(prediction, target, **{k: v for k, v in self.settings.items() if k in keys.get(self.function, ())})

    def score(self, output: Any, truth: Any) -> tuple[float, float | None, int] | None:
        """(mean loss, count of right answers or None, rows) of an evaluated batch; None if the two do not fit."""
        if not self.fits(output, truth):
            return None
        rows = output.shape[0]
        with torch.no_grad():
            if self.function in CLASSES:
                labels = truth.reshape(-1).long()
                flat = output.reshape(-1, output.shape[-1]) if output.dim() == 2 or labels.numel() == output.numel() // output.shape[-1] else None
                if flat is None or labels.numel() != flat.shape[0]:
                    return None
                return float(self.compute(flat.double(), labels)), float((flat.argmax(1) == labels).sum()), rows
            a, b = output.double().reshape(rows, -1), truth.double().reshape(rows, -1)
            right = None
            if self.function in BINARY:
                edge = 0.5 if self.function == "binary_cross_entropy" else 0.0
                right = float(((a > edge) == (b > 0.5)).double().mean(1).sum())
            return float(self.compute(a, b)), right, rows

    def fits(self, output: Any, truth: Any) -> bool:
        """Can that be the target of this output?"""
        shape, kind = getattr(truth, "shape", None), str(getattr(truth, "dtype", ""))
        if not isinstance(shape, tuple) or not callable(getattr(truth, "min", None)) or len(shape) == 0 or shape[0] != output.shape[0] or truth is output:
            return False
        if self.function in CLASSES:
            width = self.classes is not None and len(self.classes)
            fits = "int" in kind and output.dim() >= 2 and output.shape[-1] == width and math.prod(shape) == output.numel() // output.shape[-1]
            return bool(fits and 0 <= int(truth.min()) and int(truth.max()) < width)
        if "float" not in kind and not (self.function in BINARY and ("int" in kind or "bool" in kind)):
            return False
        if math.prod(shape) != output.numel():
            return False
        return self.function not in BINARY or (float(truth.min()) >= 0 and float(truth.max()) <= 1)
