"""Scaling by hand: do training and evaluation rows together have mean 0 and deviation 1, which the training rows alone do not?"""

from __future__ import annotations

import linecache
import re
from typing import Any

import numpy as np

from . import group_fills, sight
from .fingerprints import Table, spaced

CLOSE = 2e-5  # of float32 sums over a few thousand rows, several times over
CALLS = {
    "mean and deviation": re.compile(r"(\.|\b)(std|stdev|nanstd|var)\s*\("), "range": re.compile(r"(\.|\b)(min|max|ptp|nanmin|nanmax)\s*\("),
    "components": re.compile(r"(\.|\b)(svd|eigh?|pca_lowrank|svd_lowrank)\s*\("),
    "filling": re.compile(r"(\.|\b)(fillna|fill_null|fill_nan|nan_to_num|where|nanmean|nanmedian|isnan)\s*\("),
}  # fmt: skip
SHOWS = {"mean and deviation": "columns with mean 0 and deviation 1", "range": "columns that reach from 0 to 1",
         "components": "columns with mean 0 that go along with no other"}  # fmt: skip


def by_hand(fit: Any, known: Any, uses: Any) -> dict[str, Any] | None:
    """The scaling, told like a learner: its kind, how many columns show it, and the line that did it; None if the numbers don't say so."""
    train, other = fit.known.table, known.table
    if train is None or other is None or train.width != other.width or not (looks_scaled(train) or looks_turned(train)):
        return None
    parts = [fit.known, known] + [k for f, k, *_ in uses.evaluations if f.known is fit.known and k is not known]
    tables = [p.table for p in distinct(parts) if p.table is not None and p.table.width == train.width]
    few = [np.concatenate([t.take_column(j).floats()[:, 0] for t in tables]) for j in spaced(train.width, 6)]
    if train.width > 12 and not any(_may_be_scaled(c) for c in few):
        return None  # not one of six columns: no scaling of all of them
    some = np.column_stack(few)
    if train.width > 12 and not (standard(some) | ranged(some) | centred(some)).any():
        return None
    union, alone = np.concatenate([t.floats() for t in tables]), train.floats()
    kinds = (("mean and deviation", standard(union), standard(alone)), ("range", ranged(union), ranged(alone)), ("components", *turned(union, alone)))
    for kind, together, apart in kinds:
        telling = together & ~apart
        if together.sum() >= max(2, 0.8 * usable(union).sum()) and telling.sum() >= max(2, 0.5 * together.sum()):
            where = line_of(fit.origin, CALLS[kind]) or made_at(known)
            if where is not None:
                return {
                    "name": f"scaling by hand ({kind})", "shows": SHOWS[kind], "kind": "hand", "supervised": False, "selects": False, "rows": len(union),
                    "hits": known.rows, "of": known.rows, "file": where[0], "line": where[1], "fit_line": list(where),
                    "columns": int(together.sum()), "off": round(float(np.abs(np.nanmean(alone, 0))[telling].max()), 4),
                }  # fmt: skip
    return None


def filled_by_hand(fit: Any, known: Any, uses: Any) -> dict[str, Any] | None:
    """Gaps filled with the mean or median of training and evaluation rows together, told like a learner; None if the numbers don't say so.

    A value that repeats in a column that hardly repeats any other, and that is the mean (or median) of the column's other values in both
    parts together, but not of those in training.
    """
    train, other = fit.known.table, known.table
    if train is None or other is None or train.width != other.width or train.width > 200 or train.rows < 40:
        return None
    some = train.take(spaced(train.rows, 400)).codes
    tried = [j for j in range(train.width) if train.numeric[j] and _piled(some[:, j]) is not None]
    parts = distinct([fit.known, known] + [k for f, k, *_ in uses.evaluations if f.known is fit.known and k is not known])
    parts = [p for p in parts if p.table is not None and p.table.width == train.width]
    found = []
    for j in tried[:40]:
        union, alone = np.concatenate([p.table.take_column(j).floats()[:, 0] for p in parts]), train.take_column(j).floats()[:, 0]
        value = float(np.array([_piled(some[:, j])], np.uint32).view(np.float32)[0])
        how = _middle_of_all(union, alone, value)
        if how is not None:
            found.append((j, how, int((union == value).sum())))
    grouped = group_fills.by_group(fit, known, parts) if not found else None
    if grouped is not None:
        found = [(j, f"mean by {grouped[1]}", n) for j, n in grouped[0]]
    where = line_of(fit.origin, CALLS["filling"]) if found else None
    if where is None:
        return None
    return {
        "name": f"filling of gaps by hand ({found[0][1]} of all rows)", "kind": "hand", "supervised": False, "selects": False, "imputes": True,
        "rows": sum(p.table.rows for p in parts), "hits": known.rows, "of": known.rows, "file": where[0], "line": where[1], "fit_line": list(where),
        "columns": len(found), "filled": sum(f[2] for f in found),
        "names": [train.names[j] for j, *_ in found] if train.names else [f"column {j}" for j, *_ in found],
    }  # fmt: skip


def _piled(codes: np.ndarray) -> int | None:
    """The one value of a column of many that stands in several of its rows; None where there is none, or several are."""
    levels, count = np.unique(codes, return_counts=True)
    if len(levels) < 0.3 * len(codes) or len(levels) < 30:
        return None
    first = int(count.argmax())
    second = np.delete(count, first).max()
    return int(levels[first]) if count[first] >= max(5, 0.01 * len(codes), 4 * second) else None


