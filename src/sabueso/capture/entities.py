"""Rows of one entity (patient, speaker, device) that are near copies of one another with one label, and a cut by single rows through them."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import agreement
from .lineage.fingerprints import Table, spaced

LEAST_ENTITIES = 20
REPEATS = (4, 60)  # rows of an entity, by the median
CONSTANT = 0.98  # share of rows with their entity's label
SHARED = 0.9  # share of the judged rows whose entity is in training: so a cut by single rows leaves it
AFTER = 0.5  # share of entities whose judged rows all come after their training rows: more is a cut by time, of entities known on purpose
SAME = 0.6  # share of judged rows whose nearest training row is of the same entity
ASKED = 300  # judged rows whose nearest training row is looked up


def repeats(codes: np.ndarray) -> bool:
    """Do the values of a column repeat as ids do?"""
    count = np.unique(codes, return_counts=True)[1]
    return len(count) >= LEAST_ENTITIES and REPEATS[0] <= float(np.median(count)) <= REPEATS[1] and count.max() <= 0.1 * len(codes)


def alike(ids: np.ndarray, train: np.ndarray, judged: np.ndarray, y: np.ndarray, fitted: Table, given: Table) -> dict[str, Any] | None:
    """The numbers that make the column an entity's that the cut goes through; None if one of them does not."""
    mine, theirs = ids[train], ids[judged]
    shared = np.isin(theirs, mine)
    share = within(mine, y)
    if share is None or shared.mean() < SHARED or by_time(mine, theirs, train, judged) > AFTER:
        return None
    if not (fitted.numeric.all() and given.numeric.all()) or fitted.width != given.width:
        columns = np.flatnonzero(fitted.numeric & given.numeric) if fitted.width == given.width else []
        if len(columns) < 2:
            return None
        fitted, given = (Table(t.codes[:, columns], None, t.numeric[columns]) for t in (fitted, given))
    asked = spaced(len(theirs), ASKED)
    both = agreement.prepared(np.concatenate([fitted.floats(), given.floats(asked)]))
    if both.shape[1] < 2:
        return None
    near = agreement.neighbours(both[len(mine) :], both[: len(mine)], 1)[:, 0]
    same = float((mine[near] == theirs[asked]).mean())
    chance = float(((np.bincount(mine) / len(mine)) ** 2).sum())
    if same < max(SAME, 4 * chance):
        return None
    return {"constant": round(share, 3), "nearest": round(same, 3), "chance": round(chance, 3), "entities": len(np.unique(theirs)),
            "shared": len(np.unique(theirs[shared])), "rows": len(theirs), "rows_shared": int(shared.sum()),
            "shared_rows": np.sort(judged[shared])[:50].tolist()}  # fmt: skip


def within(ids: np.ndarray, y: np.ndarray) -> float | None:
    """Share of rows (of the variance, for numbers) that the entity's own label accounts for; None where it is less than nearly all, or means nothing."""
    codes, labels = np.unique(ids, return_inverse=True)[1], np.unique(y, return_inverse=True)[1]
    levels, entities = labels.max() + 1, codes.max() + 1
    if levels > 20:
        means = np.bincount(codes, y) / np.bincount(codes)
        share = 1 - float((y - means[codes]).var() / y.var())
        along = codes[np.argsort(y, kind="stable")]
        bins = levels > 1.5 * entities and np.count_nonzero(along[1:] != along[:-1]) < 1.1 * entities  # stretches of the label itself, to stratify by
        return share if share > 0.95 and not bins else None
    table = np.bincount(codes * levels + labels, minlength=entities * levels).reshape(entities, levels)
    share = float(table.max(axis=1).sum() / len(y))
    return share if share >= CONSTANT and np.bincount(labels).max() < 0.9 * len(y) and levels * 4 <= entities else None


def by_time(mine: np.ndarray, theirs: np.ndarray, train: np.ndarray, judged: np.ndarray) -> float:
    """Share of the entities on both sides whose judged rows all stand after their training rows."""
    last, first = np.full(max(mine.max(), theirs.max()) + 1, -1), np.full(max(mine.max(), theirs.max()) + 1, 1 << 60)
    np.maximum.at(last, mine, train)
    np.minimum.at(first, theirs, judged)
    both = np.intersect1d(mine, theirs)
    return float((first[both] > last[both]).mean())
