"""Windows over one series: rows each of which is the one before it moved on by a step, cut at random, so that judged rows lie within training rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...capture.lineage import sets, sight
from ...capture.lineage.fingerprints import array_of, spaced
from ...capture.lineage.registry import shape_of
from ...capture.lineage.uses import Fit, place, unique

MOST_ROWS, MOST_WIDTH, LEAST_WIDTH = 100_000, 600, 4
LEAST_WINDOW, MOST_WINDOW = 8, 4000  # values of a window that features were made of
PAIRS = 400  # neighbours that are compared
FEW = 12  # of them that are compared first: a table of other rows is done with at once
SAME = 0.95  # of them that are the same window moved on
BETWEEN = 0.2  # share of judged rows with a training row on either side: half of all cut off at random leave 0.25, a cut in time or in blocks next to none


def look(hooks: Any, fit: Fit, call: Any) -> None:
    """Told once a fit, of rows that keep their numbers in one source."""
    mine, judged, recorder = fit.known, call.known, hooks.recorder
    if not recorder.wants("windows_shared") or mine.table is None or judged.table is None or mine.source is not judged.source:
        return
    width = mine.table.width
    if width != judged.table.width or width > MOST_WIDTH or not 100 <= mine.rows + judged.rows <= MOST_ROWS or judged.rows < 20:
        return
    if not recorder.once("windows", fit.name, width, place(call.origin)[1]):
        return
    order = np.argsort(mine.ids, kind="stable")
    ordered = mine.ids[order]
    some = spaced(judged.rows, PAIRS)
    some = some[between_of(judged.ids[some], ordered)]
    if len(some) < BETWEEN * min(judged.rows, PAIRS):
        return
    after = mine.table.floats(order[np.searchsorted(ordered, judged.ids[some] + 1)]) if width >= LEAST_WIDTH else None
    step = moved_on(judged.table.floats(some), after) if after is not None else None
    if step is None:
        step, width = _made_of(judged.source, judged.ids[some] - judged.source.base)
    if step is None or sets.meet(unique(mine), unique(judged)):
        return
    between = between_of(judged.ids, ordered)
    part = sight.cut_at(call.x, judged.ids - judged.source.base)
    file, line = (part["file"], part["line"]) if part else split_at(hooks.lineage, unique(judged)) or place(call.origin)
    rows = np.sort(judged.ids[between] - judged.source.base)
    told = {"model": fit.name, "rows": judged.rows, "between": int(between.sum()), "step": step, "width": width,
            "row_numbers": rows[rows >= 0][:50].tolist() if judged.source.as_read else []}  # fmt: skip
    recorder.fact("windows_shared", told, stage="preprocess", estimator=fit.name, file=file or "", line=line)


def split_at(lineage: Any, rows: np.ndarray) -> list[Any] | None:
    """Where a split gave these rows for one of its parts."""
    return next((place(at) for *parts, at in lineage.parts.get("splits", ()) if any(np.array_equal(unique(p), rows) for p in parts)), None)


def _made_of(source: Any, rows: np.ndarray) -> tuple[int | None, int]:
    """(step, width) of windows in sight, one a row of the source, that lie over one another as their numbers do: features were made of them."""
    for frame in sight.user_frames():
        for _, value in sight.holdings(frame):
            shape = shape_of(value)
            if shape is None or shape[0] != source.rows or len(shape) < 2 or type(value).__module__.partition(".")[0] not in ("numpy", "torch"):
                continue
            array = array_of(value)
            if array is None or array.dtype.kind not in "fiu" or rows.min() < 0 or rows.max() + 1 >= len(array):
                continue
            for axis in range(1, array.ndim):
                if LEAST_WINDOW <= array.shape[axis] <= MOST_WINDOW:
                    line = np.moveaxis(array, axis, -1)[(slice(None), *(0,) * (array.ndim - 2))]
                    step = moved_on(line[rows], line[rows + 1])
                    if step is not None:
                        return step, array.shape[axis]
    return None, 0


def between_of(ids: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Which rows have a training row just before and just after them?"""
    held = [ordered[np.minimum(np.searchsorted(ordered, ids + side), len(ordered) - 1)] == ids + side for side in (-1, 1)]
    return held[0] & held[1]


def moved_on(rows: np.ndarray, after: np.ndarray) -> int | None:
    """By how many columns the rows after are the rows moved on (to the left, or to the right), if nearly all are; None otherwise."""
    alive = np.ptp(rows, axis=1) > 0
    if alive.mean() < SAME:
        return None
    for step in range(1, rows.shape[1] // 2 + 1):
        for a, b in ((rows[:, step:], after[:, :-step]), (rows[:, :-step], after[:, step:])):
            if (a[:FEW] == b[:FEW]).all(axis=1).mean() > 0.5 and (a == b).all(axis=1).mean() >= SAME:
                return step
    return None