def _middle_of_all(union: np.ndarray, alone: np.ndarray, value: float) -> str | None:
    """Is the value the mean or the median of all other values, and not of those of the training rows?"""
    rest, own = union[union != value], alone[alone != value]
    rest, own = rest[np.isfinite(rest)], own[np.isfinite(own)]
    if len(rest) < 40 or len(own) < 30 or len(rest) == len(own):
        return None
    close = 1e-6 * max(float(np.abs(rest).max()), 1e-300) + 1e-5 * float(rest.std())
    for how, of in (("mean", np.mean), ("median", np.median)):
        if abs(of(rest) - value) < close < 0.2 * abs(of(own) - value):
            return how
    return None


def distinct(parts: list[Any]) -> list[Any]:
    """Each part once, and none that lies within another."""
    kept: list[Any] = []
    for part in sorted(parts, key=lambda p: -p.rows):
        if not any(np.isin(part.ids[spaced(part.rows, 32)], k.ids).mean() > 0.5 for k in kept):
            kept.append(part)
    return kept


def looks_scaled(table: Table) -> bool:
    """A cheap look at 256 rows: are most columns near mean 0 and deviation 1, or within 0 and 1?"""
    values = table.floats(spaced(table.rows, 256))
    with np.errstate(all="ignore"):
        mean, deviation = values.mean(0), values.std(0)
        centred = (np.abs(mean) < 0.5) & (deviation > 0.4) & (deviation < 2.5)
        within = (values.min(0) >= 0) & (values.max(0) <= 1)
    return max(np.nanmean(centred), np.nanmean(within)) > 0.6


def looks_turned(table: Table) -> bool:
    """A cheap look at 256 rows: does the spread fall from column to column, about a mean near 0, as it does along principal components?"""
    if table.width < 3 or not table.numeric.all():
        return False
    values = table.floats(spaced(table.rows, 256))
    with np.errstate(all="ignore"):
        mean, deviation = values.mean(0), values.std(0)
    return bool((np.abs(mean) < 0.5 * deviation).all() and (np.diff(deviation) < 0.25 * deviation[:-1]).all() and deviation[-1] < 0.9 * deviation[0])


def turned(union: np.ndarray, alone: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By column, in all rows and in the training rows: are they principal components, centred, of falling spread, without correlation?"""
    found = []
    for values in (union, alone):
        with np.errstate(all="ignore"):
            deviation = values.std(0)
            falling = values.shape[1] >= 3 and bool((np.diff(deviation) < -1e-4 * deviation[:-1]).all())
            apart = np.abs(np.corrcoef(values.T) - np.eye(values.shape[1])).max(0) < CLOSE if falling else np.zeros(values.shape[1], bool)
        found.append(usable(values) & centred(values) & apart if falling else apart)
    return found[0], found[1]


def centred(values: np.ndarray) -> np.ndarray:
    """By column: is the mean 0, by the column's spread?"""
    with np.errstate(all="ignore"):
        return np.abs(values.mean(0)) < CLOSE * values.std(0)


def made_at(known: Any) -> tuple[str, int] | None:
    """Where the table that the rows were cut from was given its value."""
    source = known.source
    return (source.file, source.line) if source.kind in ("made", "held") and source.file and source.line else None


def _may_be_scaled(column: np.ndarray) -> bool:
    """Cheaper than `standard` and `ranged`, and true wherever either is."""
    return bool(abs(column.mean()) < 2 * CLOSE * max(1.0, column.std()) or column.min() == 0 and column.max() == 1)


def usable(values: np.ndarray) -> np.ndarray:
    """Columns of numbers without gaps that are not constant and not yes/no."""
    finite = np.isfinite(values).all(0)
    some = values[spaced(len(values), 512)]
    return finite & np.array([len(np.unique(some[:, j])) > 2 for j in range(values.shape[1])])


def standard(values: np.ndarray) -> np.ndarray:
    """By column: is the mean 0 and the deviation (over n or n - 1) 1?"""
    n = len(values)
    with np.errstate(all="ignore"):
        mean, deviation = values.mean(0), values.std(0)
    one = (np.abs(deviation - 1) < CLOSE) | (np.abs(deviation * np.sqrt(n / max(1, n - 1)) - 1) < CLOSE)
    return usable(values) & (np.abs(mean) < CLOSE) & one


def ranged(values: np.ndarray) -> np.ndarray:
    """By column: does it reach from 0 to 1 exactly, in a few rows each?"""
    with np.errstate(all="ignore"):
        low, high = values.min(0), values.max(0)
        most = max(2, len(values) // 80)  # of a whole-numbered column several rows lie at its ends; of shares and flags far more do
        once = ((values == low).sum(0) <= most) & ((values == high).sum(0) <= most)
    return usable(values) & (low == 0) & (high == 1) & once


def line_of(origin: sight.Origin, calls: re.Pattern[str]) -> tuple[str, int] | None:
    """The last line of the person's files up to the fit that makes such a call."""
    for file, before, *_ in origin:
        lines = linecache.getlines(file)
        for number in range(min(before, len(lines)), 0, -1):
            if calls.search(lines[number - 1]) and not lines[number - 1].lstrip().startswith(("#", "print")):
                return file, number
    return None
