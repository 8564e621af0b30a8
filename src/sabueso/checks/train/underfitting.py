"""underfitting."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding
from ...learning import Training, behind, trainings


@check(stage="train", severity="warning", leads_to=("overfitting",))
def underfitting(
    train_loss: list[Series], learnable: list[Fact], targets: list[Fact] = None, model: list[Fact] = None, activation: list[Fact] = None,
    initial_weights: list[Fact] = None, *, steps: int = 150, gap: float = 0.35,
) -> Iterator[Finding]:  # fmt: skip
    """The model is too simple for what its inputs tell: its training loss stands still far above what is within reach.

    What it means
    -------------
    What is to be learnt bends and the model does not, or it has too few units, or it is held back (dropout, decay) too strongly.
    Why it is bad
    -------------
    More epochs do not help; it is as wrong on the training rows as on new ones.
    Evidence
    --------
    The share of the best constant's loss that the training got rid of, beside what the 15 nearest rows of its own training data get rid of
    (up to 600 rows of sampled steps, each one itself left out): at least 0.35 more, after 150 steps and more of which the last half gained
    next to nothing (3 %). What explains it (rates, initial weights, decay, frozen or cut-off layers) is told instead.
    Remedy
    ------
    A hidden layer with an activation, more units, less dropout; inputs that make the relation linear.
    Fault
    -----
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.rand(1000, 2) * 4 - 2
        y = (x.pow(2).sum(1) < 1.6).long()
        net = nn.Linear(2, 2)  # sabueso: underfitting
        opt = torch.optim.Adam(net.parameters(), lr=1e-2)
        for epoch in range(20):
            for rows in torch.randperm(1000).split(64):
                opt.zero_grad()
                loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
                loss.backward()
                opt.step()
    Control
    -------
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.rand(1000, 2) * 4 - 2
        y = (x.pow(2).sum(1) < 1.6).long()
        net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))
        opt = torch.optim.Adam(net.parameters(), lr=1e-2)
        for epoch in range(20):
            for rows in torch.randperm(1000).split(64):
                opt.zero_grad()
                loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
                loss.backward()
                opt.step()
    References
    ----------
    Cover, Hart 1967, "Nearest neighbor pattern classification".
    """
    for training in trainings(train_loss, targets or [], initial_weights or []):
        wrong = behind(training, learnable, gap)
        if wrong is None or len(training.losses) < steps or not stands_still(training):
            continue
        sizes = [m["parameters"] for m in model or []]
        bends = bool(activation)
        evidence = [
            ("share of the loss of the best constant answer that training got rid of", round(training.learnt or 0.0, 3), "most of it"),
            *wrong.evidence,
            ("numbers that the model learns", sizes[0] if sizes else None, None),
        ]
        linear = "" if bends else "; no operation in the model bends, so it is linear"
        says = f"the training stands still: {wrong.says}{linear}"
        remedy = "more units or layers, less dropout and decay" if bends else "put a hidden layer with an activation before the output"
        place = training.place.but(step=int(training.steps[-1]))
        if model and len(model) == 1 and model[0].place.line:
            place = place.but(module=model[0]["name"], file=model[0].place.file, line=model[0].place.line)
        yield Finding(says, place, evidence, remedy, confidence=0.6)
        return


def stands_still(training: Training, least: float = 0.03) -> bool:
    """Did the last half of the steps gain next to nothing?"""
    half = training.losses[len(training.losses) // 2 :]
    early, late = float(np.mean(half[: len(half) // 2])), float(np.mean(half[len(half) // 2 :]))
    return early - late < least * (training.baseline or abs(early))
