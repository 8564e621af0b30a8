"""Inputs and labels out of two tables with one key: do both tables stand in the order of the same keys?"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import agreement, summarise
from . import sight
from .fingerprints import spaced
from .known import Known
from .registry import shape_of

LEAST, MOST = 50, 200_000
BETTER = 0.75  # the neighbours' error with the labels brought into the inputs' order, as a share of that as they stand: at most


def look(x: Any, y: Any, known: Known | None) -> dict[str, Any] | None:
    """What is out of step; None where no two tables in sight show it, or where the other order tells the labels no better."""
    return _in_sight(x, y) or (_by_source(x, y, known) if known is not None else None)


def _in_sight(x: Any, y: Any) -> dict[str, Any] | None:
    """Both tables are at hand with as many rows as the fit has."""
    shape = shape_of(x)
    if y is None or shape is None or len(shape) != 2 or not LEAST <= shape[0] <= MOST or shape_of(y) != (shape[0],):
        return None
    labels = summarise.values(y)
    first, last = _column(x, 0), _column(x, shape[1] - 1)
    if labels.dtype.kind not in "iuf" or first is None or last is None:
        return None
    frames = _frames(shape[0])
    inputs = [h for h in frames if _has(h[1], first) and _has(h[1], last)]
    of_labels = [h for h in frames if _has(h[1], labels)]
    if not inputs or not of_labels or any(a[1] is b[1] for a in inputs for b in of_labels):
        return None
    for mine in inputs:
        for theirs in of_labels:
            told = _unlike(mine, theirs, x, labels)
            if told is not None:
                return told
    return None


def _by_source(x: Any, y: Any, known: Known) -> dict[str, Any] | None:
    """The inputs' rows are known by content in a table that has the key; the labels are a stretch of a column of another that has it too."""
    source, shape = known.source, shape_of(x)
    whole = source.ref() if source.ref is not None else None
    rows = known.ids - source.base
    if whole is None or not known.exact or shape is None or len(shape) != 2 or not LEAST <= shape[0] <= MOST or shape_of(y) != (shape[0],):
        return None
    if not summarise.is_frame(whole) or summarise.height(whole) != source.rows or (rows < 0).any() or (rows >= source.rows).any():
        return None
    labels = summarise.values(y)
    if labels.dtype.kind not in "iuf" or len(np.unique(labels[:1000])) < 2:
        return None
    for name, theirs, frame in _frames(None):
        start = _stretch(theirs, labels) if theirs is not whole else None
        told = _other_keys(whole, rows, theirs, start, x, labels) if start is not None else None
        if told is not None:
            line = max([sight.assigned(f, n)[0] or 0 for n, _, f in _given_by(x, whole, theirs, frame)] or [0]) or sight.assigned(frame, name)[0]
            return {**told, "how": "key", "name": name, "inputs": source.name, "file": frame.f_code.co_filename, "line": line, "right": None}
    return None


def _given_by(x: Any, whole: Any, theirs: Any, frame: Any) -> list[tuple[str, Any, Any]]:
    """Tables of that frame, other than the two, that hold the first column of the inputs: where these got their order."""
    first = _column(x, 0)
    held = [h for h in _frames(None) if h[2] is frame and h[1] is not whole and h[1] is not theirs]
    return [h for h in held if first is not None and _stretch(h[1], first) is not None]


def _stretch(frame: Any, labels: np.ndarray) -> int | None:
    """Where the labels stand, one after the other, in a column of a table."""
    for name in summarise.columns_of(frame)[:60]:
        column = summarise.column(frame, name)
        if column.dtype.kind in "iuf" and len(column) >= len(labels):
            for start in np.flatnonzero(column[: len(column) - len(labels) + 1] == labels[0])[:16]:
                if np.array_equal(column[start : start + len(labels)], labels):
                    return int(start)
    return None


