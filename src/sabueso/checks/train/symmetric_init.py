"""symmetric-init."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding
from ...learning import drawn_at

OUT = ("Linear", "Conv1d", "Conv2d", "Conv3d", "LazyLinear")  # one unit a row; elsewhere a unit may be a row or a column


@check(
    stage="train", severity="error", leads_to=("not-learning", "underfitting", "bad-init", "vanishing-gradient", "dead-units"),
    interventions=("layers initialised anew",),
)  # fmt: skip
def symmetric_init(
    initial_weights: list[Fact], units_alike: list[Series], weight_gradient: list[Series] = None, *, fewest: int = 2
) -> Iterator[Finding]:  # fmt: skip
    """All units of a layer began with the same weights, and still are the same.

    What it means
    -------------
    Units with equal weights on both sides get equal gradients: they stay copies of each other for ever. A layer of a hundred units is then
    worth one.
    Why it is bad
    -------------
    The net can tell no more apart than one of a single unit a layer.
    Evidence
    --------
    An exact fact: before the first step all units of the layer are equal, and they are equal still (to a millionth) at every later sampled
    step, from the fifth step on. A layer that starts at zero beside random ones (a head, a residual branch, LoRA) parts within one step.
    Remedy
    ------
    Draw the weights at random (torch.nn.init.kaiming_uniform_ or xavier_uniform_).
    Fault
    -----
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.randn(512, 6)
        y = (x[:, 0] * x[:, 1] > 0).long()
        net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2))
        for p in net.parameters():
            nn.init.constant_(p, 0.1)  # sabueso: symmetric-init
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
        x = torch.randn(512, 6)
        y = (x[:, 0] * x[:, 1] > 0).long()
        net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2))
        nn.init.zeros_(net[2].weight)
        opt = torch.optim.SGD(net.parameters(), lr=0.5)
        for epoch in range(8):
            for rows in torch.randperm(512).split(64):
                loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
                opt.zero_grad()
                loss.backward()
                opt.step()
    References
    ----------
    Goodfellow, Bengio, Courville 2016, "Deep Learning", section 8.4.
    """
    reached = {(s.place.estimator, s.place.tensor) for s in weight_gradient or [] if len(s)}
    for began in initial_weights:
        for p in began["parameters"]:
            follow = next((s for s in units_alike if s.place.tensor == p["path"] and s.place.estimator == began["name"]), None)
            if follow is None or len(follow) < fewest or not (follow.values == 1).all() or not p["trainable"]:
                continue
            if reached and (began["name"], p["path"]) not in reached:
                continue  # never used: it can't part
            units = p["shape"][0] if p["class"] in OUT else p["shape"][1]
            layer = p["module"] or p["path"]
            says = f"all {units} units of {layer} began with the same weights and still are copies of one another at step {int(follow.steps[-1])}"
            evidence = [
                (f"spread of {p['path']} before the first step", p["std"], f"about {(2 / max(1, sum(p['shape'][:2]))) ** 0.5:.2g} (Glorot)"),
                (f"later sampled steps at which all units of {layer} are equal", len(follow), 0),
                ("units that differ", 1, units),
            ]
            place = drawn_at(p, began.place).but(step=0, module=p["module"], tensor=p["path"].rpartition(".")[2] if p["module"] else p["path"])
            yield Finding(says, place, evidence, f"draw {p['path']} at random, e.g. torch.nn.init.kaiming_uniform_", confidence=0.95, verified="fact")
            return
