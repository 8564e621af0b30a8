"""Changes of what a loss or a softmax is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..remedies import GIVEN_RIGHT, OF_NUMBERS

PAIRWISE = (*OF_NUMBERS, "binary_cross_entropy", "binary_cross_entropy_with_logits")


def replaced(torch: Any, names: tuple[str, ...], make: Callable[[str, Any], Any]) -> None:
    """Put another function in the place of each of torch.nn.functional."""
    f = torch.nn.functional
    for name in names:
        setattr(f, name, make(name, getattr(f, name)))


def given_right(change: Any, torch: Any) -> None:
    """Losses get what they take, as far as their input's values show that it is something else."""

    def make(name: str, call: Any) -> Any:
        def loss(input: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
            new = GIVEN_RIGHT[name](input)
            if new is not input:
                change.applied()
            return call(new, target, *args, **kwargs)

        return loss

    replaced(torch, tuple(GIVEN_RIGHT), make)


def reshaped(change: Any, torch: Any) -> None:
    """The target in the shape of the prediction, where both have as many values."""

    def make(name: str, call: Any) -> Any:
        def loss(input: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
            if input.shape != target.shape and input.numel() == target.numel():
                change.applied()
                target = target.reshape(input.shape)
            return call(input, target, *args, **kwargs)

        return loss

    replaced(torch, PAIRWISE, make)
    for owner, names in ((torch.Tensor, ("__sub__", "__rsub__", "sub")), (torch, ("sub", "subtract"))):
        for name in names:
            setattr(owner, name, by_hand(change, torch, getattr(owner, name)))


def standardised(change: Any, torch: Any) -> None:
    """Targets of a loss of numbers by the moments of the first batch."""
    moments: list[Any] = []

    def make(name: str, call: Any) -> Any:
        def loss(input: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
            if not moments and target.numel() > 1 and float(target.std()) > 0:
                moments.extend((target.mean().detach(), target.std().detach()))
            if moments and target.is_floating_point():
                change.applied()
                target = (target - moments[0]) / moments[1]
            return call(input, target, *args, **kwargs)

        return loss

    replaced(torch, OF_NUMBERS, make)


def within_unit(change: Any, torch: Any) -> None:
    """Targets of a binary cross-entropy by the largest of the first batch that has one above 1."""
    largest: list[Any] = []

    def make(name: str, call: Any) -> Any:
        def loss(input: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
            if not largest and float(target.max()) > 1:
                largest.append(target.max().detach())
            if largest:
                change.applied()
                target = (target / largest[0]).clamp(0, 1)
            return call(input, target, *args, **kwargs)

        return loss

    replaced(torch, ("binary_cross_entropy", "binary_cross_entropy_with_logits"), make)


def by_hand(change: Any, torch: Any, call: Any) -> Any:
    """A difference written out: at the line of the finding both sides get one shape."""

    def difference(self: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
        if torch.is_tensor(other) and self.shape != other.shape and self.numel() == other.numel() > 1 and change.here():
            change.applied()
            other = other.reshape(self.shape)
        return call(self, other, *args, **kwargs)

    return difference


def in_range(change: Any, torch: Any) -> None:
    """Labels that no class has do not count."""

    def make(name: str, call: Any) -> Any:
        def loss(input: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
            if not target.is_floating_point() and input.dim() > 1:
                ignored = kwargs.get("ignore_index", -100)
                wrong = ((target < 0) | (target >= input.shape[1])) & (target != ignored)
                if bool(wrong.any()):
                    change.applied()
                    target = target.masked_fill(wrong, ignored)
            return call(input, target, *args, **kwargs)

        return loss

    replaced(torch, ("cross_entropy", "nll_loss"), make)


def over_classes(change: Any, torch: Any) -> None:
    """A softmax over the first axis at the line of the finding runs over the last one."""

    def make(name: str, call: Any) -> Any:
        def softmax(input: Any, dim: Any = None, *args: Any, **kwargs: Any) -> Any:
            axis = dim if isinstance(dim, int) else 0
            if input.dim() > 1 and axis % input.dim() == 0 and change.here():
                change.applied()
                dim = -1
            return call(input, dim, *args, **kwargs)

        return softmax

    replaced(torch, ("softmax", "log_softmax"), make)
    for owner in (torch, torch.Tensor):
        for name in ("softmax", "log_softmax"):
            setattr(owner, name, make(name, getattr(owner, name)))


# function -> its argument kept where it has a value and a finite slope
EDGES: dict[str, Callable[[Any], Any]] = {
    "log": lambda x: x.clamp(min=1e-7), "log2": lambda x: x.clamp(min=1e-7), "log10": lambda x: x.clamp(min=1e-7), "log1p": lambda x: x.clamp(min=-1 + 1e-7),
    "sqrt": lambda x: x.clamp(min=1e-12), "rsqrt": lambda x: x.clamp(min=1e-12), "exp": lambda x: x.clamp(max=80.0),
    "acos": lambda x: x.clamp(-1 + 1e-6, 1 - 1e-6), "asin": lambda x: x.clamp(-1 + 1e-6, 1 - 1e-6), "reciprocal": lambda x: away_from_zero(x),
}  # fmt: skip


def away_from_zero(x: Any) -> Any:
    """Values of at least 1e-7 in size."""
    return x.sign().add(x == 0) * x.abs().clamp(min=1e-7)


def kept_off(change: Any, torch: Any) -> None:
    """At the line of the finding: arguments within the domain, denominators away from zero."""

    def make(call: Any, edge: Callable[[Any], Any], which: int) -> Any:
        def within(*args: Any, **kwargs: Any) -> Any:
            if len(args) > which and torch.is_tensor(args[which]) and args[which].is_floating_point() and change.here():
                change.applied()
                args = (*args[:which], edge(args[which]), *args[which + 1 :])
            return call(*args, **kwargs)

        return within

    for owner in (torch, torch.Tensor):
        for name, edge in EDGES.items():
            setattr(owner, name, make(getattr(owner, name), edge, 0))
        for name in ("div", "true_divide"):
            setattr(owner, name, make(getattr(owner, name), away_from_zero, 1))
    torch.Tensor.__truediv__ = make(torch.Tensor.__truediv__, away_from_zero, 1)


CHANGES = {
    "argument kept off the edge": kept_off,
    "loss given what it takes": given_right,
    "target reshaped": reshaped,
    "targets standardised": standardised,
    "targets within 0 and 1": within_unit,
    "such labels left out": in_range,
    "softmax over the classes": over_classes,
}
