"""Scaling by hand: do training and evaluation rows together have mean 0 and deviation 1, which the training rows alone do not?"""

from __future__ import annotations

import linecache
import re
from typing import Any

import numpy as np

from . import sight
from .fingerprints import Table, spaced

CLOSE = 2e-5  # of float32 sums over a few thousand rows, several times over
CALLS = re.compile(r"(\.|\b)(std|stdev|min|max|ptp|nanstd|nanmean|nanmin|nanmax)\s*\(")


def by_hand(fit: Any, known: Any, uses: Any) -> dict[str, Any] | None:
    """The scaling, told like a learner: its kind, how many columns show it, and the line that did it; None if the numbers don't say so."""
    train, other = fit.known.table, known.table
    if train is None or other is None or train.width != other.width or not looks_scaled(train):
        return None
    parts = [fit.known, known] + [k for f, k, *_ in uses.evaluations if f.known is fit.known and k is not known]
    union = np.concatenate([p.table.floats() for p in distinct(parts) if p.table is not None and p.table.width == train.width])
    alone = train.floats()
    for kind, together, apart in (("mean and deviation", standard(union), standard(alone)), ("range", ranged(union), ranged(alone))):
        telling = together & ~apart
        if together.sum() >= max(2, 0.8 * usable(union).sum()) and telling.sum() >= max(2, 0.5 * together.sum()):
            where = line_of_scaling(fit.origin)
            if where is not None:
                return {
                    "name": f"scaling by hand ({kind})", "kind": "hand", "supervised": False, "selects": False, "rows": len(union),
                    "hits": known.rows, "of": known.rows, "file": where[0], "line": where[1], "fit_line": list(where),
                    "columns": int(together.sum()), "off": round(float(np.abs(np.nanmean(alone, 0))[telling].max()), 4),
                }  # fmt: skip
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
    """By column: does it reach from 0 to 1 exactly, in one row each?"""
    with np.errstate(all="ignore"):
        low, high = values.min(0), values.max(0)
        once = ((values == low).sum(0) <= 2) & ((values == high).sum(0) <= 2)
    return usable(values) & (low == 0) & (high == 1) & once


def line_of_scaling(origin: sight.Origin) -> tuple[str, int] | None:
    """The last line of the person's files up to the fit that takes deviations or ranges of something."""
    for file, before, *_ in origin:
        lines = linecache.getlines(file)
        for number in range(min(before, len(lines)), 0, -1):
            if CALLS.search(lines[number - 1]) and not lines[number - 1].lstrip().startswith(("#", "print")):
                return file, number
    return None
