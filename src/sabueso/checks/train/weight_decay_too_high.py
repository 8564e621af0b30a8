"""weight-decay-too-high."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...catalogue import check
from ...decays import by_alpha
from ...events import Fact, Series
from ...findings import Finding
from ...learning import behind, hardly, harm, matrices, trainings, within


@check(
    stage="train", severity="error", leads_to=("not-learning", "vanishing-gradient", "underfitting", "dead-units", "learning-rate-too-high"),
    interventions=("weight decay 0",),
    instead=("decayed",),
)  # fmt: skip
def weight_decay_too_high(
    train_loss: list[Series], weight_norm: list[Series], weight_gradient: list[Series], initial_weights: list[Fact], targets: list[Fact] = None,
    learnable: list[Fact] = None, decayed: list[Fact] = None, *, left: float = 0.5,
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
    Only of a training that is harmed, or behind what the nearest of its own rows tell. The weight matrices (all, or the median one) have
    lost half of their norm or more, under a weight_decay above zero, and the pull of the decay at the first sampled step is at least as
    large as the gradient. Or a penalty added to the loss by hand: it is most of the loss at first, the weights have lost half of their
    norm, and the rest of the loss ends where the best constant is. Or a network of scikit-learn that has lost half of what its initialiser gave
    it, under a penalty of a tenth of its loss (or to nothing), and that errs more on its own rows than least squares on rows that they were kept from.
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
        wrong = harm(training) or hardly(training) or behind(training, learnable or [], 0.1)
        began = next((f for f in initial_weights if f["optimizer"] == training.optimizer), None)
        decay = began["settings"].get("weight_decay", 0.0) if began is not None else 0.0
        if wrong is None or began is None or not decay > 0:
            continue
        wanted = matrices(began)
        first = {p["path"]: (p["std"] ** 2 + p["mean"] ** 2) ** 0.5 * float(np.prod(p["shape"])) ** 0.5 for p in began["parameters"]}
        mine = [s for s in within(weight_norm, training) if s.place.tensor in wanted and s.place.estimator == began["name"]]
        kept = [float(s.values[-1]) / first[s.place.tensor or ""] for s in mine if first[s.place.tensor or ""] > 0]
        whole = (sum(float(s.values[-1]) ** 2 for s in mine) / max(sum(first[s.place.tensor or ""] ** 2 for s in mine), 1e-30)) ** 0.5
        shrunk = min(float(np.median(kept)), whole) if kept else 1.0
        slopes = {s.place.tensor: float(s.values[0]) for s in within(weight_gradient, training) if s.place.estimator == began["name"] and len(s)}
        pulls = [decay * first[p] / slopes[p] for p in wanted if slopes.get(p, 0) > 0]
        if len(kept) == 0 or len(pulls) == 0 or shrunk > left or np.median(pulls) < 1.0:
            continue
        says = f"weight_decay={decay:g} shrank the weights to {100 * shrunk:.2g} % of their norm: {wrong.says}"
        evidence = [
            ("weight_decay", decay, f"{min(decay / 100, 0.01):.1g} or less"),
            ("norm of the weight matrices at the end, by that at the start", shrunk, "0.5 or more"),
            ("pull of the decay by the gradient at the first step, median", float(np.median(pulls)), "well below 1"),
            *wrong.evidence,
        ]
        place = began.place.but(step=int(training.steps[0]) + 1)
        yield Finding(says, place, evidence, f"set weight_decay={min(decay / 1000, 0.01):.1g} here", confidence=0.92)
        return
    yield from by_alpha(decayed or [], left)
    yield from by_hand(targets or [], weight_norm, initial_weights, left)


def by_hand(targets: list[Fact], weight_norm: list[Series], initial_weights: list[Fact], left: float) -> Iterator[Finding]:
    """A penalty on the weights that the program adds to its loss itself."""
    for fact in {(f["function"], f.place.file, f.place.line): f for f in targets}.values():
        own, base, first, began = fact.get("own"), fact["baseline"], fact.get("ratio_first"), initial_weights[0] if len(initial_weights) == 1 else None
        if began is None or not own or not base or not (first or 0) > 3 or fact["batches"] < 5 or own < 0.7 * base or began["settings"].get("weight_decay"):
            continue
        wanted = matrices(began)
        kept = [float(s.values[-1] / s.values[0]) for s in weight_norm if s.place.tensor in wanted and len(s) > 2 and s.values[0] > 0]
        least = min(kept, default=1.0)  # a penalty may be on one layer alone
        if least > left:
            continue
        line = fact.get("made_line") or [fact.place.file, fact.place.line]
        evidence = [
            (f"loss that goes backward at the first step, by its {fact['function']}", first, "little more than 1"),
            ("norm of the weight matrix that shrank most at the end, by that of the first step", least, "0.5 or more"),
            (f"{fact['function']} at the end", own, f"well below {base:.4g}, the loss of the best constant"),
        ]
        says = f"a term beside {fact['function']} makes up most of the loss and shrank weights to {100 * least:.2g} % of their norm: "
        says += f"{fact['function']} ends at {own:.4g}, no better than a constant"
        yield Finding(says, fact.place.but(file=line[0], line=line[1]), evidence, "divide the factor of that penalty by 1000", confidence=0.85)
        return
