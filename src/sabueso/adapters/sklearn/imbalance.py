"""Imbalance: a classifier whose rare class is never answered, tried again at the end with that class's rows repeated.

Whether the rare class is found is read from the metrics that the program reckons itself; without one that sees it nothing is tried.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ...capture import again
from ...capture.lineage.uses import Fit
from ...capture.scores import LABELS, Site, label_text
from .entities import framed, take

RARE, FEWEST, CLASSES = 0.1, 12, 10
MISSED = 0.1  # share of the rare class that is found, at most
MOST_CELLS = 150_000
FOLDS = 3
WEIGHTED = ("class_weight", "scale_pos_weight", "is_unbalance", "auto_class_weights", "sampling_strategy", "priors", "class_prior")


def look(hooks: Any, fit: Fit, call: Any, given: dict[str, Any]) -> None:
    """After a fit: is a class rare and nothing done about it?"""
    if fit.y is None or given or len(fit.y) != call.known.rows or not hooks.recorder.wants("counterfactual") or not hasattr(call.owner, "classes_"):
        return
    classes, counts = np.unique(fit.y, return_counts=True)
    if (
        not 2 <= len(classes) <= CLASSES
        or not FEWEST <= counts.min() <= RARE * len(fit.y)
        or counts.max() < (1 - 2 * RARE) * len(fit.y)
        or weighted(call.owner)
    ):
        return
    if not call.origin or not hooks.recorder.once("imbalance", *call.origin[0][:2]):
        return
    model, values = again.plain_clone(call.owner), again.values_of(call.known, MOST_CELLS)
    if model is not None and values is not None:
        again.of(hooks.recorder).later(Trial(hooks.recorder, model, framed(values, call.known), np.array(call.y).ravel(), call.origin))


def weighted(owner: Any) -> bool:
    """Is any of an estimator's settings there to make up for rare classes?"""
    return any(v is not None and k.rpartition("__")[2] in WEIGHTED and v not in (1, 1.0, False) for k, v in owner.get_params(deep=True).items())


class Trial:
    """Cross-validated as it is and with the rare classes' rows repeated, if the program's own metrics show that the rare class is missed."""

    def __init__(self, recorder: Any, model: Any, x: np.ndarray, y: np.ndarray, origin: Any) -> None:
        self.recorder, self.model, self.x, self.y, self.origin = recorder, model, x, y, origin

    def __call__(self) -> dict[str, Any] | None:
        classes, counts = np.unique(self.y, return_counts=True)
        rare = classes[counts.argmin()]
        if not missed(self.recorder.shared.get("metric_sites", {}), label_text(rare)):
            return None
        plain, even = self.answers(False), self.answers(True)
        recall = [float((a == rare)[self.y == rare].mean()) for a in (plain, even)]
        balanced = [float(np.mean([(a == c)[self.y == c].mean() for c in classes])) for a in (plain, even)]
        return {"fault": "class-imbalance", "label": label_text(rare), "rows": int(counts.min()), "of": len(self.y), "recall": [round(r, 3) for r in recall],
                "before": round(balanced[0], 3), "after": round(balanced[1], 3), "line": list(self.origin[0][:2]),
                "estimator": type(self.model).__name__, "how": f"{FOLDS} folds of the training rows, as they are and with the rare rows repeated"}  # fmt: skip

    def answers(self, even: bool) -> np.ndarray:
        """Each row's answer by a model that did not see it."""
        folds = sys.modules["sklearn.model_selection"].StratifiedKFold(FOLDS, shuffle=True, random_state=0)
        out = np.empty_like(self.y)
        for train, test in folds.split(self.x, self.y):
            rows = repeated(self.y, train) if even else train
            out[test] = sys.modules["sklearn.base"].clone(self.model).fit(take(self.x, rows), self.y[rows]).predict(take(self.x, test)).ravel()
        return out


def repeated(y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The rows, those of each class repeated until it has as many as the largest."""
    classes, counts = np.unique(y[rows], return_counts=True)
    return np.concatenate([np.resize(rows[y[rows] == c], counts.max()) for c in classes])


def missed(sites: dict[Any, Site], rare: str) -> bool:
    """Does a metric of labels that the program reckoned last show that the class is hardly ever answered rightly?"""
    for site in sites.values():
        counts = site.counts[-1] if site.metric in LABELS and site.via == "call" and site.counts else None
        if counts is None:
            continue
        truths = {t: sum(n for (other, _), n in counts.items() if other == t) for t, _ in counts}
        if rare in truths and truths[rare] >= 5 and truths[rare] <= 2 * RARE * sum(truths.values()) and counts.get((rare, rare), 0) <= MISSED * truths[rare]:
            return True
    return False
