"""weight-decay-too-high."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding
from ...learning import hardly, harm, matrices, trainings, within


@check(stage="train", severity="error", leads_to=("not-learning", "vanishing-gradient", "underfitting", "dead-units"), interventions=("weight decay 0",))
def weight_decay_too_high(
    train_loss: list[Series], weight_norm: list[Series], weight_gradient: list[Series], initial_weights: list[Fact], targets: list[Fact] = None,
    *, left: float = 0.5,
) -> Iterator[Finding]:  # fmt: skip
    """The pull towards zero is stronger than the gradient, so that the weights shrink to nothing.

    What it means
    -------------
    Each step takes weight_decay times the weight away beside the gradient. Where that pull is larger than the gradient, weights fall
    towards zero whatever the data say.
    Why it is bad
    -------------
    With its weights gone the model answers a constant; no rate and no number of epochs mends it.
    Evidence
    --------
    Only of a training that is harmed. The median weight matrix has lost half of its norm or more, under a weight_decay above zero, and the
    pull of the decay at the first sampled step is at least as large as the gradient.
    Remedy
    ------
    A weight_decay of 1e-4 to 1e-2 (SGD: 5e-4; AdamW: 0.01 to 0.1).
    Fault
    -----
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.randn(512, 10)
        y = (x[:, 0] > 0).long()
        net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
        opt = torch.optim.SGD(net.parameters(), lr=0.1, weight_decay=1.0)  # sabueso: weight-decay-too-high
        for epoch in range(10):
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
        net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
        opt = torch.optim.SGD(net.parameters(), lr=0.1, weight_decay=0.001)
        for epoch in range(10):
            for rows in torch.randperm(512).split(64):
                loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
                opt.zero_grad()
                loss.backward()
                opt.step()
    References
    ----------
    Krogh, Hertz 1991, "A simple weight decay can improve generalization".
    """
    for training in trainings(train_loss, targets or [], initial_weights):
        wrong = harm(training) or hardly(training)
        began = next((f for f in initial_weights if f["optimizer"] == training.optimizer), None)
        decay = began["settings"].get("weight_decay", 0.0) if began is not None else 0.0
        if wrong is None or began is None or not decay > 0:
            continue
        wanted = matrices(began)
        first = {p["path"]: (p["std"] ** 2 + p["mean"] ** 2) ** 0.5 * float(np.prod(p["shape"])) ** 0.5 for p in began["parameters"]}
        mine = [s for s in within(weight_norm, training) if s.place.tensor in wanted and s.place.estimator == began["name"]]
        kept = [float(s.values[-1]) / first[s.place.tensor or ""] for s in mine if first[s.place.tensor or ""] > 0]
        slopes = {s.place.tensor: float(s.values[0]) for s in within(weight_gradient, training) if s.place.estimator == began["name"] and len(s)}
        pulls = [decay * first[p] / slopes[p] for p in wanted if slopes.get(p, 0) > 0]
        if len(kept) == 0 or len(pulls) == 0 or np.median(kept) > left or np.median(pulls) < 1.0:
            continue
        says = f"weight_decay={decay:g} shrank the weights to {100 * np.median(kept):.2g} % of their norm: {wrong.says}"
        evidence = [
            ("weight_decay", decay, f"{min(decay / 100, 0.01):.1g} or less"),
            ("norm of the median weight matrix at the end, by that at the start", float(np.median(kept)), "0.5 or more"),
            ("pull of the decay by the gradient at the first step, median", float(np.median(pulls)), "well below 1"),
            *wrong.evidence,
        ]
        place = began.place.but(step=int(training.steps[0]) + 1)
        yield Finding(says, place, evidence, f"set weight_decay={min(decay / 1000, 0.01):.1g} here", confidence=0.92)
        return
