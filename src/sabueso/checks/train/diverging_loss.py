"""diverging-loss."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding

OTHERS = {"value", "critic", "actor", "policy", "q", "d", "g", "disc", "discriminator", "gen", "generator", "kl", "entropy", "aux", "reg"}


@check(stage="train", severity="error", leads_to=("nonfinite-loss", "overfitting"))
def diverging_loss(
    imported: list[Fact], train_loss: list[Series], *, least: int = 20, over_first: float = 100.0, over_best: float = 1000.0
) -> Iterator[Finding]:
    """The loss of an imported run grows without end.

    What it means
    -------------
    Of a run that sabueso did not watch only curves are known. A training loss that ends far above where it began has diverged: each step threw the
    weights further away than the last.
    Why it is bad
    -------------
    The weights at the end are worse than those before the first step.
    Evidence
    --------
    The median of the last tenth of the losses is a hundred times the first ones and a thousand times the best ones, and nothing in that tenth comes
    back to the first. Losses of which that can be right are left out by their names (critics, players of a game, divergences). A run that was watched
    is told its cause by other checks.
    Remedy
    ------
    A smaller learning rate, clipped gradients; the run once more under `sabueso run` says which step, layer and line it began with.
    Fault
    -----
        import numpy as np

        from sabueso.events import Fact, Series
        from sabueso.places import Place
        from sabueso.runs import Run

        steps = np.arange(200)
        values = np.where(steps < 100, np.exp(-steps / 30.0), np.exp((steps - 100) / 8.0))
        run = Run(facts=[Fact("imported", {"source": "runs/a"})], series=[Series("train_loss", Place("train", tensor="loss"), steps, values)])
    Control
    -------
        import numpy as np

        from sabueso.events import Fact, Series
        from sabueso.places import Place
        from sabueso.runs import Run

        steps = np.arange(200)
        values = np.exp(-steps / 30.0) + np.where(steps % 50 == 49, 300.0, 0.0)
        run = Run(facts=[Fact("imported", {"source": "runs/a"})], series=[Series("train_loss", Place("train", tensor="loss"), steps, values)])
    References
    ----------
    Goodfellow, Bengio and Courville 2016, section 8.2.4: cliffs and exploding gradients.
    """
    for series in train_loss:
        good = np.isfinite(series.values)
        steps, values = series.steps[good], series.values[good]
        if len(values) < least or (values <= 0).any() or OTHERS & set(re.split(r"[^a-z]+", (series.place.tensor or "").lower())):
            continue
        first, tail = float(np.median(values[: max(3, len(values) // 50)])), values[-max(3, len(values) // 10) :]
        best, end = float(np.quantile(values, 0.05)), float(np.median(tail))
        if end > over_first * first and end > over_best * best and tail.min() > first:
            yield finding(series, steps, values, first, best, end)
            return


def finding(series: Series, steps: np.ndarray, values: np.ndarray, first: float, best: float, end: float) -> Finding:
    """It began where the loss was last no higher than at first."""
    began = int(steps[np.flatnonzero(values <= first)[-1]])
    name = series.place.tensor or "the loss"
    evidence = [
        (f"'{name}' at the end", end, f"below {first:.4g}, as at first"),
        ("its best twentieth", best, None),
        ("its last step no higher than at first", began, int(steps[-1])),
    ]
    says = f"'{name}' grows from {first:.4g} to {end:.4g}; after step {began} it never came back"
    remedy = "lower the learning rate (a tenth first) or clip gradients; run it once more under `sabueso run` to see which layer and line it begins with"
    return Finding(says, series.place.but(step=began), evidence, remedy, confidence=0.8)
