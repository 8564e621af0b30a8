"""bad-init."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...beginnings import Gain, alone, applied_again, fan_of, gains_of, poor, stored_at, turned_round
from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding
from ...learning import Training, behind, drawn_at, hardly, harm, trainings

LEADS_TO = ("not-learning", "saturated-units", "vanishing-gradient", "exploding-gradient", "nonfinite-loss", "dead-units", "learning-rate-too-high")


@check(stage="train", severity="error", leads_to=LEADS_TO, interventions=("layers initialised anew",))
def bad_init(
    initial_weights: list[Fact], train_loss: list[Series], targets: list[Fact] = None, recurrence: list[Fact] = None, activation: list[Fact] = None,
    learnable: list[Fact] = None, weights_loaded: list[Fact] = None, *, wide: float = 5.0, narrow: float = 0.02, off: float = 5.0, far: float = 20.0,
) -> Iterator[Finding]:  # fmt: skip
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
    better than the best constant; or five and more in the matrix of a recurrence alone, in a harmed training; or twenty and more in one layer, and
    twenty times what the others have, where two fifths of the loss stay; or a sine behind a hidden layer that is given a spread of more than one
    turn of the circle (Sitzmann et al. begin at 1), where its training stays behind what neighbours tell. None alone is a fault.
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
        w1 = torch.randn(50, 100, requires_grad=True)  # sabueso: bad-init
        w2 = torch.randn(100, 100, requires_grad=True)
        w3 = torch.randn(100, 2, requires_grad=True)
        opt = torch.optim.Adam([w1, w2, w3], lr=1e-3)
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
    He et al. 2015, "Delving deep into rectifiers". Sitzmann et al. 2020, "Implicit neural representations with periodic activation functions".
    """
    for training in trainings(train_loss, targets or [], initial_weights):
        began = next((f for f in initial_weights if f["optimizer"] == training.optimizer), None)
        gains = gains_of(began) if began is not None else []
        if began is None or not gains:
            continue
        middle = float(np.median([g for g, _ in gains]))
        found = all_wide(training, gains, middle, wide, off) or one_wide(training, gains, recurrence or [], wide, far)
        found = found or sines(training, gains, activation or [], learnable or []) or all_narrow(training, gains, middle, narrow)
        if found is None:
            continue
        (_, p), says, ends, mend = found
        fan, stored = fan_of(p), stored_at(p, weights_loaded or [])
        evidence = [
            (f"spread of {p['path']} before the first step", p["std"], f"about {(1 / fan) ** 0.5:.3g} to {(2 / fan) ** 0.5:.3g} for {fan} inputs"),
            ("spread times root of inputs, median over the weight matrices", middle, "0.5 to 1.5"),
            ends,
        ]
        place = (began.place.but(file=stored.place.file, line=stored.place.line) if stored else drawn_at(p, began.place)).but(
            step=0, module=p["module"], tensor=p["path"]
        )
        whence = "the stored" if stored else "the initial"
        remedy = f"multiply {whence} {p['path']} by {mend or (2 / fan) ** 0.5 / max(p['std'], 1e-12):.3g}"
        remedy += " (a scale that was left out when it was written?)" if stored else "" if mend else ", or use torch.nn.init.kaiming_normal_"
        yield Finding(says, place, evidence, remedy, confidence=0.92)
        return


Found = tuple[Gain, str, tuple[str, Any, Any], float]


def all_wide(training: Training, gains: list[Gain], middle: float, wide: float, off: float) -> Found | None:
    first, base = float(training.losses[0]), training.baseline
    if middle < wide or not base or first < off * base:
        return None
    worst, p = next(g for g in gains if g[0] >= wide)  # the first on the way of the data
    says = f"{p['path']} begins {worst:.3g} times as wide as its inputs allow: the first loss is {first:.4g}, the best constant has {base:.3g}"
    return (worst, p), says, ("loss at the first step", first, f"about {base:.3g}"), 0.0


def one_wide(training: Training, gains: list[Gain], recurrence: list[Fact], wide: float, far: float) -> Found | None:
    again, wrong = applied_again(gains, recurrence, wide), harm(training)
    found = again if again is not None and (wrong or again[0] >= far) else alone(gains, far)
    wrong = wrong or poor(training)
    if found is None or wrong is None:
        return None
    what = ", which is applied to its own result again and again," if found is again else ""
    return found, f"{found[1]['path']}{what} begins {found[0]:.3g} times as wide as its inputs allow: {wrong.says}", wrong.evidence[0], 0.0


def sines(training: Training, gains: list[Gain], activation: list[Fact], learnable: list[Fact]) -> Found | None:
    found, wrong = turned_round(gains, activation), harm(training) or hardly(training) or behind(training, learnable)
    if found is None or wrong is None:
        return None
    (gain, p), spread = found
    says = f"the sine behind {p['path']} is given numbers that spread by {spread:.3g}, several turns of the circle, from the first step on: {wrong.says}"
    return (gain, p), says, ("spread of what the sine is given at the first step", spread, "about 1"), 1 / spread


def all_narrow(training: Training, gains: list[Gain], middle: float, narrow: float) -> Found | None:
    wrong = harm(training) if middle <= narrow else None
    if wrong is None:
        return None
    worst, p = next(g for g in gains if g[0] <= narrow)
    return (worst, p), f"{p['path']} begins at {worst:.3g} of the width that its inputs ask for: {wrong.says}", wrong.evidence[0], 0.0
