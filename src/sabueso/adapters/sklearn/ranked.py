"""Inputs chosen by what a model made of all columns: was that model fitted with the answers of rows that are judged?"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...capture.lineage import sets, sight
from ...capture.lineage.uses import Fit, unique
from . import chosen

MOST_RANKED, MOST_SECONDS = 12, 0.15  # models whose weights are read, in CPU time of all
APART = 3.0  # times the weight of the first column left out
SHARE = 0.9  # of the chosen columns that are the model's first


@dataclass(slots=True)
class Ranked:
    """A model of many columns, and the weight that it gives to each."""

    fit: Fit
    weights: np.ndarray


def note(hooks: Any, fit: Fit, owner: Any) -> None:
    """Remember the weights of a model of many columns."""
    table = fit.known.table
    held = hooks.lineage.parts.setdefault("ranked", [])
    if table is None or fit.y is None or not fit.supervised or not hooks.recorder.wants("chosen") or len(held) >= MOST_RANKED:
        return
    if table.width < chosen.TIMES * chosen.LEAST or table.rows * table.width > chosen.MOST_CELLS or sum(r.fit.extra["ranking"] for r in held) > MOST_SECONDS:
        return
    began = time.thread_time()
    weights = getattr(owner, "coef_", None)
    weights = getattr(owner, "feature_importances_", None) if weights is None else weights
    if weights is None or getattr(weights, "shape", (0,))[-1] != table.width or hasattr(weights, "tocsr"):
        return
    weights = np.abs(np.asarray(weights, np.float64)).reshape(-1, table.width).max(axis=0)
    fit.extra["ranking"] = time.thread_time() - began
    if np.isfinite(weights).all() and weights.any():
        held.append(Ranked(fit, weights))


def look(hooks: Any, fit: Fit, call: Any) -> None:
    """The inputs are the first columns of a model that saw the judged rows' answers, and of none that saw training rows alone: told once a fit."""
    held: list[Ranked] = hooks.lineage.parts.get("ranked", [])
    mine, source, recorder = fit.known.table, fit.known.source, hooks.recorder
    if not held or mine is None or fit.y is None or len(fit.y) != mine.rows or not chosen.LEAST <= mine.width <= 300 or not mine.numeric.all():
        return
    judged = sets.without(unique(call.known), unique(fit.known))
    before = [r for r in held if r.fit.number < fit.number and r.fit.known.source is source and r.fit.known.table.width >= chosen.TIMES * mine.width]  # type: ignore[union-attr]
    if not before or len(judged) < 5 or any(m.selects for m in fit.known.makers) or not recorder.once("ranked", fit.name, mine.width, mine.rows):
        return
    firsts = [(r, len(sets.common(judged, r.fit.ids)), at) for r in before if (at := _first(r, fit)) is not None]
    saw = [(r, hits, share) for r, hits, share in firsts if hits > 0.5 * len(judged) and share >= SHARE]
    if not saw or any(not hits and share >= SHARE for _, hits, share in firsts):
        return
    ranking, hits, share = saw[-1]
    file, line = sight.line_of(ranking.fit.origin, fit.origin)
    told = {"model": fit.name, "table": source.name, "kept": mine.width, "columns": len(ranking.weights), "rows": len(ranking.fit.ids), "judged": len(judged),
            "by": ranking.fit.name, "hits": hits, "share": round(share, 3)}  # fmt: skip
    recorder.fact("chosen", told, stage="preprocess", estimator=fit.name, file=file or "", line=line)


def _first(ranking: Ranked, fit: Fit) -> float | None:
    """Share of a fit's columns that are the first ones by the model's weights; None where its columns or answers are others."""
    known, mine = ranking.fit.known, fit.known
    order = np.argsort(known.ids, kind="stable")
    at = order[np.minimum(np.searchsorted(known.ids[order], mine.ids), known.rows - 1)]
    both = np.flatnonzero(known.ids[at] == mine.ids)
    y, own = ranking.fit.y, fit.y
    if len(both) < 20 or y is None or own is None or not np.array_equal(y[at[both]], own[both]):
        return None
    columns = chosen.places(known.table, mine.table.take(both), at[both])  # type: ignore[union-attr]
    if columns is None:
        return None
    after, least = np.sort(ranking.weights)[-len(columns) - 1 :][:2]
    if after > 0 and least > APART * after:
        return None  # any rows would have chosen these
    if least > 0:
        return float((ranking.weights[columns] >= least).mean())
    used = np.flatnonzero(ranking.weights)
    return float(np.isin(used, columns).mean()) if len(used) >= chosen.LEAST else None
