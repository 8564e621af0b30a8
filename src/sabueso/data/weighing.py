"""Leakage weighed: what a small plain model scores with a column that gives the answer away, or with rows that it knows, and what without.

The score with a column and without it is that of least squares (with a little shrinkage) on ranks and bins of the columns; the score with
known rows and without them is that of the nearest training row's answer, which is what a model that knows its rows by heart comes to.
Both are fitted on some thousand evenly spread rows and judged on others, with NumPy alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..capture import agreement
from .held import Held
from .reading import Table
from .rows import repeated

MOST_TRAIN, MOST_JUDGED, LEAST = 4_000, 1_000, 60
MOST_WIDTH, MOST_LEVELS, MOST_BINS = 60, 12, 12
SHRINK = 1.0  # added to the squares of each input, of which there are as many as rows
FRESH = 600  # judged rows that training does not hold

Rows = dict[str, np.ndarray]


def column(one: Held, test: Held | None, target: str, names: list[str], leaking: str) -> dict[str, Any] | None:
    """The score with all inputs, and without the one that leaks."""
    train, judged = _two(one, test, [*names, target])
    labels = _labels(train[target], judged[target])
    if labels is None:
        return None
    names = [leaking, *(n for n in names if n != leaking)][:MOST_WIDTH]
    parts = [[_design(train[n], r[n], max(2, min(MOST_BINS, 400 // len(names)))) for n in names] for r in (train, judged)]
    scores = [_linear(*(np.hstack([*p[first:], np.ones((len(p[0]), 1))]) for p in parts), *labels) for first in (0, 1)]
    return _told(scores, labels[1], f"least squares on {len(labels[0])} rows, judged on {len(labels[1])} others, with {leaking} and without it")


def overlap(a: Held, b: Held, target: str, names: list[str], twice: np.ndarray) -> dict[str, Any] | None:
    """The score on all test rows, and on those that training does not hold."""
    if target not in a.table.kinds or target not in b.table.kinds:
        return None
    wanted = [*names, target]
    some = twice[:: max(1, len(twice) // 300)][:300]
    known = b.table.at(wanted, some.tolist())
    own = _where(a.table.hashes(names), b.table.hashes(names)[some])
    train = _joined(_every(a.sample, wanted, MOST_TRAIN), a.table.at(wanted, own.tolist()))
    at = b.table.rows_of_sample()
    others = {n: b.sample[n][~np.isin(at, twice)] for n in wanted}
    return _by_heart(train, known, _every(others, wanted, FRESH), len(twice) / b.table.rows, target, names)


def twins(one: Held, target: str, names: list[str]) -> dict[str, Any] | None:
    """The score after a random cut by rows, and on its judged rows that do not repeat a training row."""
    table = one.table
    hashes = table.hashes([*names, target])
    kept = np.flatnonzero(hashes % np.uint64(max(1, table.rows // (MOST_TRAIN + MOST_JUDGED))) == 0)[: 2 * MOST_TRAIN]  # equal rows stay together
    held = table.at([*names, target], kept.tolist())
    judged = np.random.default_rng(0).random(len(kept)) < 0.25
    inside = judged & np.isin(hashes[kept], hashes[kept][~judged])
    if not repeated(hashes[kept])["count"] or inside.sum() < 3:
        return None
    known, fresh, train = ({n: v[rows] for n, v in held.items()} for rows in (inside, judged & ~inside, ~judged))
    return _by_heart(train, _every(known, list(known), 300), _every(fresh, list(fresh), FRESH), float(inside.sum() / judged.sum()), target, names)


def _by_heart(train: Rows, known: Rows, fresh: Rows, share: float, target: str, names: list[str]) -> dict[str, Any] | None:
    """The answers of the nearest training rows, on rows that are known and on rows that are not; `share` of the judged ones are known."""
    labels = _labels(train[target], np.concatenate([known[target], fresh[target]]))
    if labels is None or len(fresh[target]) < LEAST or len(known[target]) < 3:
        return None
    judged = _joined(known, fresh)
    x, asked = (np.hstack([_design(train[n], r[n], 0) for n in names[:MOST_WIDTH]]).astype(np.float32) for r in (train, judged))
    said = labels[0][agreement.neighbours(asked, x, 1)[:, 0]]
    split = len(known[target])
    on_known, on_fresh = (_score(labels[1][part], said[part], labels[1]) for part in (slice(split), slice(split, None)))
    how = f"the answer of the nearest of {len(labels[0])} training rows, on all judged rows and on those alone that training does not hold"
    return _told([share * on_known + (1 - share) * on_fresh, on_fresh], labels[1], how)


def _told(scores: list[float], y: np.ndarray, how: str) -> dict[str, Any]:
    levels = len(np.unique(y))
    score = "R2 of the ranks" if levels > MOST_LEVELS else "area under the ROC curve" if levels == 2 and how.startswith("least") else "share of right answers"
    return {"how": how, "score": score, "before": round(scores[0], 4), "after": round(scores[1], 4)}


# ---- rows and what they are told by


def _two(one: Held, test: Held | None, wanted: list[str]) -> tuple[Rows, Rows]:
    """Training and judged rows: of the test table where there is one, else of the same table, every third."""
    if test is not None and all(n in test.table.kinds and test.table.kinds[n] == one.table.kinds[n] for n in wanted):
        return _every(one.sample, wanted, MOST_TRAIN), _every(test.sample, wanted, MOST_JUDGED)
    third = np.arange(len(one.sample[wanted[0]])) % 3 == 2
    train, judged = ({n: one.sample[n][rows] for n in wanted} for rows in (~third, third))
    return _every(train, wanted, MOST_TRAIN), _every(judged, wanted, MOST_JUDGED)


def _every(rows: Rows, names: list[str], most: int) -> Rows:
    """At most so many rows, evenly spread."""
    n = len(rows[names[0]])
    at = np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64)) if n else np.zeros(0, np.int64)
    return {name: rows[name][at] for name in names}


def _joined(a: Rows, b: Rows) -> Rows:
    return {n: np.concatenate([a[n], b[n]]) for n in a}


def _where(hashes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """A row for each of the hashes, sorted."""
    order = np.argsort(hashes, kind="stable")
    at = np.minimum(np.searchsorted(hashes[order], wanted), len(order) - 1)
    return np.unique(order[at])


def _labels(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Codes of classes, or ranks of numbers; None where some are missing, or too few."""
    both = np.concatenate([a, b])
    if min(len(a), len(b)) < LEAST // 2 or any(v is None or v != v for v in both.tolist()):
        return None
    levels, codes = np.unique(both.astype(str) if both.dtype.kind == "O" else both, return_inverse=True)
    if len(levels) < 2 or both.dtype.kind == "O" and len(levels) > MOST_LEVELS:
        return None
    values = codes.astype(np.float64) if len(levels) <= MOST_LEVELS else np.searchsorted(np.sort(both), both) / len(both)
    return values[: len(a)], values[len(a) :]


