"""Windows over one series: rows each of which is the one before it moved on by a step, cut at random, so that judged rows lie within training rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...capture.lineage import sight
from ...capture.lineage.uses import Fit, place, unique

MOST_ROWS, MOST_WIDTH, LEAST_WIDTH = 100_000, 600, 4
PAIRS = 400  # neighbours that are compared
SAME = 0.95  # of them that are the same window moved on
BETWEEN = 0.5  # share of judged rows with a training row on either side: a cut in time has next to none


def look(hooks: Any, fit: Fit, call: Any) -> None:
    """Told once a fit, of rows that keep their numbers in one source."""
    mine, judged, recorder = fit.known, call.known, hooks.recorder
    if not recorder.wants("windows_shared") or mine.table is None or judged.table is None or mine.source is not judged.source:
        return
    width = mine.table.width
    if width != judged.table.width or not LEAST_WIDTH <= width <= MOST_WIDTH or not 100 <= mine.rows + judged.rows <= MOST_ROWS or judged.rows < 20:
        return
    if len(np.intersect1d(unique(mine), unique(judged))) or not recorder.once("windows", fit.name, width, place(call.origin)[1]):
        return
    between = np.isin(judged.ids - 1, mine.ids) & np.isin(judged.ids + 1, mine.ids)
    if between.mean() < BETWEEN:
        return
    some = np.flatnonzero(between)
    some = some[:: max(1, len(some) // PAIRS)][:PAIRS]
    order = np.argsort(mine.ids, kind="stable")
    after = mine.table.floats(order[np.searchsorted(mine.ids[order], judged.ids[some] + 1)])
    step = moved_on(judged.table.floats(some), after)
    if step is None:
        return
    part = sight.cut_at(call.x, judged.ids - judged.source.base)
    file, line = (part["file"], part["line"]) if part else place(call.origin)
    rows = np.sort(judged.ids[between] - judged.source.base)
    told = {"model": fit.name, "rows": judged.rows, "between": int(between.sum()), "step": step, "width": width,
            "row_numbers": rows[rows >= 0][:50].tolist() if judged.source.as_read else []}  # fmt: skip
    recorder.fact("windows_shared", told, stage="preprocess", estimator=fit.name, file=file or "", line=line)


def moved_on(rows: np.ndarray, after: np.ndarray) -> int | None:
    """By how many columns the rows after are the rows moved on (to the left, or to the right), if nearly all are; None otherwise."""
    alive = np.ptp(rows, axis=1) > 0
    if alive.mean() < SAME:
        return None
    for step in range(1, rows.shape[1] // 2 + 1):
        for a, b in ((rows[:, step:], after[:, :-step]), (rows[:, :-step], after[:, step:])):
            if (a == b).all(axis=1).mean() >= SAME:
                return step
    return None
