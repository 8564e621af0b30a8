"""bad-init."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding
from ...learning import drawn_at, harm, matrices, trainings

LEADS_TO = ("not-learning", "saturated-units", "vanishing-gradient", "exploding-gradient", "nonfinite-loss", "dead-units", "learning-rate-too-high")


@check(stage="train", severity="error", leads_to=LEADS_TO, interventions=("layers initialised anew",))
def bad_init(
    initial_weights: list[Fact],
    train_loss: list[Series],
    targets: list[Fact] = None,
    recurrence: list[Fact] = None,
    *,
    wide: float = 5.0,
    narrow: float = 0.02,
    off: float = 5.0,
) -> Iterator[Finding]:
    """Weights begin far too large or far too small for the number of inputs that they sum over.

    What it means
    -------------
    A unit sums over its inputs, so that weights must shrink as one over the root of their number for signals to keep their size. With
    standard normal weights each layer of 100 inputs makes them ten times larger; with weights of 0.001 a hundred times smaller.
    Why it is bad
    -------------
    The first answers are wrong with certainty and the loss begins hundreds of times too high, or nothing of the input arrives at the end.
    Evidence
    --------
    Spread times the root of the number of inputs (torch's own start gives 0.58, He 1.41, Glorot about 1): five or more in the median over
    the weight matrices, and a first loss of five times that of the best constant or more; or 0.02 and less, and a training that ends no
    better than the best constant; or five and more in the matrix of a recurrence alone, in a harmed training. None alone is a fault.
    Remedy
    ------
    torch.nn.init.kaiming_normal_ (ReLU) or xavier_normal_ (tanh), or multiply by (2 / inputs) ** 0.5.
    Fault
    -----
        import torch
        from torch.nn import functional as F

        torch.manual_seed(0)
        x = torch.randn(512, 50)
        y = (x[:, :5].sum(1) > 0).long()
        w1 = torch.randn(50, 100, requires_grad=True)
        w2 = torch.randn(100, 100, requires_grad=True)
        w3 = torch.randn(100, 2, requires_grad=True)
        opt = torch.optim.Adam([w1, w2, w3], lr=1e-3)  # sabueso: bad-init
        for epoch in range(4):
            for rows in torch.randperm(512).split(64):
                loss = F.cross_entropy(F.relu(F.relu(x[rows] @ w1) @ w2) @ w3, y[rows])
                opt.zero_grad()
                loss.backward()
                opt.step()
    Control
    -------
        import torch
        from torch.nn import functional as F

        torch.manual_seed(0)
        x = torch.randn(512, 50)
        y = (x[:, :5].sum(1) > 0).long()
        w1 = (torch.randn(50, 100) * 0.2).requires_grad_()
        w2 = (torch.randn(100, 100) * 0.14).requires_grad_()
        w3 = (torch.randn(100, 2) * 0.14).requires_grad_()
        opt = torch.optim.Adam([w1, w2, w3], lr=1e-3)
        for epoch in range(4):
            for rows in torch.randperm(512).split(64):
                loss = F.cross_entropy(F.relu(F.relu(x[rows] @ w1) @ w2) @ w3, y[rows])
                opt.zero_grad()
                loss.backward()
                opt.step()
    References
    ----------
    He et al. 2015, "Delving deep into rectifiers".
    """
    for training in trainings(train_loss, targets or [], initial_weights):
        began = next((f for f in initial_weights if f["optimizer"] == training.optimizer), None)
        if began is None:
            continue
        gains = gains_of(began)
        if not gains:
            continue
        middle = float(np.median([g for g, _ in gains]))
        first = float(training.losses[0])
        if middle >= wide and training.baseline and not first < off * training.baseline:
            worst, p = next(g for g in gains if g[0] >= wide)  # the first on the way of the data
            says = f"{p['path']} begins {worst:.3g} times as wide as its inputs allow: the first loss is {first:.4g}"
            says += f", the best constant has {training.baseline:.3g}"
            ends: tuple[str, Any, Any] = ("loss at the first step", first, f"about {training.baseline:.3g}")
        elif (again := applied_again(gains, recurrence or [], wide)) is not None and (wrong := harm(training)) is not None:
            worst, p = again
            says = f"{p['path']}, which is applied to its own result again and again, begins {worst:.3g} times as wide as its inputs allow: {wrong.says}"
            ends = wrong.evidence[0]
        elif middle <= narrow and (wrong := harm(training)) is not None:
            worst, p = next(g for g in gains if g[0] <= narrow)
            says = f"{p['path']} begins at {worst:.3g} of the width that its inputs ask for: {wrong.says}"
            ends = wrong.evidence[0]
        else:
            continue
        fan = fan_of(p)
        evidence = [
            (f"spread of {p['path']} before the first step", p["std"], f"about {(1 / fan) ** 0.5:.3g} to {(2 / fan) ** 0.5:.3g} for {fan} inputs"),
            ("spread times root of inputs, median over the weight matrices", middle, "0.5 to 1.5"),
            ends,
        ]
        place = drawn_at(p, began.place).but(step=0, module=p["module"], tensor=p["path"])
        remedy = f"multiply the initial {p['path']} by {(2 / fan) ** 0.5 / max(p['std'], 1e-12):.3g}, or use torch.nn.init.kaiming_normal_"
        yield Finding(says, place, evidence, remedy, confidence=0.92)
        return


def applied_again(gains: list[tuple[float, dict[str, Any]]], recurrence: list[Fact], wide: float) -> tuple[float, dict[str, Any]] | None:
    """The matrix of a recurrence, where that one is too wide whatever the others are."""
    paths = {f.get("parameter") for f in recurrence}
    return next((g for g in gains if g[0] >= wide and g[1]["path"] in paths), None)


def gains_of(began: Fact) -> list[tuple[float, dict[str, Any]]]:
    """(spread times the root of the number of inputs, parameter) of each weight matrix."""
    wanted = matrices(began)
    layers = [p for p in began["parameters"] if p["path"] in wanted and len(p["shape"]) > 1 and not p["alike"]]  # a norm's weight may go by the same path
    return [(p["std"] * fan_of(p) ** 0.5, p) for p in layers if min(p["shape"][:2]) > 1]


def fan_of(p: dict[str, Any]) -> int:
    """Inputs that a unit sums over; a bare matrix may stand either way: the smaller axis, in favour of the program."""
    shape = p["shape"]
    rest = int(np.prod(shape[2:])) if len(shape) > 2 else 1
    return int(shape[1] * rest) if p["class"] in ("Linear",) or len(shape) > 2 else int(min(shape[0], shape[1]))
