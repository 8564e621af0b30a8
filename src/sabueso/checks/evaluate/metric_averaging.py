"""metric-averaging."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...scoring import Confusion

ADDITIVE = ("accuracy_score", "zero_one_loss", "hamming_loss", "mean_absolute_error", "mean_squared_error", "log_loss", "brier_score_loss",
            "mean_absolute_percentage_error", "mean_pinball_loss", "mean_poisson_deviance")  # fmt: skip


@check(stage="evaluate", severity="error")
def metric_averaging(
    metric: list[Fact] | None = None, batch_metric: list[Fact] | None = None, *, off: float = 0.02, largest_batch: int = 1024
) -> Iterator[Finding]:
    """A metric that is no mean over rows is averaged over batches.

    What it means
    -------------
    F1, precision, recall, R2 or an area under a curve is reckoned for each batch, and the values are added up or averaged.

    Why it is bad
    -------------
    Such a metric is a ratio of counts of all rows. Batches without a positive count as 0 or 1, so the mean depends on the batch size and the
    order of rows, and is not the metric.

    Evidence
    --------
    The mean of the batches' values beside the value of the same rows together, and the batches that hold one class only. That the values
    are gathered is seen in the variable that holds their running sum or list; a metric by hand is known by being equal, batch by batch, to
    what the batch's targets and answers give. Spoken where calls of one size follow each other (the last may
    be smaller) and both values differ by more than 0.02.

    Remedy
    ------
    Collect labels and answers of all batches and reckon the metric once.

    Fault
    -----
        import numpy as np
        from sklearn.metrics import f1_score
        rng = np.random.default_rng(0)
        y = (rng.random(1000) < 0.05).astype(int)
        guess = np.where(rng.random(1000) < 0.1, 1 - y, y)
        total = 0.0
        for i in range(0, 1000, 16):
            total += f1_score(y[i : i + 16], guess[i : i + 16], zero_division=0)  # sabueso: metric-averaging
        print(total / len(range(0, 1000, 16)))

    Control
    -------
        import numpy as np
        from sklearn.metrics import f1_score
        rng = np.random.default_rng(0)
        y = (rng.random(1000) < 0.05).astype(int)
        guess = np.where(rng.random(1000) < 0.1, 1 - y, y)
        truth, answers = [], []
        for i in range(0, 1000, 16):
            truth.append(y[i : i + 16])
            answers.append(guess[i : i + 16])
        print(f1_score(np.concatenate(truth), np.concatenate(answers)))

    References
    ----------
    Forman and Scholz, Apples-to-apples in cross-validation studies, 2010.
    """
    lines = set()
    for m in [*(metric or ()), *(batch_metric or ())]:
        if m["metric"] in ADDITIVE or m["via"] != "call" or m.get("hand") and m.place.line in lines:
            continue
        told = [(abs(mean - whole), mean, whole, g) for g in m.get("gathered") or [] if _is_batches(g, largest_batch)
                for mean in [g["weighted_mean"] if g["how"].startswith("weighted") else g["mean"]]
                if (whole := _whole(m, g)) is not None]  # fmt: skip
        worst = max(told, key=lambda t: t[0], default=None)
        if worst is None or worst[0] < off:
            continue
        _, mean, whole, g = worst
        lines.add(m.place.line)
        name = m["metric"].removesuffix("_score")
        held = "added up" if "sum" in g["how"] else "collected"
        empty = g.get("one_class") or 0
        yield Finding(
            says=f"{name} of {g['calls']} batches of {g['batch']} rows is {held} in {g['name']}: the mean is {mean:.3f}, {name} of all {g['rows']} "
            f"rows together is {whole:.3f}",
            place=m.place.but(tensor=g["name"]),
            evidence=[(f"mean of {name} over batches", round(mean, 4), round(whole, 4)), ("batches with one class only", empty, 0),
                      ("batches whose value is 0", g["zeros"], None), ("rows of a batch", g["batch"], None)],
            remedy="call update() for each batch and compute() once at the end" if "whole" in g else
            f"append labels and answers of each batch to lists and reckon {m['metric']} once on their concatenation",
            confidence=0.95, verified={"how": "the same rows' counts pooled", "before": round(mean, 4), "after": round(whole, 4)},
        )  # fmt: skip


def _is_batches(g: dict[str, Any], largest: int) -> bool:
    """Pieces cut by size, and not groups, pictures or folds: the last one is smaller, or all are small."""
    return g["calls"] >= 4 and g["batch"] <= largest and (not g["even"] or g["batch"] <= 512)


def _whole(m: Fact, g: dict[str, Any]) -> float | None:
    """The metric of all rows of the pass together."""
    if "whole" in g:
        return float(g["whole"])
    if m["metric"] == "roc_auc_score":
        return g.get("auc")
    if m["metric"] == "average_precision_score":
        return g.get("average_precision")
    if m["metric"] in ("r2_score", "root_mean_squared_error") and g.get("sums"):
        n, y, yy, squares, _ = g["sums"]
        total = yy - y * y / n if n else 0.0
        if m["metric"] == "r2_score":
            return 1 - squares / total if total > 0 else None
        return (squares / n) ** 0.5 if n else None
    counts = Confusion.of(g.get("pooled"))
    return counts.score(m["metric"], m.get("settings") or {}) if counts is not None else None
