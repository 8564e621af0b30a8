"""saturated-units."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding
from ...learning import harm, trainings, within


@check(
    stage="train",
    severity="error",
    leads_to=("vanishing-gradient", "not-learning", "underfitting"),
    interventions=("inputs standardised", "layers initialised anew"),
)
def saturated_units(
    train_loss: list[Series], units_saturated: list[Series], targets: list[Fact] = None, initial_weights: list[Fact] = None,
    output_std: list[Series] = None, *, first: float = 0.5, most_learnt: float = 0.6,
) -> Iterator[Finding]:  # fmt: skip
    """Most values of a tanh or sigmoid layer lie at the ends of its range, where its slope is nearly zero.

    What it means
    -------------
    What goes into the activation is far from zero, since inputs are not scaled or weights are too large. There the curve is flat: the
    gradient that comes back through it is next to nothing, and rows that differ look the same.
    Why it is bad
    -------------
    The layers before it hardly learn, and what they see of the data is a pattern of signs.
    Evidence
    --------
    Half or more of the values lie within a hundredth of an end already at the first step (with standardised inputs and a usual
    initialisation it is below 0.02) and still do in the median, and the training has not got rid of three fifths of the loss of the best
    constant answer. Saturation that training itself brings about (gates, codes) is no fault.
    Remedy
    ------
    Standardise the inputs; use smaller initial weights (Glorot) or a norm before the activation.
    Fault
    -----
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.randn(400, 8)
        y = (x[:, 0] * x[:, 1] > 0).long()
        net = nn.Sequential(nn.Linear(8, 20), nn.Tanh(), nn.Linear(20, 2))
        nn.init.normal_(net[0].weight, std=40.0)
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for epoch in range(6):
            for rows in torch.randperm(400).split(40):
                out = net(x[rows])  # sabueso: saturated-units
                loss = nn.functional.cross_entropy(out, y[rows])
                opt.zero_grad()
                loss.backward()
                opt.step()
    Control
    -------
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.randn(400, 8)
        y = (x[:, 0] + x[:, 1] > 0).long()
        net = nn.Sequential(nn.Linear(8, 20), nn.Tanh(), nn.Linear(20, 2))
        opt = torch.optim.SGD(net.parameters(), lr=0.3)
        for epoch in range(6):
            for rows in torch.randperm(400).split(40):
                loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
                opt.zero_grad()
                loss.backward()
                opt.step()
    References
    ----------
    Glorot, Bengio 2010, "Understanding the difficulty of training deep feedforward neural networks".
    """
    for training in trainings(train_loss, targets or [], initial_weights or []):
        learnt, wrong = training.learnt, harm(training)
        if wrong is None and (learnt is None or learnt > most_learnt):
            continue
        for series in within(units_saturated, training):
            if len(series) < 3 or series.values[0] < first or np.median(series.values) < first or series.place.module is None:
                continue
            layer = series.place.module
            says = f"{100 * series.values[0]:.0f} % of the values of {layer} are saturated from the first step on, so that its layers hardly learn"
            evidence = [
                (f"values of {layer} at the ends of its range at the first step", float(series.values[0]), "below 0.02"),
                ("the same, median over the training", float(np.median(series.values)), "below 0.5"),
                ("loss at the end", training.last, f"well below {training.baseline:.4g}, the best constant" if training.baseline else None),
            ]
            place = series.place.but(step=int(series.steps[0]), tensor=None)
            yield Finding(says, place, evidence, "standardise what goes in, or divide the initial weights of the layer before it", confidence=0.75)
            return