def _other_keys(whole: Any, rows: np.ndarray, theirs: Any, start: int, x: Any, labels: np.ndarray) -> dict[str, Any] | None:
    """A key of both tables that is another one for a row's inputs than for its label, and by which the labels fit better."""
    for key in [c for c in summarise.columns_of(whole) if c in summarise.columns_of(theirs)][:20]:
        a, b = summarise.column(whole, key), summarise.column(theirs, key)
        if a.dtype.kind != b.dtype.kind or a.dtype.kind == "f" or len(set(a.tolist())) < len(a) or len(set(b.tolist())) < len(b):
            continue
        mine, given = a[rows], b[start : start + len(rows)]
        out = np.flatnonzero(mine != given)
        place = {k: i for i, k in enumerate(given.tolist())}
        at = np.array([place.get(k, -1) for k in mine.tolist()])
        some = np.flatnonzero(at >= 0)
        if len(out) < 0.02 * len(rows) + 3:
            return None
        if len(some) < max(LEAST, 0.3 * len(rows)):
            continue
        if _better(x[some] if not hasattr(x, "iloc") else x.iloc[some], labels[some], labels[at[some]]):
            return {"rows": len(rows), "out": len(out), "key": key, "at": int(out[0]), "first_input": str(mine[out[0]]), "first_label": str(given[out[0]]),
                    "out_rows": rows[out][:50].tolist()}  # fmt: skip
    return None


def _frames(rows: int | None) -> list[tuple[str, Any, Any]]:
    """(name, table, frame of the program) of the tables in sight, all or those with as many rows."""
    found: list[tuple[str, Any, Any]] = []
    for frame in sight.user_frames():
        for name, value in sight.holdings(frame):
            if summarise.is_frame(value) and (rows is None or summarise.height(value) == rows) and not any(value is f[1] for f in found) and len(found) < 8:
                found.append((name, value, frame))
    return found


def _column(x: Any, j: int) -> np.ndarray | None:
    try:
        held = summarise.values(x.iloc[:, j] if hasattr(x, "iloc") else x[:, j])
    except Exception:
        return None
    return held if held.dtype.kind in "iuf" else None


def _has(frame: Any, values: np.ndarray) -> bool:
    """Is one of a table's columns just these values?"""
    some = spaced(len(values), 8)
    for name in summarise.columns_of(frame)[:60]:
        try:
            held = summarise.column(frame, name)
        except Exception:
            continue
        if held.dtype.kind in "iuf" and np.array_equal(held[some], values[some]) and np.array_equal(held, values):
            return True
    return False


def _unlike(mine: tuple[str, Any, Any], theirs: tuple[str, Any, Any], x: Any, labels: np.ndarray) -> dict[str, Any] | None:
    """A column of one name and of the same keys, each once, in both tables, in different orders."""
    for name in [c for c in summarise.columns_of(mine[1]) if c in summarise.columns_of(theirs[1])][:20]:
        a, b = summarise.column(mine[1], name), summarise.column(theirs[1], name)
        if a.dtype.kind != b.dtype.kind or len(set(a.tolist())) < len(a) or set(a.tolist()) != set(b.tolist()):
            continue
        if np.array_equal(a, b):
            return None
        at = np.argsort(b)[np.argsort(np.argsort(a))]
        out = np.flatnonzero(at != np.arange(len(at)))
        if len(out) < 0.02 * len(at) + 3 or not _better(x, labels, labels[at]):
            continue
        line = max((h[2], sight.assigned(h[2], h[0])[0] or 0) for h in (mine, theirs))[1] if mine[2] is theirs[2] else sight.assigned(mine[2], mine[0])[0]
        return {"how": "key", "rows": len(at), "out": len(out), "name": theirs[0], "inputs": mine[0], "key": name, "file": mine[2].f_code.co_filename,
                "line": line, "at": int(out[0]), "first_input": str(a[out[0]]), "first_label": str(b[out[0]]), "out_rows": out[:50].tolist(),
                "right": None}  # fmt: skip
    return None


def _better(x: Any, labels: np.ndarray, moved: np.ndarray) -> bool:
    """Do the labels in the inputs' order agree better with the inputs?"""
    rows = spaced(len(labels), 800)
    columns = [c for j in range(min(shape_of(x)[1], 40)) if (c := _column(x, j)) is not None]  # type: ignore[index]
    features = agreement.prepared(np.column_stack(columns)[rows])
    if not features.shape[1]:
        return False
    near = agreement.neighbours(features, features, 8, same=True)

    def error(y: np.ndarray) -> float:
        return float(((y[near].mean(axis=1) - y) ** 2).mean() / max(float(y.var()), 1e-300))

    return error(moved[rows].astype(float)) < BETTER * error(labels[rows].astype(float))
