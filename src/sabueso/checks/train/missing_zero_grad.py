"""missing-zero-grad."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding
from ...places import Place

LEADS_TO = (
    "exploding-gradient", "not-learning", "nonfinite-loss", "learning-rate-too-high", "dead-units", "saturated-units", "underfitting",
    "weight-decay-too-high", "nonfinite-values",
)  # fmt: skip


@check(stage="train", severity="error", leads_to=LEADS_TO, interventions=("gradients cleared",))
def missing_zero_grad(
    zeroed: list[Fact], cleared_at: list[Fact] | None = None, gradient_norm: list[Series] | None = None, *, least: int = 2
) -> Iterator[Finding]:
    """Gradients are not cleared between optimizer steps.

    What it means
    -------------
    `backward` adds to the gradients that are there. Without `zero_grad` each step applies the sum over all batches so far.
    Why it is bad
    -------------
    The sum grows and points to the past: the steps get longer and longer, and the loss soon rises.
    Evidence
    --------
    In sampled steps the gradients before `backward` are compared with those that the last step applied. Found where they are bit-equal and
    not zero in every one of at least two sampled steps, and backward added to them. Gradients that were cleared, scaled or replaced at any
    moment before the step count as cleared, so accumulation over several batches and adversarial pairs are silent.
    Remedy
    ------
    `optimizer.zero_grad()` before `backward`, in a closure as its first line.
    Fault
    -----
        import torch

        torch.manual_seed(0)
        x = torch.randn(96, 5)
        y = x.sum(1, keepdim=True)
        net = torch.nn.Linear(5, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.02)
        for step in range(30):
            rows = torch.randint(0, 96, (16,))
            loss = torch.nn.functional.mse_loss(net(x[rows]), y[rows])
            loss.backward()  # sabueso: missing-zero-grad
            opt.step()
    Control
    -------
        import torch

        torch.manual_seed(0)
        x = torch.randn(96, 5)
        y = x.sum(1, keepdim=True)
        net = torch.nn.Linear(5, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.02)
        for step in range(30):
            rows = torch.randint(0, 96, (16,))
            loss = torch.nn.functional.mse_loss(net(x[rows]), y[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
    References
    ----------
    PyTorch documentation, Tensor.backward: "This function accumulates gradients in the leaves".
    """
    by_optimizer: dict[tuple[int, int], list[Fact]] = defaultdict(list)
    for fact in zeroed:
        by_optimizer[fact.process, fact["optimizer"]].append(fact)
    for facts in by_optimizer.values():
        closure = [sum(f["closure"][i] for f in facts) for i in (0, 1)]
        told = [f for f in facts if f["reached"]]
        stale = [f for f in told if f["carried"] and not f["cleared"]]
        in_closure = closure[1] >= 3 and closure[0] == closure[1]
        if not in_closure and (len(stale) < least or len(stale) < len(told)):
            continue
        first = (stale or told or facts)[0]
        file, line = first.get("backward") or (first.place.file, first.place.line)
        seldom = None if in_closure else next((f for f in cleared_at or () if (f.process, f["optimizer"]) == (first.process, first["optimizer"])), None)
        if in_closure:
            number = (f"evaluations of the closure of {first['class']} that began with gradients of the one before", closure[0], f"0 of {closure[1]}")
        else:
            number = (f"sampled steps of {first['class']} whose backward began with the gradients of the step before", len(stale), f"0 of {len(told)}")
        remedy = f"call `{first.get('name') or 'optimizer'}.zero_grad()` before the backward in line {line}" + (", first in the closure" if in_closure else "")
        how = "never cleared"
        if seldom:
            file, line = seldom.place.file, seldom.place.line
            how, remedy = f"not cleared between two steps: the zero_grad of line {line} runs too seldom", f"call the zero_grad of line {line} in every step"
        yield Finding(
            says=f"backward adds to gradients that are {how}: each step of {first['class']} applies the sum of all batches so far",
            place=Place(stage="train", file=file, line=line, step=max(0, (first.place.step or 1) - 1)),
            evidence=[number, *growth(gradient_norm, first)],
            remedy=remedy,
            edit=("before", f"{first['name']}.zero_grad()") if first.get("name") and not seldom and not in_closure else (),
            confidence=0.97,
            verified="fact",
        )


def growth(norms: list[Series] | None, first: Fact) -> list[tuple[str, float, str]]:
    """How the gradients have grown."""
    for series in norms or ():
        if series.process == first.process and (series.place.module or "").startswith(first["class"]) and len(series) > 2:
            ratio = float(max(series.values[1:])) / max(float(series.values[0]), 1e-30)
            return [("largest gradient norm over that of the first step", round(ratio, 2), "about 1")]
    return []
