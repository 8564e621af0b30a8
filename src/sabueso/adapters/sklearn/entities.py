"""Rows of one entity (patient, device), near copies of one another with one label, on both sides of a random cut by single rows.

Nothing is guessed from names: a column of the table that was cut, no input, repeats as ids do; the label is constant within it; the judged
rows' nearest training rows are of the same entity. The proof is a refit at the end with entities held apart, against one with rows held apart.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...capture import again
from ...capture.entities import CONSTANT, LEAST_ENTITIES, alike, repeats
from ...capture.lineage import sets, sight
from ...capture.lineage.fingerprints import Table, table_of
from ...capture.lineage.known import Known
from ...capture.lineage.registry import shape_of
from ...capture.lineage.uses import Fit, unique

MOST_ROWS, MOST_TRIED = 20_000, 1500
MOST_SECONDS = 0.8  # of CPU time for all refits; beyond it no further part stands aside
MOST_TREES = 30  # of a refit: the two cuts are compared with one another alone


def look(hooks: Any, fit: Fit, call: Any) -> None:
    """Is a random cut by rows one through entities? What is found is tried at the end, and told with its proof."""
    known, mine, recorder = call.known, fit.known, hooks.recorder
    source = known.source
    if not recorder.wants("groups_shared") or not recorder.wants("counterfactual") or mine.source is not source or fit.y is None or len(fit.y) != mine.rows:
        return
    if not 200 <= mine.rows + known.rows <= MOST_ROWS or mine.table is None or known.table is None or mine.resampled or known.rows < 30:
        return
    if sets.meet(unique(mine), unique(known)) or not recorder.once("entities", source.base, mine.width, known.rows):
        return
    train, judged = mine.ids - source.base, known.ids - source.base
    if min(train.min(), judged.min()) < 0 or max(train.max(), judged.max()) >= source.rows:
        return
    for name, codes in ids_beside(hooks.lineage, mine):
        ids = np.unique(codes, return_inverse=True)[1]
        near = alike(ids, train, judged, fit.y, mine.table, known.table)
        if near is not None:
            again.of(recorder).later(_trial(hooks, fit, call, name, ids, near))  # what is told needs its proof
            return


def folded(hooks: Any, fit: Fit, call: Any, folds: list[Any], where: dict[str, Any]) -> None:
    """The same of a cross-validation's first fold: `fit` holds all its rows, and a fold their positions."""
    known, source, recorder = fit.known, fit.known.source, hooks.recorder
    if not folds or not recorder.wants("groups_shared") or fit.y is None or known.table is None or known.resampled or not 200 <= known.rows <= MOST_ROWS:
        return
    rows = known.ids - source.base
    if rows.min() < 0 or rows.max() >= source.rows or len(unique(known)) < CONSTANT * known.rows or not recorder.once("entities", source.base, known.width):
        return
    train, judged = (p for p in folds[0])
    if len(judged) < 30:
        return
    for name, codes in ids_beside(hooks.lineage, known):
        ids = np.unique(codes, return_inverse=True)[1]
        near = alike(ids, rows[train], rows[judged], fit.y[train], known.table.take(train), known.table.take(judged))
        if near is not None:
            again.of(recorder).later(_trial(hooks, fit, call, name, ids, near, where))
            return


def ids_beside(lineage: Any, mine: Known) -> Iterator[tuple[str, np.ndarray]]:
    """(name, codes of all rows) of columns of the whole table that repeat as ids do, and that are no inputs nor made into inputs."""
    source, inputs = mine.source, set(mine.names or ())
    yield from _in_sight(mine)
    for other in lineage.known:
        if other.source is not source or other.rows != source.rows or other.table is None or not other.names or other.makers:
            continue
        rows = mine.ids - source.base
        for c in _repeating(other):
            name, codes = other.names[c], other.table.column(c)
            if not any(i == name or i.startswith(f"{name}_") for i in inputs) and not _among(mine.table, codes[rows]):
                yield name, codes


def _repeating(whole: Known) -> list[int]:
    """The columns of a whole table, in its order, that repeat as ids do: worked out once, as many parts may be judged."""
    held = whole.notes.get("repeating")
    if held is None:
        table = whole.table
        ordered = whole.exact and not (np.diff(whole.ids) < 0).any() and len(np.unique(whole.ids)) >= 0.98 * whole.rows
        width = min(len(whole.names or ()), table.width) if ordered and table is not None else 0
        held = whole.notes["repeating"] = [c for c in range(width) if repeats(table.column(c))]  # type: ignore[union-attr]
    return held  # type: ignore[no-any-return]


