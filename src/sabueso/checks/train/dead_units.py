"""dead-units."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding
from ...learning import Harm, Training, drawn_at, hardly, harm, trainings, within


@check(
    stage="train",
    severity="error",
    leads_to=("not-learning", "vanishing-gradient", "underfitting", "graph-broken"),
    interventions=("layers initialised anew", "learning rate / 10"),
)
def dead_units(
    train_loss: list[Series], units_dead: list[Series], activation: list[Fact] = None, initial_weights: list[Fact] = None,
    targets: list[Fact] = None, model: list[Fact] = None, *, dead: float = 0.9, looks: int = 6,
) -> Iterator[Finding]:  # fmt: skip
    """Nearly all units of a layer are zero for every row, so that nothing comes through and nothing comes back.

    What it means
    -------------
    What goes into a ReLU is negative for every row. Its output and its slope are then zero: the layers before it get no gradient and the
    unit cannot come back by itself. A bias that was set far below zero does it from the start; a single huge step does it later.
    Why it is bad
    -------------
    The layers behind it see a constant: the model answers the same for every row.
    Evidence
    --------
    Only of a training that is harmed (no better than the best constant, worse than at its start, or not finite). The share of units that
    are zero for a whole batch is nine tenths or more at every sampled step (sparse healthy nets stay below 0.6 in the median). Where all units
    of a layer are zero in all of them it is enough that the training got rid of less than a tenth of the loss of the best constant; from the
    first step on, at six sampled steps, nothing more is asked for, since what comes behind the layer can't depend on the inputs.
    Remedy
    ------
    Let the biases of hidden layers begin at zero, divide the learning rate where it came later, or use LeakyReLU or GELU.
    Fault
    -----
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.randn(512, 8)
        y = (x[:, 0] + x[:, 1] > 0).long()
        first = nn.Linear(8, 32)
        nn.init.constant_(first.bias, -8.0)  # sabueso: dead-units
        net = nn.Sequential(first, nn.ReLU(), nn.Linear(32, 2))
        opt = torch.optim.Adam(net.parameters(), lr=1e-3)
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
        x = torch.randn(512, 8)
        y = (x[:, 0] + x[:, 1] > 0).long()
        first = nn.Linear(8, 32)
        nn.init.constant_(first.bias, -0.8)
        net = nn.Sequential(first, nn.ReLU(), nn.Linear(32, 2))
        opt = torch.optim.Adam(net.parameters(), lr=1e-3)
        for epoch in range(8):
            for rows in torch.randperm(512).split(64):
                loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
                opt.zero_grad()
                loss.backward()
                opt.step()
    References
    ----------
    Lu et al. 2019, "Dying ReLU and initialization".
    """
    for training in trainings(train_loss, targets or [], initial_weights or []):
        wrong, little = harm(training), hardly(training)
        for series in within(units_dead, training):
            whole = len(series) > 0 and float(np.min(series.values)) == 1.0
            always = whole and len(series) >= looks and series.steps[0] <= training.steps[0] + 1  # nothing ever came through: the harm itself
            if wrong is None and not (whole and little is not None or always):
                continue
            late = series.values[min(3, len(series) - 1) :]
            if len(series) >= 3 and float(np.min(late)) >= dead:
                yield finding(training, series, activation or [], initial_weights or [], model or [], wrong or little or NOTHING)
                return


NOTHING = Harm("constant", 0, "what comes after it is the same for every row", ())


def finding(training: Training, series: Series, activation: list[Fact], weights: list[Fact], model: list[Fact], wrong: Any) -> Finding:
    """Name the layer before the activation, with its bias where that did it."""
    site = next((f for f in activation if f["module"] == series.place.module), None)
    layer = (site["fed_by"] or {}).get("module") if site else None
    layer = layer or series.place.module
    since = int(series.steps[int(np.argmax(series.values >= 0.9))])
    bias = next((p for f in weights for p in f["parameters"] if p["module"] == layer and p["path"].endswith("bias") and len(p["shape"]) == 1), None)
    evidence: list[tuple[str, Any, Any]] = [
        (f"units of {layer} that are zero for every row of a batch, median", float(np.median(series.values)), "below 0.6"),
        ("at the first sampled step", float(series.values[0]), None),
    ]
    at_start = series.values[0] >= 0.9
    if bias is not None and at_start and bias["mean"] < -1:
        evidence.append((f"mean bias of {layer} before the first step", bias["mean"], "about 0"))
    evidence += wrong.evidence
    file, line = built(model, layer) or (training.place.file, training.place.line)
    place = series.place.but(step=since, module=layer, tensor=None, file=file, line=line)
    if bias is not None and at_start and bias["mean"] < -1:
        place = drawn_at(bias, place).but(tensor=bias["path"])
    when = "before the first step" if at_start else f"from step {since} on"
    says = f"{100 * np.median(series.values):.0f} % of the units of {layer} put out zero for every row {when}: {wrong.says}"
    remedy = f"let the bias of {layer} begin at 0" if at_start else "divide the learning rate by ten, or use LeakyReLU"
    return Finding(says, place, evidence[:5], remedy, confidence=0.9 if at_start else 0.7, verified="fact" if at_start else None)


def built(model: list[Fact], layer: str | None) -> tuple[str, int] | None:
    """The line that built a layer."""
    for fact in model:
        for path, _, _, line in fact["tree"]:
            if line and (path == layer or (path == "" and fact["name"] == layer)):
                return line[0], line[1]
    return None
