"""precision-underflow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding
from ...interventions import helped, proof
from ...learning import Harm, Training, behind, hardly, harm, matrices, trainings, within


@check(
    stage="train", severity="error", leads_to=("not-learning", "learning-rate-too-low", "vanishing-gradient", "underfitting", "dead-units"),
    interventions=("master weights",),
)  # fmt: skip
def precision_underflow(
    half_precision: list[Fact], train_loss: list[Series], initial_weights: list[Fact], gradients_underflown: list[Series] = None,
    updates_lost: list[Series] = None, targets: list[Fact] = None, learnable: list[Fact] = None, experiment: list[Fact] = None, *,
    gone: float = 0.5, lost: float = 0.9, half: float = 0.5, clear: float = 0.75, least: int = 3,
) -> Iterator[Finding]:  # fmt: skip
    """Numbers are too small for half precision: gradients come out as zero, or steps leave the weights as they were.

    What it means
    -------------
    float16 has no numbers between 0 and 6e-8 (2^-24) and few below 6e-5 (2^-14); it keeps 11 bits, bfloat16 8. A gradient that is smaller than
    that is zero; a step that is smaller than half the spacing of the numbers next to a weight changes nothing.

    Why it is bad
    -------------
    The model stops learning without an error, and the loss looks like a plateau.

    Evidence
    --------
    Gradients: over half of the weights' elements are zero, and all the others lie among float16's smallest numbers. Steps: nine
    of ten elements that have a gradient come out of the step unchanged. Either in three sampled steps of a training that is hardly better than
    the best constant, or far behind what its nearest rows tell; or half of the elements, where its first steps, again on a copy, also come
    further with masters of the weights in float32; or of one of which that copy ends at three quarters of the loss. (Shares: our own. Seen: 1.0 and 0.99 in
    trainings that stood still, but 0.7 to 0.96 of the steps lost in bfloat16 weights that went on learning: hence the loss must show it too.)

    Remedy
    ------
    Keep the weights in float32 and use `torch.autocast` with `torch.amp.GradScaler`, or bfloat16 in the autocast region.

    Fault
    -----
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.randn(512, 16)
        y = (x[:, :4].sum(1) > 0).long()
        net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 2))
        opt = torch.optim.AdamW(net.parameters(), lr=0.003)
        for epoch in range(10):
            for rows in torch.randperm(512).split(64):
                with torch.autocast("cpu", dtype=torch.float16):  # sabueso: precision-underflow
                    loss = nn.functional.cross_entropy(net(x[rows]), y[rows]) * 1e-6
                opt.zero_grad()
                loss.backward()
                opt.step()

    Control
    -------
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.randn(512, 16)
        y = (x[:, :4].sum(1) > 0).long()
        net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 2))
        opt = torch.optim.AdamW(net.parameters(), lr=0.003)
        for epoch in range(10):
            for rows in torch.randperm(512).split(64):
                with torch.autocast("cpu", dtype=torch.float16):
                    loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
                opt.zero_grad()
                loss.backward()
                opt.step()

    References
    ----------
    Micikevicius et al. 2018, "Mixed precision training", section 3. Zamirai et al. 2020, "Revisiting BFloat16 training".
    """
    for training in trainings(train_loss, targets or [], initial_weights):
        began = next((f for f in initial_weights if f["optimizer"] == training.optimizer), None)
        wrong = hardly(training) or behind(training, learnable or [], 0.3) or harm(training) or flat(training)
        tried = helped(experiment, "master weights") if training.steps[0] == 0 else None
        further = tried is not None and tried["after"] < clear * tried["before"]
        if began is None or wrong is None and not further:
            continue
        zeros, same = (share(s or [], training, began, least) for s in (gradients_underflown, updates_lost))
        late = tried is not None and (wrong or behind(training, learnable or [], 0.1)) is not None
        if wrong is None:
            zeros, wrong = None, slower(tried)
        for value, most, what, says, remedy in (
            (zeros, gone, "zeros in the gradients of the weights; what is not zero is below 6e-5", UNDERFLOWN, SCALE),
            (same, half if late else lost, "elements with a gradient that a step leaves as they were", ROUNDED, MASTER),
        ):
            if value is not None and value >= most:
                at = half_precision[0].place
                place = (at if at.line else training.place).but(stage="train", step=int(training.steps[0]) + 1)
                evidence = [(what, round(value, 3), "0.1 or less"), *wrong.evidence]
                kinds = " and ".join(half_precision[0]["dtypes"]) if half_precision[0]["how"] == "module" else "float16"
                yield Finding(f"{says.format(kinds)}: {wrong.says}", place, evidence, remedy, confidence=0.92, verified=proof(tried))
                return


UNDERFLOWN = "gradients are smaller than {} can hold and become zero"
ROUNDED = "the steps are smaller than the spacing of {} around the weights, so that the weights stay as they are"
SCALE = "scale the loss by torch.amp.GradScaler (scale, step, update), or use dtype=torch.bfloat16"
MASTER = "keep the weights in float32 and compute in half precision by torch.autocast alone"


def slower(tried: Fact) -> Harm:
    """A training that comes further once the weights have masters in float32."""
    says = f"the same {tried['steps']} steps on a copy end at {tried['before']:.4g} as they were, and at {tried['after']:.4g} with masters of them in float32"
    evidence = ((f"loss after {tried['steps']} steps on a copy, as they were", tried["before"], f"{tried['after']:.4g}, with masters in float32"),)
    return Harm("slower", 0, says, evidence)


def flat(training: Training) -> Harm | None:
    """A loss that ends where it began, for losses of which the best constant's isn't known."""
    first, last = training.first, training.last
    if training.baseline is not None or not last >= 0.95 * first - 2 * training.noise:
        return None
    return Harm("flat", int(training.steps[-1]), f"the loss stays at {last:.4g}", (("loss at the end", last, f"well below {first:.4g}, where it began"),))


def share(series: Iterable[Series], training: Training, began: Fact, least: int) -> float | None:
    """The smallest of the first sampled steps' shares, over all weight matrices together."""
    wanted = matrices(began)
    sizes = {p["path"]: float(np.prod(p["shape"])) for p in began["parameters"]}
    mine = [s for s in within(series, training) if s.place.estimator == began["name"] and s.place.tensor in wanted and len(s) >= least]
    weight = np.array([sizes[s.place.tensor or ""] for s in mine])
    if 2 * weight.sum() < sum(sizes[p] for p in wanted) or not mine:
        return None
    return float((np.stack([s.values[:least] for s in mine], axis=1) @ weight / weight.sum()).min())
