"""What the parts of a fitted pipeline remember of each column that it is given: mean and spread, categories, what gaps are filled with, its weight.

Read from the attributes that scikit-learn's kind of estimators set at fit, through pipelines, column transformers and wrappers. Nothing is called.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import thresholds

INNER = ("best_estimator_", "estimator_", "regressor_", "classifier_")  # where a wrapper keeps what it fitted
MOST_LEVELS = 2000
LOST = -1  # an output column that is made of several columns, or of one that is not known
Outputs = list[int] | None  # the input column behind each column that comes out


@dataclass(slots=True)
class Remembered:
    """One column of the input."""

    index: int
    mean: float | None = None
    sd: float | None = None
    scaler: str = ""
    levels: frozenset[str] | None = None
    encoder: str = ""
    pooled: bool = False  # rare and unknown levels have a bin of their own
    filled: float | None = None  # by an imputer, where no column says that it was a gap
    filler: str = ""
    indicated: bool = False
    scaled: bool = False
    thresholds: np.ndarray | None = None  # at which a forest asks about the column as it is given
    weight: float | None = None  # of its columns in the last model, where 1 is the mean over all columns


class Parts:
    """A walk through a fitted estimator."""

    def __init__(self) -> None:
        self.columns: dict[int, Remembered] = {}

    def of(self, j: int) -> Remembered:
        """The record of an input column."""
        return self.columns.setdefault(j, Remembered(j))

    def walk(self, owner: Any, at: list[int], names: list[str] | None, deep: int = 6) -> Outputs:
        """Follow the columns `at` through an estimator."""
        kind, has = type(owner).__name__, owner.__dict__ if hasattr(owner, "__dict__") else {}
        inner = next((has[a] for a in INNER if a in has and "estimators_" not in has), None)  # a forest keeps its pattern under the same name
        if deep == 0 or inner is not None:
            return self.walk(inner, at, names, deep - 1) if deep else None
        if isinstance(has.get("steps"), list):
            return self._steps(has["steps"], at, names, deep)
        if "transformers_" in has:
            return self._branches(owner, at, names, deep)
        if "statistics_" in has and "indicator_" in has:
            return self._imputer(owner, at)
        if isinstance(has.get("scale_"), np.ndarray) and "coef_" not in has and len(has["scale_"]) == len(at):
            return self._scaler(owner, kind, at)
        if isinstance(has.get("categories_"), list) and len(has["categories_"]) == len(at):
            return self._encoder(owner, kind, at)
        self._model(has, at)
        return None

    def _steps(self, steps: list[Any], at: list[int], names: list[str] | None, deep: int) -> Outputs:
        now: Outputs = at
        for _, step in steps:
            if now is None:
                return None
            if step is None or isinstance(step, str):
                continue
            now, names = self.walk(step, now, names, deep - 1), None
        return now

    def _branches(self, owner: Any, at: list[int], names: list[str] | None, deep: int) -> Outputs:
        fitted = [str(n) for n in getattr(owner, "feature_names_in_", [])]
        place = {n: at[j] for j, n in enumerate(names or fitted) if j < len(at)}
        order = [place.get(n, LOST) for n in fitted] if names and fitted else at
        parts: dict[str, Outputs] = {}
        for name, part, chosen in owner.transformers_:
            if isinstance(part, str) and part == "drop":
                continue
            some = _chosen(chosen, order, place)
            if some is None:
                continue
            known = not isinstance(part, str) and LOST not in some
            parts[name] = some if isinstance(part, str) else self.walk(part, some, None, deep - 1) if known else None
        slices = getattr(owner, "output_indices_", {})
        width = max((s.stop for s in slices.values()), default=0)
        out = [LOST] * width
        for name, found in parts.items():
            part = slices.get(name)
            if found is not None and part is not None and len(found) == part.stop - part.start:
                out[part] = found
        return out

    def _imputer(self, owner: Any, at: list[int]) -> Outputs:
        fills = owner.statistics_
        if len(fills) != len(at):
            return None
        kept = [j for j, v in zip(at, fills) if v == v or getattr(owner, "keep_empty_features", False)]
        for j, v in zip(at, fills):
            made = self.of(j)
            made.filler, made.indicated = type(owner).__name__, made.indicated or owner.indicator_ is not None
            if isinstance(v, (float, int, np.number)):
                made.filled = float(v)
        marks = getattr(owner.indicator_, "features_", [])
        return [*kept, *[LOST] * len(marks)]

    def _scaler(self, owner: Any, kind: str, at: list[int]) -> Outputs:
        means = getattr(owner, "mean_", None)
        for i, j in enumerate(at):
            if j == LOST:
                continue
            made = self.of(j)
            if isinstance(means, np.ndarray) and not made.scaled:
                made.mean, made.sd, made.scaler = float(means[i]), float(owner.scale_[i]), kind
            made.scaled = True
        return at

    def _encoder(self, owner: Any, kind: str, at: list[int]) -> Outputs:
        for j, levels in zip(at, owner.categories_):
            if j != LOST and len(levels) <= MOST_LEVELS and all(isinstance(v, str) or v is None or v != v for v in levels):
                made = self.of(j)
                made.levels, made.encoder, made.scaled = frozenset(v for v in levels if isinstance(v, str)), kind, True
                made.pooled = getattr(owner, "handle_unknown", "") == "infrequent_if_exist" or bool(getattr(owner, "_infrequent_enabled", False))
        counts = getattr(owner, "_n_features_outs", None)
        if counts is None:
            return at if kind == "OrdinalEncoder" else None
        return [j for j, n in zip(at, counts) for _ in range(n)]

    def _model(self, has: dict[str, Any], at: list[int]) -> None:
        """Weights of the last model: coefficients on scaled columns and of codes."""
        coefficients = has.get("coef_")
        if not isinstance(coefficients, np.ndarray) or coefficients.shape[-1] != len(at):
            return
        sizes = np.abs(coefficients.reshape(-1, len(at))).mean(axis=0)
        found: dict[int, float] = {}
        for j, size in zip(at, sizes):
            if j != LOST:
                found[j] = max(found.get(j, 0.0), float(size))
        self.weigh({j: w for j, w in found.items() if j in self.columns and self.columns[j].scaled})

    def weigh(self, found: dict[int, float]) -> None:
        """Weights relative to their mean."""
        mean = sum(found.values()) / max(len(found), 1)
        for j, w in found.items() if mean > 0 else ():
            self.of(j).weight = w / mean


class Forest(Parts):
    """The same with the importances that trees tell when asked: they are computed, so they are asked for once."""

    def _model(self, has: dict[str, Any], at: list[int]) -> None:
        super()._model(has, at)
        for j, held in thresholds.of_forest(has, at).items():
            if not self.of(j).scaled:
                self.of(j).thresholds = held
        trees = has.get("estimators_", has.get("tree_"))
        if trees is None:
            return
        parts = [getattr(t, "tree_", t) for t in np.ravel(np.array(trees, dtype=object))[:50]] if isinstance(trees, (list, np.ndarray)) else [trees]
        found: dict[int, float] = {}
        for tree in parts:
            if not hasattr(tree, "compute_feature_importances"):
                return
            for j, w in zip(at, tree.compute_feature_importances()):
                if j != LOST:
                    found[j] = found.get(j, 0.0) + float(w)
        self.weigh(found)


def remembered(owner: Any, width: int, names: list[str] | None) -> list[Remembered]:
    """What an estimator that was fitted elsewhere remembers of the columns that it is given now."""
    walk = Forest()
    walk.walk(owner, list(range(width)), names)
    return [c for j, c in sorted(walk.columns.items()) if 0 <= j < width]


def _chosen(chosen: Any, order: list[int], place: dict[str, int]) -> list[int] | None:
    """The input columns that a branch of a column transformer takes."""
    if isinstance(chosen, (str, int)):
        chosen = [chosen]
    if isinstance(chosen, slice):
        return order[chosen] if all(v is None or isinstance(v, int) for v in (chosen.start, chosen.stop)) else None
    if callable(chosen):
        return None
    return list(_each(list(chosen), order, place))


def _each(chosen: list[Any], order: list[int], place: dict[str, int]) -> Iterator[int]:
    if chosen and all(isinstance(c, (bool, np.bool_)) for c in chosen):
        yield from (j for j, c in zip(order, chosen) if c)
        return
    for c in chosen:
        yield place.get(c, LOST) if isinstance(c, str) else order[int(c)] if -len(order) <= int(c) < len(order) else LOST
