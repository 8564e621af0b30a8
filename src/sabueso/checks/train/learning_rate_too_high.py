"""learning-rate-too-high."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...catalogue import check
from ...divergence import diverging, growing, thrown
from ...events import Fact, Series
from ...findings import Finding
from ...interventions import LOWER_RATES, helped, on_copy, proof, turned
from ...learning import Training, first_rate, harm, matrices, rate_of_steps, trainings, within

RECURRENT = ("RNN", "LSTM", "GRU")


@check(
    stage="train", severity="error", leads_to=("nonfinite-loss", "dead-units", "saturated-units", "not-learning", "exploding-gradient", "underfitting"),
    interventions=("learning rate / 10", "learning rate / 100"),
)  # fmt: skip
def learning_rate_too_high(
    train_loss: list[Series], update_ratio: list[Series], initial_weights: list[Fact], targets: list[Fact] = None, experiment: list[Fact] = None,
    learning_rate: list[Series] = None, *, largest_update: float = 0.1, rise: float = 1.2, most_first: float = 20.0,
) -> Iterator[Finding]:  # fmt: skip
    """The steps are so large that they destroy what they should improve.

    What it means
    -------------
    A step changes the weights by a good part of their own size. The slope that was measured holds only for a small neighbourhood, so
    that the loss rises, and the units are driven into dead or saturated regions from which they do not come back.
    Why it is bad
    -------------
    The loss becomes NaN, or settles at what a constant answer would reach; more epochs do not help.
    Evidence
    --------
    Only of a training that is harmed (a loss that is not finite, no better than the best constant, or higher than at the start). The first
    steps change the median weight matrix by more than a tenth of its norm (a healthy step changes it by about a thousandth; one with Adam
    on small initial weights by up to a tenth) and within ten steps the loss rises by a fifth and more (and by three deviations, unless it was thrown up
    fivefold and stays above) above where it began and above that of the best constant. A loss that began at twenty times that is another fault (initial
    weights, scale). Or, under plain gradient descent, a loss that grows from step to step by a fifth and more, eight times in a row and from the beginning:
    the step is longer than the slope's whole valley is wide.
    Remedy
    ------
    Divide the rate by ten (Adam: 1e-3 to 3e-4; SGD: 0.1 or less), or warm it up.
    Fault
    -----
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.randn(512, 10)
        y = (x[:, 0] * x[:, 1] > 0).long()
        net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
        opt = torch.optim.Adam(net.parameters(), lr=1.0)  # sabueso: learning-rate-too-high
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
        y = (x[:, 0] * x[:, 1] > 0).long()
        net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
        opt = torch.optim.Adam(net.parameters(), lr=5e-3)
        for epoch in range(8):
            for rows in torch.randperm(512).split(64):
                loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
                opt.zero_grad()
                loss.backward()
                opt.step()
    References
    ----------
    Updates of about 1e-3 of the weights: A. Karpathy, notes of CS231n, "ratio of weights:updates". A rate that is too high only later, at the
    peak of a warm-up, is seen where a sampled step meets it.
    """
    for training in trainings(train_loss, targets or [], initial_weights):
        wrong = harm(training) or thrown(training)
        began = next((f for f in initial_weights if f["optimizer"] == training.optimizer), None)
        if wrong is None or began is None:
            continue
        if training.baseline and not training.losses[0] < most_first * training.baseline:
            continue  # it was far off before the first step
        if rate_of_steps(began) == "gradient" and not recurrent(began) and (times := growing(training)):
            yield diverging(training, began, times, first_rate(began, learning_rate or []), wrong, experiment or [])
            return
        ratios = early_updates(within(update_ratio, training), began)
        if not ratios:
            continue
        top = highest(training, finite=rate_of_steps(began) == "search")  # a step of a search may be a whole descent: large and right
        if max(ratios) < largest_update:
            if wrong.kind != "non-finite" and max(ratios) > largest_update / 10 and not recurrent(began) and turned(experiment or []):
                yield finding(training, began, ratios, first_rate(began, learning_rate or []), top, wrong, experiment or [])
                return
            continue
        bar = rise * max(float(training.losses[0]), training.baseline or 0.0) + 3 * float(np.nan_to_num(np.std(training.tail)))
        if np.isfinite(top) and top < bar and wrong.kind != "thrown":
            continue
        if recurrent(began) and rate_of_steps(began) == "gradient":
            continue  # the gradient grows through time: exploding-gradient
        yield finding(training, began, ratios, first_rate(began, learning_rate or []), top, wrong, experiment or [])
        return


def early_updates(update_ratio: list[Series], began: Fact) -> list[float]:
    """The median update of the weight matrices at each of the first four sampled steps."""
    wanted = matrices(began)
    steps: dict[int, list[float]] = {}
    for s in update_ratio:
        if s.place.tensor in wanted and s.place.estimator == began["name"]:
            for at, value in zip(s.steps[:4].tolist(), s.values[:4].tolist(), strict=True):
                steps.setdefault(at, []).append(value if np.isfinite(value) else np.inf)
    return [float(np.median(v)) for _, v in sorted(steps.items())[:4]]


def highest(training: Training, finite: bool = False) -> float:
    """The highest loss of the first ten steps; infinity where one is not finite, unless only finite ones count."""
    early = training.losses[:10]
    early = early[np.isfinite(early)] if finite and np.isfinite(early[0]) else early
    return float(early.max()) if np.isfinite(early).all() else float("inf")


def recurrent(began: Fact) -> bool:
    return any(p["class"] in RECURRENT for p in began["parameters"])


def finding(training: Training, began: Fact, ratios: list[float], rate: float, top: float, wrong: Any, experiment: list[Fact]) -> Finding:
    tried = helped(experiment, *LOWER_RATES)
    change = next(r for r in ratios if r >= 0.1 or r == max(ratios))
    evidence = [
        (f"learning rate of {began['class']}", rate, f"{rate / 10:.3g} or less"),
        ("change of the median weight matrix in one early step, by its norm", change, "about 0.001, below 0.1"),
        ("highest loss of the first ten steps", top, f"below {training.losses[0]:.4g}, where it began"), *wrong.evidence,
    ]  # fmt: skip
    says = f"{began['class']} with a rate of {rate:g} changes the weights by {100 * change:.0f} % in one step: {wrong.says}"
    place = began.place.but(step=int(training.steps[0]) + 1, module=None, tensor=None)
    refuted = tried is None and bool(on_copy(experiment, *LOWER_RATES))  # a smaller rate did no better
    by_rows = " by the gradient's mean over the rows: divide by their number where they are summed" if began["optimizer"] == -2 else ""
    lower, sure = f"{rate / (100 if tried and tried['change'].endswith('100') else 10):.2g}", 0.95 if tried else 0.5 if refuted else 0.85
    edit = ("keyword", began["class"], "lr", lower, 1) if not by_rows else ()
    return Finding(says, place, evidence[:5], f"set lr={lower} here{by_rows}", "note" if refuted else "", sure, proof(tried), edit=edit)
