"""learning-rate-too-low."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding
from ...learning import Training, first_rate, matrices, rate_of_steps, trainings, within


@check(
    stage="train", severity="error", leads_to=("not-learning", "underfitting"),
    interventions=("schedule left out", "learning rate * 10", "learning rate * 100", "learning rate * 1000", "learning rate * 10000"),
)  # fmt: skip
def learning_rate_too_low(
    train_loss: list[Series], scheduler: list[Fact] = None, update_ratio: list[Series] = None, initial_weights: list[Fact] = None,
    targets: list[Fact] = None, learning_rate: list[Series] = None, *, reach: float = 0.01, steps: int = 100, apart: float = 3.0,
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
    more: exact numbers. Or: over a hundred steps and more all updates together could have moved the median weight matrix by a hundredth of
    its norm at most, and the loss lost less than a twentieth, far above what is left when a model has learnt. Or: the rate rises by equal steps
    to the very end of a training that got rid of less than a quarter of the loss of the best constant and still falls (a warm-up too long).
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
        if began is None or len(training.losses) < steps or training.baseline is None or rate_of_steps(began) == "search":
            continue
        wanted = matrices(began)
        ratios = [float(np.median(s.values)) for s in within(update_ratio or [], training) if s.place.tensor in wanted and s.place.estimator == began["name"]]
        far = float(np.median(ratios)) * len(training.losses) if ratios else 1.0
        fell = (training.first - training.last) / abs(training.first) if training.first else 0.0
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


def rising(training: Training, initial_weights: list[Fact], rates: list[Series], steps: int) -> Finding | None:
    """A warm-up that is longer than the training: the rate rises by the same amount to the very end, while the loss still falls."""
    began = next((f for f in initial_weights if f["optimizer"] == training.optimizer), None)
    mine = next((s.values for s in rates if began is not None and s.place.module == began["name"] and len(s) >= max(steps, 50)), None)
    if began is None or mine is None or training.learnt is None or training.learnt > 0.25 or not training.last < training.first:
        return None
    by = np.diff(mine)
    moved = by[np.abs(by) > 1e-3 * np.abs(mine[1:])]
    if not by.min() >= 0 or mine[-1] < 10 * max(mine[0], 1e-30) or len(moved) < 8 or np.ptp(moved) > 0.05 * moved.mean() or not by[-len(by) // 10 :].any():
        return None
    half = len(training.losses) // 2
    if not np.median(training.losses[-max(half // 4, 5) :]) < np.median(training.losses[half : half + max(half // 4, 5)]):
        return None
    evidence = [
        ("rate of the last step", float(mine[-1]), "that of the peak, long before the end"), ("rate of the first step", float(mine[0]), None),
        ("share of the steps in which the rate rose", round(float((by > 0).mean()), 3), "0.1 or less"),
        ("loss at the end", training.last, f"well below {training.baseline:.4g}, the loss of the best constant"),
    ]  # fmt: skip
    says = f"the rate of {began['class']} rises from {mine[0]:.2g} to {mine[-1]:.2g} over all {len(mine)} steps: the training ends before its warm-up does"
    return Finding(says, began.place.but(step=int(training.steps[-1])), evidence, f"warm up over {max(len(mine) // 10, 1)} steps or so", confidence=0.85)


def stale_best(fact: Fact, apart: float) -> Finding | None:
    """A plateau scheduler that waits for a value that this run never had."""
    best, metrics, rates = fact.get("best_before"), fact.get("metrics") or [], fact.get("rates") or []
    if fact["class"] != "ReduceLROnPlateau" or not isinstance(best, (int, float)) or not np.isfinite(best) or len(metrics) < 3 or len(rates) < 2:
        return None
    lowering = (fact.get("settings") or {}).get("mode", "min") == "min"
    if not lowering or best <= 0 or min(metrics) <= apart * best or rates[-1] > 0.11 * rates[0]:
        return None
    says = (f"the plateau scheduler began with best = {best:.3g}, which this run never came near (lowest {min(metrics):.3g}): every epoch counted as bad "
            f"and the rate fell from {rates[0]:.2g} to {rates[-1]:.2g}")  # fmt: skip
    evidence = [
        ("scheduler.best before its first step", best, f"inf for a new run, or about {metrics[0]:.3g}, the first value given to it"),
        ("lowest value given to it since", min(metrics), None),
        ("learning rate at the end", rates[-1], f"{rates[0]:.2g}, as at the start"),
    ]
    remedy = "after loading its state set scheduler.best = float('inf') and scheduler.num_bad_epochs = 0, or leave the scheduler's state out"
    return Finding(says, fact.place.but(tensor="scheduler.best"), evidence, remedy, confidence=0.95, verified="fact", covers=("scheduler-order",))