def _in_sight(mine: Known) -> Iterator[tuple[str, np.ndarray]]:
    """The same of arrays that the person holds beside the whole table: ids as text, or each in one stretch of rows (numbers of clusters lie anywhere)."""
    source, rows = mine.source, mine.ids - mine.source.base
    for frame in sight.user_frames():
        for name, value in sight.holdings(frame):
            table = table_of(value) if shape_of(value) == (source.rows,) else None
            if table is None or table.width != 1 or not repeats(codes := table.column(0)):
                continue
            stretches = 1 + int(np.count_nonzero(codes[1:] != codes[:-1]))
            if (not table.numeric[0] or stretches <= 1.1 * len(np.unique(codes))) and not _among(mine.table, codes[rows]):
                yield str(getattr(value, "name", None) or name), codes


def _among(table: Table | None, codes: np.ndarray) -> bool:
    """Is it one of the inputs in another code? (a measurement that is constant within an entity is no id that was given on purpose)"""
    own = np.unique(codes, return_inverse=True)[1]
    levels = len(np.unique(own))
    for j in range(table.width if table is not None else 0):
        held = table.take_column(j)  # type: ignore[union-attr]
        if held.numeric[0] and (held.floats() != np.round(held.floats())).any():
            continue
        column = np.unique(held.codes[:, 0], return_inverse=True)[1]
        if column.max() + 1 == levels and len(np.unique(own * np.int64(levels) + column)) == levels:
            return True
    return False


def _trial(hooks: Any, fit: Fit, call: Any, name: str, ids: np.ndarray, near: dict[str, Any], where: dict[str, Any] | None = None) -> Callable[[], None]:
    """Fits on a part of the training rows, judged on the others: cut by rows, and cut by entities."""
    lineage, known, source = hooks.lineage, fit.known, fit.known.source
    model, x, y = again.plain_clone(call.owner), again.values_of(known), fit.y
    mine = ids[known.ids - source.base]
    part = sight.cut_at(call.x, call.known.ids - source.base) if where is None else None
    held = {"column": name, "model": fit.name, "table": source.name, "part": part, "groups": near["entities"], **near}
    if where is None:
        where = {"file": part["file"], "line": part["line"]} if part else {"file": call.origin[0][0], "line": call.origin[0][1]} if call.origin else {}

    def trial() -> None:
        if model is None or x is None or source in lineage.parts.get("groups", {}):
            return  # the program splits by groups too: told by that
        chosen = np.random.default_rng(0).permutation(np.unique(mine))
        size = len(mine) / len(chosen)
        chosen = chosen[: max(LEAST_ENTITIES, int(MOST_TRIED / size))]
        rows = np.flatnonzero(np.isin(mine, chosen))
        told = held | _scores(model, framed(x, known), y, rows, mine, chosen)
        hooks.recorder.fact("groups_shared", told, stage="evaluate", column=name, estimator=fit.name, **where)

    return trial


def framed(x: np.ndarray, known: Known) -> Any:
    pandas = sys.modules.get("pandas")
    return pandas.DataFrame(x, columns=known.names) if pandas is not None and known.names and len(known.names) == x.shape[1] else x


def _scores(model: Any, x: Any, y: Any, rows: np.ndarray, ids: np.ndarray, chosen: np.ndarray) -> dict[str, Any]:
    """Score by rows and by entities, averaged over up to three parts that stand aside in turn, and what the commonest answer reaches."""
    classes = np.unique(y)
    labels = np.searchsorted(classes, y) if len(classes) <= 20 else y
    order = np.random.default_rng(1).permutation(len(rows)) % 3
    part = {int(e): i % 3 for i, e in enumerate(chosen)}
    cuts = {"before": order, "after": np.array([part[int(e)] for e in ids[rows]])}
    found: dict[str, list[float]] = {"before": [], "after": []}
    trees = {n: MOST_TREES for n, v in model.get_params().items() if n.rpartition("__")[2] == "n_estimators" and v and v > MOST_TREES}
    model.set_params(**trees)
    began = time.thread_time()
    for k in range(3):
        if k and time.thread_time() - began > MOST_SECONDS * k / 3:
            break
        for name, cut in cuts.items():
            fit, test = rows[cut != k], rows[cut == k]
            made = model.fit(take(x, fit), labels[fit])
            found[name].append(float(made.score(take(x, test), labels[test])))
    base = float(np.bincount(labels[rows]).max() / len(rows)) if len(classes) <= 20 else 0.0
    return {"before": round(float(np.mean(found["before"])), 4), "after": round(float(np.mean(found["after"])), 4), "base": round(base, 4)}


def take(x: Any, rows: np.ndarray) -> Any:
    return x.iloc[rows] if hasattr(x, "iloc") else x[rows]
