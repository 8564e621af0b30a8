"""scikit-learn's kind of estimators (imbalanced-learn, xgboost and lightgbm are such too) and the rows that they are given.

Only calls made by the person's own code are looked at: what a pipeline or a search gives to its parts lies within the rows that it was
given itself. Which rows those are is found by content (see capture/lineage), so slicing needs no hooks.
"""

from __future__ import annotations

from collections.abc import Callable

from ...capture.recorder import Recorder
from .estimators import Estimators

LIBRARIES = ("sklearn.base",)
PROVIDES = (
    "column",
    "correlation",
    "row_use",
    "row_mismatch",
    "tell",
    "window",
    "choice",
    "groups_shared",
    "held_out",
    "counterfactual",
    "near_copies",
    "windows_shared",
    "chosen",
)


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook every estimator that there is and every one made later; returns the undo."""
    hooks = Estimators(recorder)
    if recorder.wants(*PROVIDES):
        hooks.install()
    return hooks.patches.undo
