"""vanishing-gradient."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding
from ...learning import harm, matrices, trainings, within


@check(stage="train", severity="error", leads_to=("not-learning", "learning-rate-too-low", "underfitting"), interventions=("layers initialised anew",))
def vanishing_gradient(
    train_loss: list[Series], weight_gradient: list[Series], initial_weights: list[Fact], targets: list[Fact] = None,
    model: list[Fact] = None, *, shrink: float = 0.2, least: float = 1e-3, layers: int = 4,
) -> Iterator[Finding]:  # fmt: skip
    """The gradient is all but gone by the time that it reaches the first layers.

    What it means
    -------------
    On its way back each layer multiplies the gradient by the slope of its activation and by its weights. A sigmoid's slope is a quarter at
    most: after six such layers less than a thousandth is left.
    Why it is bad
    -------------
    The first layers stay as they were drawn, and the last ones have to work with random features.
    Evidence
    --------
    Only of a training that is no better than the best constant. Gradient by weight (norms), from the last weight matrix to the first of
    four or more: below a thousandth, and below a fifth a layer on average (two fifths below a ten-thousandth), at every one of the early
    sampled steps.
    Remedy
    ------
    ReLU or GELU in place of sigmoid or tanh, a norm in each layer, residual connections, He or Glorot initial weights.
    Fault
    -----
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.randn(512, 10)
        y = (x[:, 0] > 0).long()
        layers = [nn.Linear(10, 32)]  # sabueso: vanishing-gradient
        for _ in range(6):
            layers += [nn.Sigmoid(), nn.Linear(32, 32)]
        net = nn.Sequential(*layers, nn.Sigmoid(), nn.Linear(32, 2))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(8):
            for rows in torch.randperm(512).split(64):
                loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
                opt.zero_grad()
                loss.backward()
                opt.step()
    Control
    -------
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.randn(512, 10)
        y = (x[:, 0] > 0).long()
        layers = [nn.Linear(10, 32)]
        for _ in range(6):
            layers += [nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 32)]
        net = nn.Sequential(*layers, nn.ReLU(), nn.Linear(32, 2))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(8):
            for rows in torch.randperm(512).split(64):
                loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
                opt.zero_grad()
                loss.backward()
                opt.step()
    References
    ----------
    Hochreiter 1991; Glorot, Bengio 2010.
    """
    for training in trainings(train_loss, targets or [], initial_weights):
        wrong = harm(training)
        began = next((f for f in initial_weights if f["optimizer"] == training.optimizer), None)
        if wrong is None or wrong.kind != "no-better" or began is None:
            continue
        wanted = matrices(began)
        order = [p for p in began["parameters"] if p["path"] in wanted]
        if len(order) < layers:
            continue
        slopes = {s.place.tensor: s for s in within(weight_gradient, training) if s.place.estimator == began["name"] and len(s) >= 3}
        first, last = order[0], order[-1]
        if first["path"] not in slopes or last["path"] not in slopes:
            continue
        top, bottom = size(first), size(last)
        ratios = (slopes[first["path"]].values[:4] / top) / np.maximum(slopes[last["path"]].values[:4] / bottom, 1e-300)
        worst = float(ratios.max())
        if not 0 < worst < least or worst ** (1 / (len(order) - 1)) > (shrink if worst > least / 10 else 2 * shrink):
            continue
        line = next((row[3] for f in model or [] for row in f["tree"] if row[0] == first["module"] and row[3]), None)
        place = training.place.but(step=int(training.steps[0]) + 1, module=first["module"], tensor=first["path"])
        place = place.but(file=line[0], line=line[1]) if line else place
        evidence = [
            (f"gradient by weight at {first['path']}, by that at {last['path']}", worst, "0.01 to 10"),
            (f"a layer, over {len(order)} layers", worst ** (1 / (len(order) - 1)), "about 1"),
            *wrong.evidence,
        ]
        says = f"of the gradient at {last['path']} {100 * worst:.2g} % arrive at {first['path']}: {wrong.says}"
        yield Finding(says, place, evidence, "use ReLU or GELU, a norm in each layer, or residual connections", confidence=0.85)
        return


def size(p: dict) -> float:
    """Norm of a parameter before the first step."""
    return float(((p["std"] ** 2 + p["mean"] ** 2) * np.prod(p["shape"])) ** 0.5)
