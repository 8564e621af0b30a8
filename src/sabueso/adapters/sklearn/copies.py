"""Near copies: judged rows of which training holds the same row but for a little noise, with the very same label."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...capture import agreement
from ...capture.lineage import sets
from ...capture.lineage.fingerprints import spaced
from ...capture.lineage.uses import Fit, place, unique
from .overlaps import split_at

MOST_ROWS, ASKED = 20_000, 250
NEAR = 0.08  # of the distance to the 24th nearest: in four columns or more the nearest of unrelated rows lies at about half of it
LEAST_SHARE = 0.4  # of the judged rows
SAME = 0.97  # of their labels that are the near copy's
LEAST_WIDTH = 4
NEIGHBOURS = 24  # more than the copies of a row
LEAST_ROWS, NEARLY_ALL, HARDLY_ANY = 15, 0.8, 0.05  # of one class, where only that was multiplied


def look(hooks: Any, fit: Fit, call: Any, labels_in_sight: Any) -> None:
    """Told once a fit; exact copies are known by their rows and not looked for here."""
    mine, judged, recorder = fit.known.table, call.known.table, hooks.recorder
    if mine is None or judged is None or fit.y is None or not recorder.wants("near_copies") or mine.width != judged.width or mine.width < LEAST_WIDTH:
        return
    if not 100 <= mine.rows + judged.rows <= MOST_ROWS or judged.rows < 30 or len(fit.y) != mine.rows or mine.width > 200:
        return
    if sets.meet(unique(fit.known), unique(call.known)) or not recorder.once("near copies", fit.name, mine.width, place(call.origin)[1]):
        return
    asked = spaced(judged.rows, ASKED)
    both = agreement.prepared(np.concatenate([mine.floats(), judged.floats(asked)]))
    if both.shape[1] < LEAST_WIDTH:
        return
    nearest, ratio = _near(both[mine.rows :], both[: mine.rows])
    close = ratio < NEAR
    if close.sum() < LEAST_ROWS:
        return
    for y in labels_in_sight(call, fit):
        if close.mean() < LEAST_SHARE and not _of_one_class(close, y[asked]):
            continue
        same = y[asked][close] == fit.y[nearest[close]]
        if same.mean() < SAME or len(np.unique(y)) < 2:
            continue
        rows = np.sort(call.known.ids[asked[close]] - call.known.source.base)
        told = {"model": fit.name, "rows": judged.rows, "share": round(float(close.mean()), 3), "same": round(float(same.mean()), 3),
                "levels": len(np.unique(y)), "ratio": round(float(np.median(ratio[close])), 4), "train_rows": mine.rows,
                "row_numbers": rows[rows >= 0][:50].tolist() if call.known.source.as_read else []}  # fmt: skip
        source = call.known.source
        file, line = (source.file, source.line) if source.line else split_at(hooks.lineage, unique(call.known)) or place(call.origin)
        recorder.fact("near_copies", told, stage="preprocess", estimator=fit.name, file=file or "", line=line)
        return


def _of_one_class(close: np.ndarray, y: np.ndarray) -> bool:
    """Are nearly all rows of one class such copies, and hardly any of the others? (a rare class was multiplied)"""
    levels, codes = np.unique(y, return_inverse=True)
    if not 2 <= len(levels) <= 20:
        return False
    count = np.bincount(codes)
    share = np.bincount(codes, close) / count
    first = int((share * (count >= LEAST_ROWS)).argmax())
    return bool(count[first] >= LEAST_ROWS and share[first] >= NEARLY_ALL and close[codes != first].mean() <= HARDLY_ANY)


def _near(asked: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(nearest row, its distance by that of the last of the nearest ones, 1 where it is no distance at all) of each row asked about."""
    near = agreement.neighbours(asked, rows, NEIGHBOURS)
    away = np.sqrt(((asked[:, None, :].astype(np.float64) - rows[near]) ** 2).sum(axis=2))
    order = np.argsort(away, axis=1)
    first = np.take_along_axis(away, order[:, :1], axis=1)[:, 0]
    last = np.take_along_axis(away, order[:, -1:], axis=1)[:, 0]
    ratio = np.where((first > 0) & (last > 0), first / np.maximum(last, 1e-300), 1.0)
    return near[np.arange(len(near)), order[:, 0]], ratio
