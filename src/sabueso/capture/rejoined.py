"""Rows moved without their labels: the arrays that a batch was cut from beside those that hold the same rows in another order or number.

Or all labels of the array itself stand a row or a few off: they agree with their neighbours only when moved back.

What is in use is known by content: the rows of the batch stand in `x`, and its targets are `y` at the same places. If the rows of `x` also
stand, moved or thinned out, in another array `s` with labels `l` beside it, the labels of `l` for those rows should be `y`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import agreement, authorship, fed_tables, summarise
from .pairs import Held, at_hand
from .recorder import Recorder

MOST_VALUES = 3_000_000  # of an array
MOST_ARRAYS = 12
LEAST_ROWS = 100
NEVER = 0.12  # above chance: labels that tell nothing of their neighbours
SHIFTS = (1, -1, 2, -2, 3, -3)  # rows by which all labels may be off
GAIN = 0.3  # above chance: those that do


def look(recorder: Recorder, inputs: np.ndarray, targets: np.ndarray) -> bool:
    """Judge the arrays that this batch was cut from; True if they were found, whatever was seen."""
    held = list(at_hand(None))
    arrays = [h for h in held if is_table(h.thing)][:MOST_ARRAYS]
    labels = [(h, np.asarray(h.thing)) for h in held if is_column(h.thing)]
    flat = inputs.reshape(len(inputs), -1)
    for x in arrays:
        rows = np.asarray(x.thing).reshape(len(x.thing), -1)
        at = places(rows, flat) if rows.shape[1] == flat.shape[1] else None
        if at is None:
            continue
        mine = [(h, y.reshape(-1)) for h, y in labels if len(y) == len(rows) and same(y.reshape(-1)[at], targets)]
        if mine:
            compare(recorder, x, rows, mine, arrays, labels) or off(recorder, x, rows, *mine[0])
            fed_tables.judge(recorder, x, mine[0][1], mine[0][0].name)
            return True
    return False


def compare(recorder: Recorder, x: Held, rows: np.ndarray, mine: list[tuple[Held, np.ndarray]], arrays: list[Held], labels: list[Any]) -> bool:
    """Are the labels in use other than those that stand beside the same rows elsewhere?"""
    for s in arrays:
        if s.thing is x.thing or len(s.thing) < len(rows) or int(np.prod(s.thing.shape[1:])) != rows.shape[1]:
            continue
        at = selection(rows, np.asarray(s.thing).reshape(len(s.thing), -1))
        if at is None or np.array_equal(at, np.arange(len(at))):
            continue
        theirs = [(h, y.reshape(-1)) for h, y in labels if len(y) == len(s.thing)]
        if not theirs or any(same(y, other[at]) for _, y in mine for _, other in theirs):
            continue
        for (h, other), (name, y) in ((t, m) for t in theirs for m in mine):
            found = judged(rows, y, other[at]) if kin(y, other) else None
            if found is not None:
                tell(recorder, x, name, s, h, np.flatnonzero(~close(y, other[at])), found)
                return True
    return False


def off(recorder: Recorder, x: Held, rows: np.ndarray, held: Held, y: np.ndarray) -> None:
    """Do all labels fit their rows only when they are moved by one to three?

    What is to be foretold of a series also fits another row, the one that holds it: classes of which one column tells, or rows that follow one
    another, are left alone.
    """
    if not whole(y) or not 3 <= len(np.unique(y)) <= 60 or follow(rows):
        return
    near = neighbours_of(rows)
    for k in SHIFTS if near is not None else ():
        found = confirmed(near, y, np.roll(y, -k))  # type: ignore[arg-type]
        if found is not None and not by_one(rows, np.roll(y, -k), found):
            told = numbers(x, held, found) | {"kind": "shift", "shift": k, "first": 0, "last": len(y) - 1}
            file, line = authorship.assigned(held.name) or (None, None)
            recorder.fact("label_agreement", told, **({"file": file, "line": line} if line else {}))
            return


def follow(rows: np.ndarray, least: float = 0.9) -> bool:
    """Is each row nearer to the next than to any other?"""
    x = agreement.prepared(rows[:2000])
    return bool(x.shape[1] and np.square(np.diff(x, axis=0)).sum(1).mean() < least * 2 * x.var(axis=0).sum())


def by_one(rows: np.ndarray, y: np.ndarray, found: tuple[float, float, float], share: float = 0.8) -> bool:
    """Does a single column tell the labels nearly as well as all?"""
    some = slice(0, 2000)
    levels, codes = np.unique(y[some], return_inverse=True)
    for column in rows[some].T[:200]:
        place = np.minimum(np.searchsorted(np.quantile(column, np.linspace(0, 1, 21)[1:-1]), column), 19)
        table = np.bincount(place * len(levels) + codes, minlength=20 * len(levels)).reshape(20, -1)
        if table.max(axis=1).sum() / len(codes) - found[2] >= share * (found[1] - found[2]):
            return True
    return False


def judged(rows: np.ndarray, y: np.ndarray, other: np.ndarray) -> tuple[float, float, float] | None:
    """(agreement of the labels in use with their neighbours', that of the others, by chance) if only the others' is any."""
    near = neighbours_of(rows)
    return confirmed(near, y, other) if near is not None else None


def neighbours_of(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """(rows looked at, the nearest others of each), by the features; None where those tell nothing."""
    some = agreement.looked_at(len(rows))
    features = agreement.prepared(rows[some])
    return (some, agreement.neighbours(features, features, agreement.NEIGHBOURS, same=True)) if features.shape[1] else None


def confirmed(looked: tuple[np.ndarray, np.ndarray], y: np.ndarray, other: np.ndarray) -> tuple[float, float, float] | None:
    """The same by neighbours that are known."""
    some, near = looked
    if whole(y) and len(np.unique(y)) <= 60:
        levels, codes = np.unique(np.concatenate([y, other]), return_inverse=True)
        a, b = codes[: len(y)][some], codes[len(y) :][some]
        now, then = (float((agreement.votes(c, near, len(levels))[0] == c).mean()) for c in (a, b))
        chance = max(float(((np.bincount(a) / len(a)) ** 2).sum()), float(np.bincount(a).max() / len(a)) - 0.05)
        return (now, then, chance) if now - chance <= NEVER and then - max(now, chance) >= GAIN else None
    now, then = (1 - min(1.0, agreement.error_of(v[some], near)) for v in (y.astype(float), other.astype(float)))
    return (now, then, 0.0) if now <= NEVER and then >= GAIN else None


def tell(recorder: Recorder, x: Held, y: Held, s: Held, other: Held, moved: np.ndarray, found: tuple[float, float, float]) -> None:
    """The fact `label_agreement`, of the kind 'order'."""
    told = numbers(x, y, found) | {"kind": "order", "how": f"the order of the rows: {other.name} beside {s.name}", "first": int(moved[0]),
                                   "last": int(moved[-1]), "moved": len(moved)}  # fmt: skip
    file, line = authorship.moved(x.name) or authorship.assigned(x.name) or (None, None)
    recorder.fact("label_agreement", told, **({"file": file, "line": line} if line else {}))


def numbers(x: Held, y: Held, found: tuple[float, float, float]) -> dict[str, Any]:
    """What every such fact says."""
    now, then, chance = (round(v, 3) for v in found)
    rows = len(x.thing)
    return {"rows": rows, "looked_at": min(rows, agreement.MOST_ROWS), "classes": None, "by_chance": chance, "agreement": now, "agreement_elsewhere": None,
            "agreement_mended": then, "features": x.name, "labels": y.name, "table": None, "labels_from": None, "where": {}}  # fmt: skip


# ---- rows by content


def is_table(thing: Any) -> bool:
    """A dense numeric array or tensor on the CPU of moderate size with rows and columns."""
    shape, kind = getattr(thing, "shape", ()), summarise.library(thing)
    if kind not in ("numpy", "torch") or len(shape) < 2 or len(shape) > 5 or shape[0] < LEAST_ROWS or not 0 < int(np.prod(shape)) <= MOST_VALUES:
        return False
    return plain(thing) and (thing.dtype.is_floating_point if kind == "torch" else thing.dtype.kind in "fu")


def is_column(thing: Any) -> bool:
    """One number a row."""
    shape, kind = getattr(thing, "shape", ()), summarise.library(thing)
    fits = kind in ("numpy", "torch") and len(shape) in (1, 2) and shape[0] >= LEAST_ROWS and (len(shape) == 1 or shape[1] == 1)
    return bool(fits and plain(thing) and (kind == "torch" or thing.dtype.kind in "iufb"))


def plain(thing: Any) -> bool:
    """Can NumPy see it without a copy or an error?"""
    if summarise.library(thing) == "numpy":
        return True
    dense = thing.device.type == "cpu" and str(thing.layout) == "torch.strided" and not thing.requires_grad and not thing.is_complex()
    return bool(dense and thing.element_size() != 2)


def projected(rows: np.ndarray) -> np.ndarray:
    """One number a row that tells rows apart, the same for every columnwise scale and shift, and for every order of the rows."""
    values = np.where(np.isfinite(rows), rows, 0).astype(np.float64)
    spread = values.std(axis=0)
    fine = spread > 1e-12
    weights = np.random.default_rng(7).standard_normal(rows.shape[1])
    return ((values[:, fine] - values[:, fine].mean(axis=0)) / spread[fine]) @ weights[fine]


def places(rows: np.ndarray, some: np.ndarray) -> np.ndarray | None:
    """Where the rows of a batch stand in an array, all of them, exactly; None otherwise or where the array holds them twice."""
    weights = np.random.default_rng(7).standard_normal(rows.shape[1])
    known, wanted = (np.nan_to_num(r.astype(np.float64)) @ weights for r in (rows, some))
    return matched(known, wanted, 1e-6 * max(float(np.abs(known).max()), 1e-12))


def selection(rows: np.ndarray, source: np.ndarray) -> np.ndarray | None:
    """Where each row stands in the source: exactly, or up to a scale and shift of each column where both are all the rows."""
    at = places(source, rows)
    if at is None and len(rows) == len(source):
        known, wanted = projected(source), projected(rows)
        at = matched(known, wanted, 1e-4)
    return at


def matched(known: np.ndarray, wanted: np.ndarray, within: float) -> np.ndarray | None:
    """The index in `known` of each number of `wanted`; None unless each is there and (one in a hundred apart) there once."""
    order = np.argsort(known, kind="stable")
    ranked = known[order]
    at = np.clip(np.searchsorted(ranked, wanted), 1, len(ranked) - 1)
    at = np.where(np.abs(ranked[at - 1] - wanted) < np.abs(ranked[at] - wanted), at - 1, at)
    if (np.abs(ranked[at] - wanted) > within).any():
        return None
    found = order[at]
    return found if len(np.unique(found)) >= 0.99 * len(np.unique(np.round(wanted, 9))) and (np.diff(ranked) <= within).mean() < 0.01 else None


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return len(a) == len(b) and bool(close(a, b).mean() > 0.99)


def close(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.isclose(a.astype(np.float64), b.astype(np.float64), rtol=1e-5, atol=1e-6, equal_nan=True)


def whole(values: np.ndarray) -> bool:
    return values.dtype.kind in "iub" or bool((values == np.round(values)).all())


def kin(y: np.ndarray, other: np.ndarray) -> bool:
    """Can both be labels of one kind: are the values of one among those of the other?"""
    return bool(np.isin(np.unique(y).astype(np.float32), np.unique(other).astype(np.float32)).mean() > 0.95)
