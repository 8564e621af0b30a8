"""What an intervention does to a tensor or a module of torch, the same on a copy at the end of a run and in a second run.

Nothing is imported for it: tensors and modules bring what is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OF_NUMBERS = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")  # losses whose targets have a scale
HARDLY = 1e-8  # of the mean: a deviation below is rounding


def moments(x: Any) -> tuple[Any, Any]:
    """Mean and deviation: by column in tables, as a whole in anything else; 1 where there is no deviation."""
    mean, std = (x.mean(0), x.std(0)) if x.dim() == 2 else (x.mean(), x.std())
    return mean.detach(), std.where(std > HARDLY * mean.abs().clamp(min=1e-12), std.new_ones(())).detach()


def standardised(x: Any, by: tuple[Any, Any]) -> Any:
    return (x - by[0]) / by[1]


def renewed(module: Any, draw: Callable[[Any], Any]) -> int:
    """Each layer by its own initialiser, and `draw` for matrices that were made by hand; how many were renewed."""
    count = 0
    for layer in module.modules():
        if hasattr(layer, "reset_parameters"):
            layer.reset_parameters()
            count += 1
            continue
        for p in [p for p in layer.parameters(recurse=False) if p.dim() > 1]:
            draw(p)
            count += 1
    return count


def spread(p: Any) -> float:
    """The deviation with which a matrix made by hand is drawn: that which keeps the size of what it sums."""
    return float(max(p.shape) ** -0.5)


def shares(x: Any) -> bool:
    """Are these probabilities over the second axis?"""
    return x.dim() > 1 and bool((x >= 0).all()) and bool(((x.sum(1) - 1).abs() < 1e-3).all())


def unit(x: Any) -> bool:
    """Are all values probabilities?"""
    return bool((x >= 0).all() and (x <= 1).all())


# loss -> its input as it takes it: logits, logarithms or probabilities, as far as the values show that it is something else
GIVEN_RIGHT: dict[str, Callable[[Any], Any]] = {
    "cross_entropy": lambda x: x.clamp(min=1e-9).log() if shares(x) else x,
    "nll_loss": lambda x: x.clamp(min=1e-9).log() if shares(x) else x if float(x.exp().sum(1).log().abs().max()) < 1e-2 else x.log_softmax(1),
    "binary_cross_entropy_with_logits": lambda x: x.logit(1e-6) if unit(x) else x,
    "binary_cross_entropy": lambda x: x if unit(x) else x.sigmoid(),
}


class Masters:
    """Each weight in half precision with a master in float32, on which the optimizer steps."""

    def __init__(self) -> None:
        self.held: dict[int, Any] = {}
        self.swapped: list[tuple[Any, Any]] = []

    def before(self, optimizer: Any) -> int:
        """Masters take the place of the weights for the time of a step; how many."""
        for p in [p for g in optimizer.param_groups for p in g["params"] if p.grad is not None and p.is_floating_point() and p.element_size() == 2]:
            master, grad, half = self.held.get(id(p)), p.grad, p.dtype
            if master is None or not bool((master.to(half) == p.data).all()):
                master = p.data.float()
            p.grad = None
            p.data = master
            p.grad = grad.float()
            self.swapped.append((p, half))
        return len(self.swapped)

    def after(self) -> None:
        """The weights are their masters, rounded."""
        for p, half in self.swapped:
            master, grad = p.data, p.grad
            p.grad = None
            self.held[id(p)], p.data = master, master.to(half)
            p.grad = grad.to(half) if grad is not None else None
        self.swapped = []
