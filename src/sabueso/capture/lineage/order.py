"""Labels in the order of their rows: are they sorted, and do parts cut in that order lack what they are asked for?"""

from __future__ import annotations

from typing import Any

import numpy as np

from .fingerprints import table_of
from .registry import shape_of
from .sight import assigned, holdings, user_frames

MOST_CLASSES = 60
STARVED = 0.25  # a class is starved where its share in training is under a quarter of its share over all


def codes_of(y: Any) -> tuple[np.ndarray, bool] | None:
    """(labels as float64 numbers or codes, whether they are classes); None for what is no column of labels, nor one column a class."""
    shape = shape_of(y) if y is not None else None
    if shape is None or shape[0] < 8 or shape[0] > 2_000_000:
        return None
    if len(shape) > 1 and int(np.prod(shape[1:])) != 1:
        marked = one_hot(y, shape)
        return (marked, True) if marked is not None else None
    table = table_of(y)
    if table is None or table.width != 1:
        return None
    values = table.floats()[:, 0] if table.numeric[0] else table.codes[:, 0].astype(np.float64)
    return values, not table.numeric[0] and len(np.unique(values)) <= min(MOST_CLASSES, len(values) // 4) or is_classes(values)


def one_hot(y: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    """The number of the one column that is 1 in each row, where all others are 0."""
    if len(shape) != 2 or not 1 < shape[1] <= MOST_CLASSES or shape[0] < 4 * shape[1] or shape[0] * shape[1] > 2_000_000:
        return None
    table = table_of(y)
    if table is None or table.width != shape[1] or not table.numeric.all():
        return None
    values = table.floats()
    marks = (values == 1).sum(axis=1) == 1
    return values.argmax(axis=1).astype(np.float64) if marks.all() and (np.count_nonzero(values, axis=1) == 1).all() else None


def is_classes(values: np.ndarray) -> bool:
    """Whole numbers of few levels."""
    whole = bool(np.all(np.isfinite(values)) and np.all(values == np.round(values)))
    return whole and len(np.unique(values)) <= min(MOST_CLASSES, len(values) // 4)


def runs(values: np.ndarray) -> int:
    """Runs of equal neighbours."""
    return int(1 + np.count_nonzero(values[1:] != values[:-1])) if len(values) else 0


def is_sorted(values: np.ndarray, classes: bool) -> bool:
    """Classes in one run each (or hardly more), or numbers that only rise or only fall along the rows."""
    if classes:
        levels = len(np.unique(values))
        return levels > 1 and runs(values) <= levels + max(0, levels // 4)
    if not np.isfinite(values).all():
        return False
    step = np.diff(values)  # a trend in time has steps back; a table sorted by its label has none
    return len(np.unique(values)) > 8 and max((step >= 0).mean(), (step <= 0).mean()) > 0.995


def of_folds(y: Any, folds: list[tuple[np.ndarray, np.ndarray]]) -> dict[str, Any] | None:
    """Order of the labels and what the folds make of it."""
    held = codes_of(y)
    if held is None or len(folds) < 2:
        return None
    values, classes = held
    contiguous = all(len(t) and np.array_equal(t, np.arange(t[0], t[-1] + 1)) for _, t in folds)
    told = [lacking(values[a], values[t], values, classes) for a, t in folds if len(a) and len(t)]
    rows = np.array([len(t) for _, t in folds if len(t)])
    worst = int(np.argmax(told))
    return {
        "rows": len(values), "classes": classes, "sorted": is_sorted(values, classes), "contiguous": contiguous, "folds": len(folds),
        "lacking": round(float(np.dot(told, rows) / rows.sum()), 4), "worst_fold": worst, "worst": round(float(told[worst]), 4),
        "worst_rows": folds[worst][1][:50].tolist(), "runs": runs(values), "levels": len(np.unique(values)),
    }  # fmt: skip


def lacking(train: np.ndarray, test: np.ndarray, whole: np.ndarray, classes: bool) -> float:
    """Share of the test rows whose class, or whose neighbourhood of values, training hardly holds."""
    if classes:
        levels = np.unique(whole)
        share_all = np.array([(whole == v).mean() for v in levels])
        share_train = np.array([(train == v).mean() for v in levels])
        poor = levels[share_train < STARVED * share_all]
        return float(np.isin(test, poor).mean())
    edges = np.unique(np.quantile(whole, np.linspace(0, 1, 11)))
    if len(edges) < 4:
        return 0.0
    bins = lambda v: np.clip(np.searchsorted(edges, v, side="right") - 1, 0, len(edges) - 2)  # noqa: E731
    count = lambda v: np.bincount(bins(v), minlength=len(edges) - 1) / len(v)  # noqa: E731
    poor = np.flatnonzero(count(train) < STARVED * count(whole))
    return float(np.isin(bins(test), poor).mean())


def named(y: Any, lineage: Any) -> dict[str, Any] | None:
    """What the person calls these labels, the column that they are of where a frame in sight has it, and the line."""
    shape = shape_of(y)
    if shape is None:
        return None
    found: dict[str, Any] = {}
    mine = None
    for frame in user_frames():
        for name, value in holdings(frame):
            if value is y or (getattr(y, "base", None) is not None and value is y.base):
                found.setdefault("name", name)
                found.setdefault("line", assigned(frame, name)[0])
                found.setdefault("file", frame.f_code.co_filename)
            columns = getattr(value, "columns", None)
            if columns is None or shape_of(value)[0] != shape[0] or "column" in found:  # type: ignore[index]
                continue
            mine = table_of(y) if mine is None else mine
            column = same_column(value, mine)
            if column is not None:
                found |= {"column": column, "table": name, "table_line": assigned(frame, name)[0], "table_file": frame.f_code.co_filename}
    own = getattr(y, "name", None)
    if "column" not in found and isinstance(own, str):
        found["column"] = own
    return found or None


def same_column(frame: Any, labels: Any) -> str | None:
    """The column of a frame that holds just these labels."""
    for name in list(frame.columns)[:200]:
        try:
            other = table_of(frame[name])
        except Exception:
            continue
        if other is not None and other.codes.shape == labels.codes.shape and np.array_equal(other.codes, labels.codes):
            return str(name)
    return None
