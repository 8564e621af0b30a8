"""exploding-gradient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding
from ...learning import Harm, Training, harm, rate_of_steps, trainings, within
from ...places import Place

RECURRENT = ("RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell")


@check(stage="train", severity="error", leads_to=("nonfinite-loss", "learning-rate-too-high", "not-learning", "dead-units", "saturated-units"))
def exploding_gradient(
    train_loss: list[Series], weight_gradient: list[Series] = None, loss_spike: list[Fact] = None, initial_weights: list[Fact] = None,
    targets: list[Fact] = None, experiment: list[Fact] = None, *, growth: float = 100.0, share: float = 0.9,
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
    tens). Recurrent: a weight's gradient grows a hundredfold over the first step's under an optimizer whose steps follow its size.
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
        spike = by_row(loss_spike or [], training, share)
        if spike is not None:
            yield of_row(spike, wrong)
            return
        began = next((f for f in initial_weights or [] if f["optimizer"] == training.optimizer), None)
        if began is None or rate_of_steps(began) != "gradient" or not any(p["class"] in RECURRENT for p in began["parameters"]):
            continue
        grown = growing(within(weight_gradient or [], training), began, growth)
        if grown is not None:
            yield through_time(training, began, *grown, wrong, experiment or [])
            return


def by_row(spikes: list[Fact], training: Training, share: float) -> Fact | None:
    """The first spike, if one row makes it up; later ones follow from it."""
    inside = [f for f in spikes if training.steps[0] <= (f.place.step or 0) <= training.steps[-1]]
    return inside[0] if inside and (inside[0].get("share") or 0.0) >= share else None


def of_row(spike: Fact, wrong: Harm) -> Finding:
    """Name the row by its place in the data as read, with what is extreme in it."""
    spot: dict[str, Any] = spike.get("spot") or {}
    rows = spot.get("rows") or []
    row = rows[0] if len(rows) == 1 else rows or None
    array = spot.get("table") or spot.get("array") or "the batch"
    evidence = [("loss of the step", spike["loss"], f"about {spike['usual']:.4g}, the median before it")]
    evidence.append(("share of it that one row makes up", spike["share"], f"about {1 / spike['rows_in_batch']:.3f}"))
    which = f"row {row} of {array}" if row is not None else f"row {spike['top'][0]} of the batch"
    says = f"{which} alone makes the loss {spike['loss']:.3g}"
    for name in ("target", "input"):
        value, usual = spike.get(name), spike.get(f"{name}_range")
        value = value[0] if isinstance(value, list) else value
        if value is not None and usual and abs(value - sum(usual) / 2) > 10 * (usual[1] - usual[0]):
            evidence.append((f"{name} of {which}", value, f"{usual[0]:.4g} to {usual[1]:.4g} for nine rows in ten of its batch"))
            says = f"the {name} of {which} is {value:.6g}, others lie between {usual[0]:.3g} and {usual[1]:.3g}: it alone makes the loss {spike['loss']:.3g}"
            break
    if spot.get("value") is not None:
        evidence.append((f"{spot['column']} of that row", spot["value"], f"{spot['others'][0]:.4g} to {spot['others'][1]:.4g}"))
    evidence.append(("afterwards", wrong.says, "a loss that falls"))
    place = spike.place.but(row=row, column=spot.get("column"), tensor=spot.get("array"))
    remedy = f"correct or leave out {which}; smooth_l1_loss or clipped gradients would have survived it"
    return Finding(f"{says}; {wrong.says}", place, evidence, remedy, confidence=0.95 if row is not None else 0.85, verified="fact")


def growing(gradients: list[Series], began: Fact, growth: float) -> tuple[Series, int, float] | None:
    """The recurrent weight whose gradient grows most over its first sampled one within twenty samples: series, step, times."""
    classes = {p["path"]: p["class"] for p in began["parameters"]}
    best: tuple[Series, int, float] | None = None
    for s in gradients:
        if len(s) < 2 or s.place.estimator != began["name"] or classes.get(s.place.tensor or "") not in RECURRENT or not s.values[0] > 0:
            continue
        times = np.nan_to_num(s.values[:20] / s.values[0], nan=np.inf, posinf=np.inf)
        at = int(np.argmax(times >= growth)) if (times >= growth).any() else -1
        finite = float(times[at]) if at >= 0 and np.isfinite(times[at]) else growth
        hidden = "hh" in (s.place.tensor or "")
        if at >= 0 and (best is None or (int(s.steps[at]), not hidden, -finite) < (best[1], "hh" not in (best[0].place.tensor or ""), -best[2])):
            best = (s, int(s.steps[at]), finite)
    return best


def through_time(training: Training, began: Fact, series: Series, step: int, times: float, wrong: Harm, experiment: list[Fact]) -> Finding:
    """A recurrent net whose gradient grew; verified where clipping kept the first steps whole on a copy."""
    tried = next((e for e in experiment if e["change"] == "gradients clipped" and e["helps"]), None)
    verified = {k: tried[k] for k in ("how", "before", "after")} if tried else None
    evidence = [(f"gradient of {series.place.tensor} at step {step + 1}, by that of the first", times, "below 10"), *wrong.evidence]
    place = Place(step=step + 1, module=series.place.module, tensor=series.place.tensor, file=training.place.file, line=training.place.line)
    says = f"the gradient of {series.place.tensor} grew {times:.3g}-fold by step {step + 1} and was applied whole: {wrong.says}"
    remedy = "put torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0) between backward() and step()"
    return Finding(says, place, evidence, remedy, confidence=0.95 if tried else 0.9, verified=verified)