def _design(train: np.ndarray, rows: np.ndarray, bins: int) -> np.ndarray:
    """A column as its levels, or as its rank among the training rows with a mark for gaps; with `bins` besides as which bin it is in."""
    if train.dtype.kind == "O":
        names, times = np.unique([str(v) for v in train.tolist()], return_counts=True)
        said = np.array([str(v) for v in rows.tolist()])
        return np.column_stack([said == n for n in names[np.argsort(-times, kind="stable")][:MOST_LEVELS]]).astype(np.float64)
    values, real = train.astype(np.float64), rows.astype(np.float64)
    stock, gap = np.sort(values[np.isfinite(values)]), ~np.isfinite(real)
    rank = (np.searchsorted(stock, real, "left") + np.searchsorted(stock, real, "right")) / (2 * max(len(stock), 1)) - 0.5
    made = [np.where(gap, 0.0, rank), gap * 0.5]
    if bins and len(stock):
        edges = np.unique(np.quantile(stock, np.arange(1, bins) / bins))
        of = np.searchsorted(edges, real, side="left")
        at_edge = [real == e for e in edges if (stock == e).mean() > 0.1]  # one usual value
        made += [(of == i) & ~gap for i in range(len(edges) + 1)] + at_edge
    return np.column_stack(made).astype(np.float64)


# ---- the models and their scores


def _linear(x: np.ndarray, asked: np.ndarray, y: np.ndarray, true: np.ndarray) -> float:
    """Ridge regression on the label, or on each of its classes."""
    levels = np.unique(y)
    wanted = y[:, None] if not 2 < len(levels) <= MOST_LEVELS else (y[:, None] == levels).astype(np.float64)
    centre = wanted.mean(0)
    said = asked @ np.linalg.solve(x.T @ x + SHRINK * np.eye(x.shape[1]), x.T @ (wanted - centre)) + centre
    if len(levels) == 2:
        return _area(true == levels[1], said[:, 0])
    return _score(true, levels[said.argmax(1)] if wanted.shape[1] > 1 else said[:, 0], y)


def _score(true: np.ndarray, said: np.ndarray, whole: np.ndarray) -> float:
    """Share of right answers, or of the variance that is explained."""
    if len(np.unique(whole)) <= MOST_LEVELS:
        return float((true == said).mean())
    return float(1 - np.square(true - said).mean() / max(float(whole.var()), 1e-12))


def _area(positive: np.ndarray, score: np.ndarray) -> float:
    """Area under the ROC curve, ties counted by half."""
    levels, at = np.unique(score, return_inverse=True)
    times = np.bincount(at)
    rank = (np.cumsum(times) - (times - 1) / 2)[at]
    n, m = int(positive.sum()), int((~positive).sum())
    return float((rank[positive].sum() - n * (n + 1) / 2) / (n * m)) if n and m else 0.5


def named(table: Table, target: str | None, skip: set[str]) -> Iterator[str]:
    """Columns that a model may be given."""
    yield from (n for n in table.names if n != target and n not in skip and table.kinds[n] != "other")
