"""Inputs that give the answer away: copies of it, gaps that tell it, running numbers sorted by it, means of it over the rows themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...capture.lineage.fingerprints import Table, spaced
from . import hindsight, rates

MOST_ROWS = 200_000
MOST_COLUMNS = 200
SURE = 0.98  # share of rows in which gaps and label agree
FIRST_LOOK = 2000  # rows in which a pattern must show before all are looked at
LEAST = 40  # rows under which agreement may be chance


def telling(table: Table, y: np.ndarray, names: list[str] | None) -> list[dict[str, Any]]:
    """What single columns tell of the labels of the same rows."""
    if not LEAST <= table.rows <= MOST_ROWS or table.width > MOST_COLUMNS or len(y) != table.rows or not np.isfinite(y).all():
        return []
    some = spaced(table.rows, FIRST_LOOK)
    found = patterns(table.floats(some), y[some], names, table.numeric, table.rows)
    if len(some) < table.rows and found:  # what a part of the rows shows must hold for all
        columns, seen = sorted({f["position"] for f in found}), {f["position"]: f.get("next") for f in found}
        values = np.full((table.rows, table.width), np.inf)
        values[:, columns] = Table(table.codes[:, columns], None, table.numeric[columns]).floats()
        found = [f | ({"next": seen[f["position"]]} if "next" in f else {}) for f in patterns(values, y, names, table.numeric, table.rows)]
    return found


def patterns(values: np.ndarray, y: np.ndarray, names: list[str] | None, numeric: np.ndarray, rows: int) -> list[dict[str, Any]]:
    """The patterns in these rows of `rows` in all."""
    found: list[dict[str, Any]] = []
    levels = np.unique(y)
    if len(levels) == 2:
        found += by_gaps(np.isnan(values) & numeric, y == levels[1], names)
    if 2 <= len(levels) <= 20:
        found += running_numbers(values, y, names, rows)
    if len(levels) == 2:
        found += hindsight.filled_after(values, y == levels[1], names)
    if values.shape[1] >= 3:
        found += copies(values, y, names, len(levels))
        found += hindsight.images(values, y, names) if len(levels) > 20 else []
    return found


def by_gaps(gaps: np.ndarray, positive: np.ndarray, names: list[str] | None) -> list[dict[str, Any]]:
    """Columns that are empty just where the label is one of two."""
    found = []
    rare = min(positive.mean(), 1 - positive.mean())
    rates = gaps.mean(axis=0)
    for j in np.flatnonzero((rates > 0.02) & (rates < 0.98)):
        same = float((gaps[:, j] == positive).mean())
        agreement = max(same, 1 - same)
        if agreement >= SURE and 1 - agreement < 0.1 * rare:
            some = [i for i in np.flatnonzero((rates > 0) & (rates < 1)) if i != j]
            other = max((abs(float(np.corrcoef(gaps[:, i], positive)[0, 1])) for i in some), default=0.0)
            found.append({"how": "gaps", "column": called(names, j), "position": int(j), "agreement": round(agreement, 4),
                          "rows": len(positive), "gaps": int(gaps[:, j].sum()), "next": round(other, 3)})  # fmt: skip
    return found


def running_numbers(values: np.ndarray, y: np.ndarray, names: list[str] | None, rows: int) -> list[dict[str, Any]]:
    """Columns that number the rows without repeats, the rows being sorted by the label: a threshold on the number is the answer."""
    found = []
    n, levels = len(y), len(np.unique(y))
    if min(np.unique(y, return_counts=True)[1]) < 10:
        return []
    for j in range(values.shape[1]):
        column = values[:, j]
        if not np.isfinite(column).all() or (column != np.round(column)).any() or len(np.unique(column)) < n:
            continue
        span = column.max() - column.min() + 1
        ordered = y[np.argsort(column, kind="stable")]
        runs = int(1 + np.count_nonzero(ordered[1:] != ordered[:-1]))
        if span <= 5 * rows and runs <= levels + 1:
            found.append({"how": "running number", "column": called(names, j), "position": j, "agreement": 1.0, "rows": n,
                          "runs": runs, "levels": levels})  # fmt: skip
    return found


def copies(values: np.ndarray, y: np.ndarray, names: list[str] | None, levels: int) -> list[dict[str, Any]]:
    """Columns that are the target itself: another unit of it, or a code for each of its classes."""
    found = []
    n = len(y)
    for j in range(values.shape[1]):
        column = values[:, j]
        if not np.isfinite(column).all() or column.std() == 0:
            continue
        if levels > 20:
            r = float(np.corrcoef(column, y)[0, 1])
            if abs(r) > 0.999999 and len(np.unique(column)) > 20:
                found.append({"how": "copy", "column": called(names, j), "position": j, "agreement": round(abs(r), 6), "rows": n})
        elif len(np.unique(column)) == levels and len({(a, b) for a, b in zip(column.tolist(), y.tolist())}) == levels:
            found.append({"how": "copy", "column": called(names, j), "position": j, "agreement": 1.0, "rows": n})
    return found


def target_means(train: Table, y_train: np.ndarray, judged: Table, y_judged: np.ndarray, names: list[str] | None,
                 keys: Callable[[], list[np.ndarray]] = list) -> list[dict[str, Any]]:  # fmt: skip
    """Columns of which each value is the mean of the target over the rows, of both parts together, that have it; not so in training alone."""
    if train.width != judged.width or train.rows + judged.rows > MOST_ROWS or train.width > MOST_COLUMNS:
        return []
    found, n = [], train.rows
    for what, y in rates.targets(np.concatenate([y_train, y_judged])):
        for j in [j for j in _near(train, y[:n]) if not any(f["position"] == j for f in found)]:
            column = np.concatenate([t.take_column(j).floats()[:, 0] for t in (train, judged)])
            if not np.isfinite(column).all() or not rates.rises(column, y):
                continue
            r = float(np.corrcoef(column[n:], y[n:])[0, 1]) if judged.rows > 2 and column[n:].std() > 0 else float("nan")
            for way, key in (*((w, None) for w in (rates.is_mean, rates.is_drawn)), *((rates.is_drawn, k) for k in keys() if rates.may_be(column))):
                count = way(column, y) if key is None else way(column, y, key)
                if count is not None and not _honest(way, column, y, n, r, key):
                    found.append({"how": "target mean", "column": called(names, j), "position": j, "agreement": round(r, 3), "rows": len(y), "of": what,
                                  "drawn": way is rates.is_drawn, "levels": len(count), "per_level": int(np.median(count)),
                                  "alone": round(_explained(column[:n], y[:n], float(np.ptp(y)) or 1.0), 3)})  # fmt: skip
                if count is not None:
                    break
    return found


def means_of_whole(train: Table, y_train: np.ndarray, whole: Table, y: np.ndarray) -> list[dict[str, Any]]:
    """The same where training and judged rows are parts of a greater table (that has a history beside them): means over all of its rows."""
    found = []
    if whole.rows > MOST_ROWS or not train.names or not np.isfinite(y).all():
        return []
    for j in _near(train, y_train):
        name = train.names[j]
        if name not in (whole.names or ()):
            continue
        column = whole.take_column(whole.names.index(name)).floats()[:, 0]  # type: ignore[union-attr]
        if not np.isfinite(column).all() or not rates.rises(column, y):
            continue
        for way in (rates.is_mean, rates.is_drawn):
            count = way(column, y)
            if count is not None:
                r = float(np.corrcoef(column, y)[0, 1])
                found.append({"how": "target mean", "column": name, "position": int(j), "agreement": round(r, 3), "rows": whole.rows, "of": "the target",
                              "drawn": way is rates.is_drawn, "levels": len(count), "per_level": int(np.median(count)), "whole": True})  # fmt: skip
                break
    return found


def _honest(way: Any, column: np.ndarray, y: np.ndarray, n: int, r: float, key: np.ndarray | None) -> bool:
    """Does training by itself give these values, and are those of the judged rows (the last ones) not made of their own answers?"""
    if way is rates.is_drawn:
        return way(column[:n], y[:n], key if key is None else key[:n]) is not None
    scale = float(np.ptp(y)) or 1.0
    if _explained(column[:n], y[:n], scale) < 0.95:
        return False
    count = rates.is_mean(column[n:], y[n:])
    return count is None or len(count) < 10 or r > 0.999


def _near(train: Table, y: np.ndarray) -> np.ndarray:
    """The columns that lie, by a part of the rows, where the target lies: a column of its means differs from it by noise alone, of mean zero."""
    some = spaced(train.rows, FIRST_LOOK)
    away = train.floats(some) - y[some, None]
    with np.errstate(all="ignore"):
        noise = away.std(axis=0) / np.sqrt(len(some))
        return np.flatnonzero(np.abs(away.mean(axis=0)) <= 12 * noise + 0.2 * y.std())  # so much may the judged rows' target differ


def _explained(column: np.ndarray, y: np.ndarray, scale: float) -> float:
    """Share of a column's values that are means of the target within these rows alone."""
    levels, groups = np.unique(column, return_inverse=True)
    return float((np.abs(np.bincount(groups, y) / np.bincount(groups) - levels) < 2e-5 * scale).mean())


def called(names: list[str] | None, j: int) -> str:
    return names[j] if names is not None and j < len(names) else f"column {j}"
