"""Thresholds: where a forest fitted elsewhere asks about a column, beside the rows that it is given now."""

from __future__ import annotations

from typing import Any

import numpy as np

LEAST = 25  # thresholds of a column, before their range says where its values lay
MOST_TREES = 60
BEYOND = 0.8  # share of rows beyond the range of all thresholds, on one side
WITHIN = 0.9  # and within it once brought back
FORMS = {"logarithm of one more": np.log1p, "logarithm": np.log, "square root": np.sqrt, "exponential": np.exp}
FACTORS = (1000.0, 100.0, 10.0, 60.0, 3.6, 2.54, 2.20462, 1.609344)


def of_forest(has: dict[str, Any], at: list[int]) -> dict[int, np.ndarray]:
    """Sorted thresholds by input column of scikit-learn's trees, forests and histogram boosters. Read, never computed."""
    found: dict[int, list[np.ndarray]] = {}
    held = has.get("estimators_", has.get("tree_"))
    trees = list(np.ravel(np.array(held, dtype=object)))[:MOST_TREES] if isinstance(held, (list, np.ndarray)) else [held] if held is not None else []
    for tree in trees:
        tree = getattr(tree, "tree_", tree)
        feature, threshold = getattr(tree, "feature", None), getattr(tree, "threshold", None)
        if isinstance(feature, np.ndarray) and isinstance(threshold, np.ndarray):
            _put(found, feature, threshold, feature >= 0)
    for predictor in [p for stage in has.get("_predictors", [])[:MOST_TREES] for p in stage]:
        nodes = getattr(predictor, "nodes", None)
        if isinstance(nodes, np.ndarray) and nodes.dtype.names and {"feature_idx", "num_threshold", "is_leaf", "is_categorical"} <= set(nodes.dtype.names):
            _put(found, nodes["feature_idx"], nodes["num_threshold"], (nodes["is_leaf"] == 0) & (nodes["is_categorical"] == 0))
    return {at[j]: np.sort(np.concatenate(parts)) for j, parts in found.items() if j < len(at) and at[j] >= 0}


def _put(found: dict[int, list[np.ndarray]], feature: np.ndarray, threshold: np.ndarray, inner: np.ndarray) -> None:
    for j in np.unique(feature[inner]):
        found.setdefault(int(j), []).append(threshold[inner & (feature == j)].astype(np.float64))


def beyond(thresholds: np.ndarray, column: np.ndarray) -> dict[str, Any] | None:
    """Do nearly all rows lie beyond every threshold of a column? With the step that brings them back, where there is one."""
    good = column[np.isfinite(column)]
    if len(thresholds) < LEAST or len(np.unique(thresholds)) < LEAST // 2 or len(good) < 30:
        return None
    low, high = float(thresholds[0]), float(thresholds[-1])
    share = max(float((good > high).mean()), float((good < low).mean()))
    if share < BEYOND:
        return None
    form, factor = _form(good, thresholds), None
    if form is None:
        back = [f for u in FACTORS for f in (u, 1 / u) if fits(good / f, thresholds)]
        factor = back[0] if back else None
    return {"low": low, "high": high, "share": round(share, 4), "median": float(np.median(good)), "form": form, "factor": factor, "thresholds": len(thresholds)}


def fits(values: np.ndarray, thresholds: np.ndarray) -> bool:
    """Do values lie where the thresholds do, and are they spread over them?"""
    if not np.isfinite(values).all():
        return False
    within = (values >= thresholds[0]) & (values <= thresholds[-1])
    ranks = np.searchsorted(thresholds, values) / len(thresholds)
    return bool(within.mean() >= WITHIN and 0.2 < np.median(ranks) < 0.8 and np.ptp(np.quantile(ranks, [0.1, 0.9])) > 0.4)


def _form(values: np.ndarray, thresholds: np.ndarray) -> str | None:
    with np.errstate(all="ignore"):
        return next((name for name, of in FORMS.items() if fits(of(values), thresholds)), None)
