"""Thresholds: where a forest fitted elsewhere asks about a column, beside the rows that it is given now."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..shifts import AFFINE

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
    for j, values in _of_text(has):
        found.setdefault(j, []).append(values)
    return {at[j]: np.sort(np.concatenate(parts)) for j, parts in found.items() if j < len(at) and at[j] >= 0}


def _of_text(has: dict[str, Any]) -> Iterator[tuple[int, np.ndarray]]:
    """(column, thresholds) of a booster of LightGBM or XGBoost, from the text that it describes itself by."""
    booster = has.get("_Booster")
    kind = type(booster).__module__.partition(".")[0]
    if kind == "lightgbm":
        text = booster.model_to_string(num_iteration=MOST_TREES)
        for features, cuts in zip(re.findall(r"^split_feature=(.*)$", text, re.M), re.findall(r"^threshold=(.*)$", text, re.M)):
            at, values = np.array(features.split(), int), np.array(cuts.split(), float)
            for j in np.unique(at) if "num_cat=0" in text else ():
                yield int(j), values[at == j]
    elif kind == "xgboost":
        names = booster.feature_names or []
        for j, cut in re.findall(r"\[([^\[\]<]+)<([-+.\deE]+)\]", "\n".join(booster.get_dump()[:MOST_TREES])):
            number = names.index(j) if j in names else int(j[1:]) if j[1:].isdigit() else -1
            if number >= 0:
                yield number, np.array([float(cut)])


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
        affine = [(a, b, unit) for slope, by, unit in AFFINE for a, b in ((slope, by), (1 / slope, -by / slope)) if fits((good - b) / a, thresholds)]
        factor, offset, pair = affine[0] if factor is None and affine else (factor, 0.0, "")
    else:
        offset, pair = 0.0, ""
    told = {"form": form, "factor": factor, "offset": offset, "pair": pair, "thresholds": len(thresholds)}
    return told | {"low": low, "high": high, "share": round(share, 4), "median": float(np.median(good))}


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
