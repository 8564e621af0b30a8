"""learning-rate-too-low."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding
from ...learning import first_rate, matrices, rate_of_steps, trainings, within
from ...schedules import restored, rising, stale_best


@check(
    stage="train", severity="error", leads_to=("not-learning", "underfitting"),
    interventions=("schedule left out", "learning rate * 10", "learning rate * 100", "learning rate * 1000", "learning rate * 10000"),
)  # fmt: skip
def learning_rate_too_low(
    train_loss: list[Series], scheduler: list[Fact] = None, update_ratio: list[Series] = None, initial_weights: list[Fact] = None,
    targets: list[Fact] = None, learning_rate: list[Series] = None, rate_restored: list[Fact] = None,
    *, reach: float = 0.01, steps: int = 100, apart: float = 3.0,
    small: float = 0.03,
) -> Iterator[Finding]:  # fmt: skip
    """The steps are too small to get anywhere in the steps that there are.

    What it means
    -------------
    The rate was set too small, or a scheduler cut it down again and again. ReduceLROnPlateau does that to every resumed run whose restored
    `best` was never reached by it (another run's, another loss): each epoch counts as a bad one.
    Why it is bad
    -------------
    The loss is flat though the model could learn; more epochs of the same do not help.
    Evidence
    --------
    A plateau scheduler that began with a best value three times below all that it was given since (for losses), and cut the rate tenfold or
    more: exact numbers. Or: a restored state set the rate to less than 3 % of what was asked for, and the steps move nothing. Or: over a
    hundred steps and more all updates together could have moved the median weight matrix by a hundredth of its norm at most, and the loss lost
    less than a twentieth, far above what is left when a model has learnt. Or: the rate rises by equal steps to the very end of a training that
    got rid of less than a quarter of the loss of the best constant and still falls (a warm-up too long).
    Remedy
    ------
    Set scheduler.best anew after loading, or do not load the scheduler; multiply the rate by ten until the loss falls.
    Fault
    -----
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.randn(512, 10)
        y = (x[:, 0] > 0).long()
        net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
        opt = torch.optim.Adam(net.parameters(), lr=1e-7)  # sabueso: learning-rate-too-low
        for epoch in range(20):
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
        opt = torch.optim.Adam(net.parameters(), lr=1e-3)
        for epoch in range(20):
            for rows in torch.randperm(512).split(64):
                loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
                opt.zero_grad()
                loss.backward()
                opt.step()
    References
    ----------
    torch.optim.lr_scheduler.ReduceLROnPlateau: state_dict holds `best` and `num_bad_epochs`.
    """
    for fact in scheduler or []:
        found = stale_best(fact, apart)
        if found is not None:
            yield found
            return
    for training in trainings(train_loss, targets or [], initial_weights or []):
        found = rising(training, initial_weights or [], within(learning_rate or [], training), steps)
        if found is not None:
            yield found
            return
        began = next((f for f in initial_weights or [] if f["optimizer"] == training.optimizer), None)
        given = next((f for f in rate_restored or [] if f["optimizer"] == training.optimizer and f["restored"] < small * f["asked"]), None)
        if began is None or len(training.losses) < steps or training.baseline is None and given is None or rate_of_steps(began) == "search":
            continue
        wanted = matrices(began)
        ratios = [float(np.median(s.values)) for s in within(update_ratio or [], training) if s.place.tensor in wanted and s.place.estimator == began["name"]]
        far = float(np.median(ratios)) * len(training.losses) if ratios else 1.0
        fell = (training.first - training.last) / abs(training.first) if training.first else 0.0
        if given is not None and 0 < far < reach and fell <= 0.05:
            yield restored(given, far, training)
            return
        learnt = training.learnt
        if not 0 < far < reach or fell > 0.05 or learnt is None or learnt > 0.2:
            continue
        rate = first_rate(began, learning_rate or [])
        evidence = [
            (f"learning rate of {began['class']}", rate, f"about {rate * min(1000, 0.3 / far):.1g}"),
            (f"how far {len(training.losses)} steps could move the median weight matrix, by its norm", far, "0.1 or more"),
            ("loss at the end", training.last, f"well below {training.first:.4g}, where it began"),
        ]
        says = f"{began['class']} with a rate of {rate:g} moved the weights by {100 * far:.2g} % in {len(training.losses)} steps: the loss is where it began"
        place = began.place.but(step=int(training.steps[0]) + 1)
        yield Finding(says, place, evidence, f"try lr={rate * 10:.1g} to {rate * 1000:.1g} here", confidence=0.85)
        return
