"""overfitting."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding
from ...generalisation import by_heart, memorised
from ...learning import Evaluated, Training, evaluations, trainings


@check(stage="train", severity="warning")
def overfitting(
    train_loss: list[Series], evaluation_error: list[Series], targets: list[Fact] = None, weights_kept: list[Fact] = None,
    initial_weights: list[Fact] = None, *, passed: int = 4, rise: float = 0.15, errors: float = 2.0,
) -> Iterator[Finding]:  # fmt: skip
    """The model goes on learning its training rows by heart while held-out rows get worse.

    What it means
    -------------
    The loss on rows that were not trained on had its best value long ago and has risen since, while the training loss still falls: what is
    learnt now is the noise of the training rows.
    Why it is bad
    -------------
    The weights that are kept at the end are worse than those of an earlier step.
    Evidence
    --------
    Our own recount, with the loss of the training, of the same held-out rows. The best evaluation was passed by at least four; the last
    three lie above it by a seventh and by two standard errors (of rows, and of the wobble from one evaluation to the next); the training
    loss has halved since. Classification must have lost accuracy too, by two standard errors, or end worse than the best constant: a loss
    that rises by too much confidence alone does no harm. Or by heart: the training loss is down to a hundredth of that of the best constant,
    while held-out rows still have two fifths of it (and four in five right at most). A program that keeps the weights of its best step is silent.
    Remedy
    ------
    Stop at the best step and keep its weights; more data, dropout, weight decay, a smaller model.
    Fault
    -----
        import torch
        from torch import nn

        torch.manual_seed(0)
        x, x_new = torch.randn(60, 20), torch.randn(300, 20)
        y, y_new = x[:, :1] + torch.randn(60, 1), x_new[:, :1] + torch.randn(300, 1)
        net = nn.Sequential(nn.Linear(20, 200), nn.ReLU(), nn.Linear(200, 1))
        opt = torch.optim.Adam(net.parameters(), lr=1e-2)
        for epoch in range(60):
            loss = nn.functional.mse_loss(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if epoch % 4 == 3:
                with torch.no_grad():
                    print(nn.functional.mse_loss(net(x_new), y_new).item())  # sabueso: overfitting
    Control
    -------
        import torch
        from torch import nn

        torch.manual_seed(0)
        x, x_new = torch.randn(600, 20), torch.randn(300, 20)
        y, y_new = x[:, :1] + torch.randn(600, 1), x_new[:, :1] + torch.randn(300, 1)
        net = nn.Sequential(nn.Linear(20, 8), nn.ReLU(), nn.Linear(8, 1))
        opt = torch.optim.AdamW(net.parameters(), lr=1e-2, weight_decay=0.1)
        for epoch in range(60):
            loss = nn.functional.mse_loss(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if epoch % 4 == 3:
                with torch.no_grad():
                    print(nn.functional.mse_loss(net(x_new), y_new).item())
    References
    ----------
    Prechelt 1998, "Early stopping - but when?".
    """
    for training in trainings(train_loss, targets or [], initial_weights or []):
        for held in evaluations(evaluation_error, training):
            if held.trained > 0.05 or len(held.losses) <= passed:
                continue
            best = int(np.argmin(held.losses))
            end, low = float(np.mean(held.losses[-3:])), float(held.losses[best])
            wobble = float(np.std(np.diff(held.losses)) / 2**0.5)
            if memorised(training, held, end) and not kept(weights_kept or [], held, best):
                yield by_heart(training, held, end)
                return
            sure = errors * max(standard_error(held, low), wobble)
            if len(held.losses) - best <= passed or end < (1 + rise) * low or end - low < sure or kept(weights_kept or [], held, best):
                continue
            then, now = around(training, held.steps[best]), training.last
            if now > 0.5 * then or not worse(held, best, end, training):
                continue
            yield finding(training, held, best, end, then, now)
            return


def standard_error(held: Evaluated, loss: float) -> float:
    """Of a mean loss over that many rows that are the same each time: differences between evaluations vary less than the losses themselves."""
    return 0.5 * loss * (2 / max(1.0, held.rows)) ** 0.5


def worse(held: Evaluated, best: int, end: float, training: Training) -> bool:
    """Is there harm beyond a loss that rises by confidence?"""
    if held.accuracy is None:
        return True
    top, now = float(np.max(held.accuracy)), float(np.mean(held.accuracy[-3:]))
    error = (top * (1 - top) / max(1.0, held.rows)) ** 0.5
    return top - now > 2 * error or training.baseline is not None and end > training.baseline


def around(training: Training, step: int) -> float:
    """Mean training loss about a step."""
    at = int(np.searchsorted(training.steps, step))
    width = max(3, len(training.losses) // 50)
    return float(np.mean(training.losses[max(0, at - width) : at + width]))


def kept(weights_kept: list[Fact], held: Evaluated, best: int) -> bool:
    """Did the program keep or put back weights near its best evaluation?"""
    low = held.steps[best - 1] if best else 0
    high = held.steps[min(best + 1, len(held.steps) - 1)]
    return any(low <= (f.place.step or 0) <= high or f["how"] == "loaded" and (f.place.step or 0) > high for f in weights_kept)


def finding(training: Training, held: Evaluated, best: int, end: float, then: float, now: float) -> Finding:
    step = int(held.steps[best])
    evidence = [
        ("loss on held-out rows at the end", end, f"{float(held.losses[best]):.4g}, as at step {step}"),
        ("training loss at the end", now, f"{then:.4g}, as at step {step}"),
        ("evaluations since the best one", len(held.losses) - best - 1, "0 to 3"),
        *([("held-out rows", int(held.rows), None)] if held.rows else []),  # a curve of another tool does not say how many
    ]
    says = f"since step {step} the loss on held-out rows rose from {float(held.losses[best]):.4g} to {end:.4g}"
    says += f" while the training loss fell from {then:.3g} to {now:.3g}"
    remedy = f"stop near step {step} (keep the weights of the best evaluation), or add weight decay, dropout or data, or take a smaller model"
    return Finding(says, held.place.but(step=step, estimator=None, tensor=None, stage="train"), evidence, remedy, confidence=0.85)
