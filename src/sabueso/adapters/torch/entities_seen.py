"""Entities of a data set of the person's own: an attribute that names whose each row is, and a random cut by single rows through them.

The labels are the attribute that the batches' labels are taken from. The proof is the vote of the nearest rows with entities held apart,
against one with rows held apart: no network is trained again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...capture import agreement
from ...capture.entities import LEAST_ENTITIES, alike, repeats
from ...capture.lineage.fingerprints import array_of, table_of
from ...capture.lineage.known import Known

MOST_ROWS, MOST_VOTED = 20_000, 1500
MOST_LEVELS = 20
PARTS = 3


class Beside:
    """What lies beside the rows of a whole data set: labels, and columns that repeat as ids do."""

    __slots__ = ("known", "labels", "ids")

    def __init__(self, known: Known, labels: np.ndarray, ids: dict[str, np.ndarray]) -> None:
        self.known, self.labels, self.ids = known, labels, ids


def beside(dataset: Any, known: Known, positions: np.ndarray, batch: Any) -> Beside | None:
    """The attributes of a data set whose batch these rows are; None without labels or ids among them."""
    y = array_of(batch[-1]) if isinstance(batch, (list, tuple)) and len(batch) > 1 else None
    if y is None or y.ndim != 1 or len(y) != len(positions) or not 200 <= known.rows <= MOST_ROWS or y.dtype.kind not in "iu":
        return None
    held = {}
    for name, value in list(getattr(dataset, "__dict__", {}).items())[:40]:
        shape = getattr(value, "shape", None) or ((len(value),) if isinstance(value, (list, tuple)) else ())
        table = table_of(value) if tuple(shape) == (known.rows,) else None
        if table is not None and table.width == 1:
            held[name] = np.unique(table.codes[:, 0], return_inverse=True)[1], array_of(value)
    labels = [n for n, (codes, values) in held.items() if codes.max() < MOST_LEVELS and values is not None and np.array_equal(values[positions], y)]
    ids = {n: codes for n, (codes, _) in held.items() if repeats(codes)}
    return Beside(known, held[labels[0]][0], ids) if labels and ids else None


def look(found: Beside, train: np.ndarray, judged: np.ndarray) -> dict[str, Any] | None:
    """The numbers of the first column of ids that the cut (positions of both parts) goes through, with their proof."""
    table = found.known.table
    if table is None or len(judged) < 30 or np.isin(judged, train).any():
        return None
    for name, ids in found.ids.items():
        near = alike(ids, train, judged, found.labels[train].astype(np.float64), table.take(train), table.take(judged))
        if near is not None:
            return near | voted(table.floats(train), found.labels[train], ids[train]) | {"column": name, "groups": near["entities"], "by": "the nearest rows"}
    return None


def voted(x: np.ndarray, y: np.ndarray, ids: np.ndarray) -> dict[str, float]:
    """The vote of the nearest rows: by rows held apart, by entities held apart, and what the commonest label reaches."""
    chosen = np.random.default_rng(0).permutation(np.unique(ids))
    chosen = chosen[: max(LEAST_ENTITIES, int(MOST_VOTED * len(chosen) / len(ids)))]
    rows = np.flatnonzero(np.isin(ids, chosen))
    features, labels = agreement.prepared(x[rows]), y[rows]
    part = np.zeros(ids.max() + 1, np.int64)
    part[chosen] = np.arange(len(chosen)) % PARTS
    cuts = {"before": np.random.default_rng(1).permutation(len(rows)) % PARTS, "after": part[ids[rows]]}
    told = {"base": round(float(np.bincount(labels).max() / len(rows)), 4)}
    for name, cut in cuts.items():
        right = []
        for k in range(PARTS):
            fit, test = np.flatnonzero(cut != k), np.flatnonzero(cut == k)
            near = agreement.neighbours(features[test], features[fit], 5)
            right.append(agreement.votes(labels[fit], near, int(y.max()) + 1)[0] == labels[test])
        told[name] = round(float(np.concatenate(right).mean()), 4)
    return told
