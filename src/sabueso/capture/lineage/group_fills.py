"""Gaps filled by hand with the mean of the row's group, training and evaluation rows taken together.

A filled row has just the mean of its group, since a mean that joins what it was taken of leaves the mean as it was. So no gap needs to be seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from . import sight
from .fingerprints import Table, table_of
from .registry import shape_of

MOST_ROWS, MOST_WIDTH, MOST_KEYS = 20_000, 40, 12
LEAST = 8  # rows filled so
BY_CHANCE = 0.1  # of them at most so many when the groups are dealt out anew
CLOSE = 2e-6  # of values kept as 32-bit floats
UNLIKE = 0.3  # a column of measurements has so many values a row; and some of them stand in several rows where gaps were filled


def by_group(fit: Any, known: Any, parts: list[Any]) -> tuple[list[tuple[int, int]], str] | None:
    """([(column, rows filled)], name of the groups) where the numbers say so; `parts` are training and judged rows, each once."""
    train, source = fit.known.table, fit.known.source
    if any(p.source is not source for p in parts) or sum(p.rows for p in parts) > MOST_ROWS or train.width > MOST_WIDTH:
        return None
    ids = np.concatenate([p.ids for p in parts]) - source.base
    if ids.min() < 0 or ids.max() >= source.rows:
        return None
    mine = np.concatenate([np.full(p.rows, p is fit.known) for p in parts])
    columns = {}
    for j in range(train.width):
        values = np.concatenate([p.table.take_column(j).floats()[:, 0] for p in parts]) if train.numeric[j] else None
        if values is not None and _measured(values):
            columns[j] = values
    for name, codes in keys(fit.known, source) if columns else ():
        groups = np.unique(codes[ids], return_inverse=True)[1]
        found = [(j, n) for j, v in columns.items() if (n := filled(v, groups, mine))]
        if found:
            return found, name
    return None


def keys(mine: Any, source: Any) -> Iterator[tuple[str, np.ndarray]]:
    """(name, codes of all rows) of what the rows of a source may be grouped by: columns of the whole table in sight, and arrays beside it."""
    given = 0
    for frame in sight.user_frames():
        for name, value in sight.holdings(frame):
            shape = shape_of(value)
            if shape is None or shape[0] != source.rows or len(shape) > 2 or given >= MOST_KEYS:
                continue
            table = table_of(value)
            for c in range(table.width if table is not None and table.width <= 2 * MOST_WIDTH else 0):
                if given < MOST_KEYS and _groups(table, c):  # type: ignore[arg-type]
                    given += 1
                    yield (table.names[c] if table.names else name), table.column(c)  # type: ignore[union-attr]


def _groups(table: Table, c: int) -> bool:
    """Names or whole numbers that repeat?"""
    codes = table.column(c)
    if table.numeric[c]:
        some = codes[:64].view(np.float32)
        if not np.isfinite(some).all() or (some != np.round(some)).any():
            return False
    levels = len(np.unique(codes))
    return 5 <= levels <= 0.7 * len(codes)


def _measured(values: np.ndarray) -> bool:
    """Measurements, of which some stand in several rows?"""
    if not np.isfinite(values).all():
        return False
    levels = len(np.unique(values))
    return UNLIKE * len(values) <= levels <= len(values) - LEAST // 2 and bool((values != np.round(values)).mean() > 0.5)


def filled(values: np.ndarray, groups: np.ndarray, mine: np.ndarray) -> int:
    """Rows that have their group's mean over all parts, and not that of its training rows; 0 where they are too few or may be chance."""
    hit = at_mean(values, groups)
    if hit.sum() < LEAST or at_mean(values, np.random.default_rng(0).permutation(groups)).sum() > BY_CHANCE * hit.sum():
        return 0
    count = np.bincount(groups[mine], minlength=groups.max() + 1)
    means = np.bincount(groups[mine], values[mine], minlength=groups.max() + 1) / np.maximum(count, 1)
    both = (count > 0) & (np.bincount(groups[~mine], minlength=groups.max() + 1) > 0)
    off = np.abs(values - means[groups]) > 10 * CLOSE * np.abs(values).max()
    crossed = int((hit & both[groups] & off).sum())
    return crossed if crossed >= max(LEAST, 0.3 * hit.sum()) else 0


def at_mean(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Which rows of groups of three or more, not all alike, have just the mean of their group?"""
    count = np.bincount(groups)
    means = np.bincount(groups, values) / np.maximum(count, 1)
    apart = np.abs(values - means[groups])
    spread = np.zeros(len(count))
    np.maximum.at(spread, groups, apart)
    close = CLOSE * np.abs(values).max()
    return (count[groups] >= 3) & (apart <= close) & (spread[groups] > 100 * close)
