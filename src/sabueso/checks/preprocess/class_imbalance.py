"""class-imbalance."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...scoring import ACCURACY, Confusion

SCORES = ("roc_auc_score", "average_precision_score", "roc_curve", "precision_recall_curve", "log_loss", "brier_score_loss", "det_curve")


@check(stage="preprocess", severity="warning")
def class_imbalance(
    metric: list[Fact], counterfactual: list[Fact] | None = None, targets: list[Fact] | None = None, *,
    missed: float = 0.1, found: float = 0.5, balanced: float = 0.75, ranks: float = 0.8,
) -> Iterator[Finding]:  # fmt: skip
    """One class is so rare in training that the model never answers it, though the inputs tell it apart.

    What it means
    -------------
    A classifier was fitted on rows of which less than a tenth belong to one class, with nothing that makes up for it.

    Why it is bad
    -------------
    Answering the frequent class is nearly free of loss, so the rare rows, mostly those that the model is for, are not found.

    Evidence
    --------
    The program's own metric has hardly a row of the rare class right (a tenth at most). The same model was fitted again on folds of its training
    rows, as they are and with the rare rows repeated until the classes are even: the rare class is found then (half of it and more) at a mean
    recall of the classes of 0.75. (Thresholds: our own. A class that the inputs don't tell apart stays at 0.5 however it is weighted.)
    A network is not fitted again: its scores behind the answers rank the rare class rightly (area under the ROC curve of 0.8 and more), so that
    it is the unweighted loss and the threshold that lose it.

    Remedy
    ------
    `class_weight="balanced"`, `scale_pos_weight`, resampling of the training rows alone, or a threshold chosen on validation rows.

    Fault
    -----
        import numpy as np
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import recall_score
        rng = np.random.default_rng(0)
        y = (rng.random(6000) < 0.02).astype(int)
        x = rng.normal(size=(6000, 3)) + 0.9 * y[:, None]
        model = LogisticRegression().fit(x[:4000], y[:4000])  # sabueso: class-imbalance
        print(recall_score(y[4000:], model.predict(x[4000:])))

    Control
    -------
        import numpy as np
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import recall_score
        rng = np.random.default_rng(0)
        y = (rng.random(6000) < 0.02).astype(int)
        x = rng.normal(size=(6000, 3)) + 0.9 * y[:, None]
        model = LogisticRegression(class_weight="balanced").fit(x[:4000], y[:4000])
        print(recall_score(y[4000:], model.predict(x[4000:])))

    References
    ----------
    He and Garcia, Learning from imbalanced data, 2009. King and Zeng, Logistic regression in rare events data, 2001.
    """
    yield from of_networks(metric, targets or [], missed, ranks)
    for fact in counterfactual or ():
        if fact["fault"] != "class-imbalance":
            continue
        before, after = fact["recall"]
        if before > missed or after < found or fact["after"] < balanced:
            continue
        file, line = fact["line"]
        yield Finding(
            says=f"class {fact['label']} makes up {fact['rows']} of {fact['of']} training rows and {fact['estimator']} finds {before:.0%} of it; "
            f"with the classes made even it finds {after:.0%}",
            place=fact.place.but(stage="preprocess", file=file, line=line, estimator=fact["estimator"]),
            evidence=[(f"recall of class {fact['label']}, cross-validated on the training rows", before, f"{after} with the classes made even"),
                      (f"training rows of class {fact['label']}", fact["rows"], f"of {fact['of']}")],
            remedy='set class_weight="balanced" (or scale_pos_weight), or resample the training rows', confidence=0.85,
            verified={"how": fact["how"], "before": fact["before"], "after": fact["after"]},
        )  # fmt: skip
        return


def of_networks(metric: list[Fact], targets: list[Fact], missed: float, ranks: float) -> Iterator[Finding]:
    """A network under an unweighted loss that ranks the rare class well and never answers it."""
    hard = [m for m in metric if m.get("ranked") and (m["metric"] not in ACCURACY or not any(o["metric"] in SCORES for o in metric))]
    found = next((m["ranked"] for m in hard if (m["ranked"]["auc"] or 0) >= ranks and m["ranked"]["recall"] <= missed), None)
    if found is None or any(_finds(m, found, missed) for m in metric if m["via"] == "call"):
        return
    for loss in reversed(targets):
        share = rare_share(loss)
        if share is None or not 0 < share <= 2 * found["rows"] / found["of"] or loss["baseline"] is None:
            continue
        rows = round(share * loss["count"])
        yield Finding(
            says=f"class {found['label']} makes up {share:.1%} of what {found['model']} learns from by an unweighted loss: its scores tell the class apart "
            f"(area under the curve {found['auc']:.2f}), and its answers find {found['recall']:.0%} of it",
            place=loss.place.but(stage="preprocess", **({"file": loss["built"][0], "line": loss["built"][1]} if loss.get("built") else {})),
            evidence=[(f"recall of class {found['label']}", found["recall"], f"> {missed}, of {found['rows']} rows"),
                      ("area under the ROC curve of the scores behind the answers", round(found["auc"], 3), "> 0.5"),
                      (f"targets of class {found['label']} in the steps looked at", rows, f"of {loss['count']}")],
            remedy="weight the loss (pos_weight=negatives / positives, or weight= by class), or choose the threshold on validation rows",
            confidence=0.85, verified="fact",
        )  # fmt: skip
        return


def rare_share(loss: Fact) -> float | None:
    """Share of the rarer of two classes in a loss's targets."""
    if loss["function"].startswith("binary_cross_entropy") and loss.get("columns") == 1:
        return min(loss["mean"], 1 - loss["mean"])
    counts = [c for c in loss.get("classes") or [] if c]
    return min(counts) / sum(counts) if len(counts) == 2 else None


def _finds(m: Fact, found: dict[str, object], missed: float) -> bool:
    """Does another metric of such labels have more of the class right (another threshold, another model)?"""
    counts = Confusion.of(m.get("last"))
    return counts is not None and m["metric"] not in SCORES and found["label"] in counts.truths and counts.recall(str(found["label"])) > missed
