"""exploding-gradient."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...catalogue import check
from ...events import Fact, Series
from ...explosions import idle_clip, in_a_loop, of_row, through_time
from ...findings import Finding
from ...learning import Training, harm, rate_of_steps, trainings, within

RECURRENT = ("RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell")


@check(
    stage="train", severity="error", leads_to=("nonfinite-loss", "learning-rate-too-high", "not-learning", "dead-units", "saturated-units"),
    interventions=("gradients clipped", "learning rate / 10"),
)  # fmt: skip
def exploding_gradient(
    train_loss: list[Series], weight_gradient: list[Series] = None, loss_spike: list[Fact] = None, initial_weights: list[Fact] = None,
    targets: list[Fact] = None, experiment: list[Fact] = None, recurrence: list[Fact] = None, update_ratio: list[Series] = None,
    clipping: list[Fact] = None, gradient_norm: list[Series] = None, *, growth: float = 100.0, share: float = 0.9,
) -> Iterator[Finding]:  # fmt: skip
    """A gradient so large that one step throws the weights away.

    What it means
    -------------
    Either one row (a target or an input far beyond all others) makes up nearly the whole loss of its batch, or the gradient grows on its
    way back through the steps of a recurrent net, since the same matrix is applied again and again.
    Why it is bad
    -------------
    The step is as large as the gradient: what was learnt is lost, often everything is NaN from then on.
    Evidence
    --------
    Only of a harmed training. A row: a loss of a hundred times the median before it, nine tenths of it from one row (heavy tails reach some
    tens). Recurrent: a weight's gradient grows a hundredfold over the first step's under an optimizer whose steps follow its size (tenfold, if
    a step then exceeds the weight's norm and the first was below a tenth); or, where a loop by hand applies a weight to its own result, over the
    calls of one forward. Or a clip that never met a gradient, under ten times its bound and more.
    Remedy
    ------
    Correct or leave out the row; clip the norm of the gradient.
    Fault
    -----
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.randn(600, 5)
        minutes = x @ torch.tensor([1.0, 2.0, 0.0, 0.5, -1.0]) + 0.1 * torch.randn(600)
        minutes[417] = 80000.0
        net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.05)
        for epoch in range(6):
            for rows in torch.randperm(600).split(40):
                loss = nn.functional.mse_loss(net(x[rows]).squeeze(1), minutes[rows])
                opt.zero_grad()
                loss.backward()  # sabueso: exploding-gradient
                opt.step()
    Control
    -------
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.randn(600, 5)
        minutes = x @ torch.tensor([1.0, 2.0, 0.0, 0.5, -1.0]) + 0.1 * torch.randn(600)
        minutes[417] = 40.0
        net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.05)
        for epoch in range(6):
            for rows in torch.randperm(600).split(40):
                loss = nn.functional.mse_loss(net(x[rows]).squeeze(1), minutes[rows])
                opt.zero_grad()
                loss.backward()
                opt.step()
    References
    ----------
    Pascanu, Mikolov, Bengio 2013, "On the difficulty of training recurrent neural networks".
    """
    for training in trainings(train_loss, targets or [], initial_weights or []):
        wrong = harm(training)
        if wrong is None:
            continue
        began = next((f for f in initial_weights or [] if f["optimizer"] == training.optimizer), None)
        by_size = began is not None and rate_of_steps(began) == "gradient"
        found = idle_clip(training, clipping or [], within(gradient_norm or [], training), wrong) if by_size else None
        spike = by_row(loss_spike or [], training, share)
        if found is not None or spike is not None:
            yield found or of_row(spike, wrong)
            return
        if began is None or not by_size:
            continue
        looped = max(within_training(recurrence or [], training), key=lambda f: f["growth"], default=None)
        change = largest_update(within(update_ratio or [], training), began)
        if looped is not None and looped["growth"] >= growth and not change < 0.1:
            yield in_a_loop(training, began, looped, change, wrong, experiment or [])
            return
        if not any(p["class"] in RECURRENT for p in began["parameters"]):
            continue
        grown = growing(within(weight_gradient or [], training), began, growth, within(update_ratio or [], training))
        if grown is not None:
            yield through_time(training, began, *grown, wrong, experiment or [])
            return


def by_row(spikes: list[Fact], training: Training, share: float) -> Fact | None:
    """The first spike, if one row makes it up; later ones follow from it."""
    inside = [f for f in spikes if training.steps[0] <= (f.place.step or 0) <= training.steps[-1]]
    return inside[0] if inside and (inside[0].get("share") or 0.0) >= share else None


def growing(gradients: list[Series], began: Fact, growth: float, ratios: list[Series]) -> tuple[Series, int, float] | None:
    """The recurrent weight whose gradient grows most over its first sampled one within twenty samples: series, step, times."""
    classes = {p["path"]: p["class"] for p in began["parameters"]}
    best: tuple[Series, int, float] | None = None
    for s in gradients:
        if len(s) < 2 or s.place.estimator != began["name"] or classes.get(s.place.tensor or "") not in RECURRENT or not s.values[0] > 0:
            continue
        times = np.nan_to_num(s.values[:20] / s.values[0], nan=np.inf, posinf=np.inf)
        far = (times >= growth) | (times >= growth / 10) & thrown(s, ratios)
        at = int(np.argmax(far)) if far.any() else -1
        finite = float(times[at]) if at >= 0 and np.isfinite(times[at]) else growth
        hidden = "hh" in (s.place.tensor or "")
        if at >= 0 and (best is None or (int(s.steps[at]), not hidden, -finite) < (best[1], "hh" not in (best[0].place.tensor or ""), -best[2])):
            best = (s, int(s.steps[at]), finite)
    return best


def thrown(gradient: Series, ratios: list[Series]) -> np.ndarray:
    """The sampled steps that were larger than the weight itself, of a weight whose first step was small."""
    mine = next((s for s in ratios if s.place.tensor == gradient.place.tensor and s.place.estimator == gradient.place.estimator), None)
    if mine is None or not len(mine) or not mine.values[0] < 0.1:
        return np.zeros(len(gradient.steps[:20]), bool)
    return np.isin(gradient.steps[:20], mine.steps[mine.values >= 1.0])


def within_training(facts: list[Fact], training: Training) -> list[Fact]:
    """Those of the first hundred steps: what is seen later follows from what was destroyed."""
    return [f for f in facts if training.steps[0] <= (f.place.step or 0) <= min(training.steps[-1], training.steps[0] + 100)]


def largest_update(ratios: list[Series], began: Fact) -> float:
    """The largest change of a weight in one of the first sampled steps, by its norm; NaN where none is known."""
    early = [float(v) for s in ratios if s.place.estimator == began["name"] for v in s.values[:5]]
    return max((v if np.isfinite(v) else float("inf") for v in early), default=float("nan"))
