"""Do labels agree with their features, stretch by stretch? A nearest-neighbour vote over all rows, against shifted, sorted and renamed labels.

The neighbours are found once, from the features alone; any other order of the labels is then tried at no cost. Nothing is said of a stretch
by itself: its yardstick is what the other rows reach, class by class.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

MOST_ROWS = 2_000  # that are looked at; distances between them cost about 0.1 CPU seconds
MOST_WIDTH = 96  # wider features are projected at random
NEIGHBOURS = 10
AT_ONCE, GROUP, MOST_LEFT = 128, 16, 8  # rows whose distances are worked out together; columns of a group; candidates left of each neighbour
SHIFTS, FEW_SHIFTS = 24, 8  # rows up or down; where little is known of the features
LEAST = 40  # rows of a stretch
LOW = 0.35  # of the way from chance to what the other rows reach: at most so much is left in a stretch that is wrong
EDGE = 4  # rows by which the ends of a stretch may be missed
BACK = 0.7  # and at least so much must come back for an explanation to hold


def prepared(x: np.ndarray) -> np.ndarray:
    """Features as standardised float32, constant columns out, wide ones projected."""
    flat = np.asarray(x, dtype=np.float32).reshape(len(x), -1)
    flat = np.where(np.isfinite(flat), flat, 0)
    spread = flat.std(axis=0)
    flat = (flat[:, spread > 0] - flat[:, spread > 0].mean(axis=0)) / spread[spread > 0]
    if flat.shape[1] > MOST_WIDTH:
        flat = flat @ (np.random.default_rng(0).standard_normal((flat.shape[1], MOST_WIDTH)).astype(np.float32) / MOST_WIDTH**0.5)
    return np.ascontiguousarray(flat)


def neighbours(a: np.ndarray, b: np.ndarray, k: int, same: bool = False) -> np.ndarray:
    """The k nearest rows of b for each row of a; with `same` both are one table, and no row is its own neighbour."""
    found = np.empty((len(a), k), np.int64)
    own, size = (a * a).sum(1), (b * b).sum(1)
    for start in range(0, len(a), AT_ONCE):  # so many distances stay in the processor's cache
        distance = a[start : start + AT_ONCE] @ b.T
        distance *= -2
        distance += size
        distance += own[start : start + AT_ONCE, None]
        if same:
            some = np.arange(len(distance))
            distance[some, start + some] = np.inf
        found[start : start + AT_ONCE] = _smallest(distance, k)
    return found


def _smallest(x: np.ndarray, k: int) -> np.ndarray:
    """The columns of the k smallest values of each row: chosen among those at most the (k + 1)th smallest of the minima of groups of columns."""
    groups = x.shape[1] // GROUP
    if groups < 2 * (k + 1):
        return np.argpartition(x, k, axis=1)[:, :k]
    least = x[:, : groups * GROUP].reshape(len(x), GROUP, groups).min(axis=1)
    rows, columns = np.nonzero(x <= np.partition(least, k, axis=1)[:, k : k + 1])
    counts = np.bincount(rows, minlength=len(x))
    if counts.max() > MOST_LEFT * k or counts.min() <= k:  # many rows as near as each other, or no numbers
        return np.argpartition(x, k, axis=1)[:, :k]
    place = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    values, at = np.full((len(x), counts.max()), np.inf, x.dtype), np.zeros((len(x), counts.max()), np.int64)
    values[rows, place], at[rows, place] = x[rows, columns], columns
    return np.take_along_axis(at, np.argpartition(values, k, axis=1)[:, :k], axis=1)


def votes(labels: np.ndarray, near: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """(the class that most neighbours have, their share) for each row."""
    counts = np.zeros((len(near), classes), dtype=np.int16)
    for j in range(near.shape[1]):
        np.add.at(counts, (np.arange(len(near)), labels[near[:, j]]), 1)
    return counts.argmax(axis=1), counts.max(axis=1) / near.shape[1]


def stretch(score: np.ndarray) -> tuple[int, int]:
    """The contiguous rows of highest sum (Kadane)."""
    sums = np.concatenate(([0.0], np.cumsum(score)))
    low = np.minimum.accumulate(sums)
    end = int(np.argmax(sums - low))
    return int(np.argmin(sums[: end + 1])), end


def looked_at(n: int) -> np.ndarray:
    """The rows that are looked at, evenly spaced."""
    return np.arange(n) if n <= MOST_ROWS else np.unique(np.linspace(0, n - 1, MOST_ROWS).astype(np.int64))


def of_classes(x: np.ndarray, y: np.ndarray, orders: Callable[[], dict[str, np.ndarray]]) -> dict[str, Any] | None:
    """What is wrong with class labels `y` (integers from 0) beside features; None if nothing is. Rows are in the order as read.

    `x` are the features of the rows `looked_at(len(y))` alone. `orders()` gives sort orders of all rows that something else at hand has,
    by name: are the labels right in one of them? It is asked only where something is wrong.
    """
    n, classes = len(y), int(y.max()) + 1
    counts = np.bincount(y)
    if n < 3 * LEAST or classes < 2 or classes > 60 or (counts[counts > 0] < 5).any() and classes > 20:
        return None
    rows = looked_at(n)
    features = prepared(x)
    if features.shape[1] == 0:
        return None
    labels = y[rows]
    near = neighbours(features, features, NEIGHBOURS, same=True)
    voted, _ = votes(labels, near, classes)
    right = (voted == labels).astype(np.float64)
    chance = float(((counts / n) ** 2).sum())
    window = max(LEAST, len(rows) // 20)
    levels = np.convolve(right, np.ones(window) / window, mode="valid")
    high = float(np.quantile(levels, 0.85))
    base = {"rows": n, "looked_at": len(rows), "classes": classes, "by_chance": round(chance, 3)}
    if high - chance < 0.25:
        whole = _whole(y, rows, near, classes, chance, float(right.mean()), orders, base)
        return whole if whole is not None else _from_a_row_on(features, y, rows, near, classes, chance, base)
    return _part(features, y, rows, right, classes, chance, high, orders, base)


def _whole(y: np.ndarray, rows: np.ndarray, near: np.ndarray, classes: int, chance: float, level: float, orders: Callable[[], dict[str, np.ndarray]],
           base: dict[str, Any]) -> dict[str, Any] | None:  # fmt: skip
    """Labels that tell nothing as they stand: do they in another order?"""
    if level - chance > 0.12:
        return None
    best, known = (0.0, ""), orders()
    for name, order in known.items():
        moved = y[order][rows]
        share = float((votes(moved, near, classes)[0] == moved).mean())
        best = max(best, (share, name))
    share, name = best
    if share - chance < 0.3 or share - chance < 3 * max(level - chance, 0.05):
        return None
    return {**base, "kind": "order", "how": name, "first": int(_first_moved(y, known[name])), "last": len(y) - 1, "agreement": round(level, 3),
            "agreement_elsewhere": None, "agreement_mended": round(share, 3), "moved": int((y != y[known[name]]).sum())}  # fmt: skip


def _from_a_row_on(features: np.ndarray, y: np.ndarray, rows: np.ndarray, near: np.ndarray, classes: int, chance: float,
                   base: dict[str, Any]) -> dict[str, Any] | None:  # fmt: skip
    """Most labels stand some rows from their own, so that even those that are right find few neighbours to agree with.

    Told only of a break: up to a row the labels are confirmed as they stand and not when moved, from it on when moved and not as they stand.
    A label of the next row by design is confirmed moved in all rows, a series that changes slowly in both ways.
    """
    best: tuple[float, int, int, np.ndarray] = (0.0, 0, 0, y[rows])
    for k in (s for d in range(1, FEW_SHIFTS + 1) for s in (d, -d)):
        at = np.clip(rows + k, 0, len(y) - 1)
        moved, plain = y[at], y[rows]
        gain = (votes(moved, near, classes)[0] == moved) - (votes(plain, near, classes)[0] == plain).astype(np.float64)
        start = int(np.argmin(np.concatenate(([0.0], np.cumsum(gain)[:-1]))))
        mended = np.where(np.arange(len(rows)) < start, plain, moved)
        share = float((votes(mended, near, classes)[0] == mended).mean())
        best = max(best, (share, k, start, mended), key=lambda t: t[0])
    _, k, start, mended = best
    if not LEAST <= start <= len(rows) - LEAST:
        return None
    near = near.copy()
    about = np.abs(np.arange(len(rows)) - start) < len(rows) // 8  # mended wrongly themselves, these would confirm the wrong row: others are asked
    near[about] = np.flatnonzero(~about)[neighbours(features[about], features[~about], NEIGHBOURS)]
    voted = votes(mended, near, classes)[0]
    plain, moved = voted == y[rows], voted == y[np.clip(rows + k, 0, len(y) - 1)]
    start = int(np.argmax(np.cumsum(plain.astype(np.float64) - moved))) + 1
    if not LEAST <= start <= len(rows) - LEAST:
        return None
    for part, right, wrong in ((slice(0, start), plain, moved), (slice(start, None), moved, plain)):
        above = right[part].mean() - chance
        if above < max(0.2, 5 * (chance * (1 - chance) / len(right[part])) ** 0.5) or wrong[part].mean() - chance > LOW * above:
            return None
    return {**base, "kind": "shift", "shift": k, "first": int(rows[start]), "last": len(y) - 1, "agreement": round(float(plain[start:].mean()), 3),
            "agreement_elsewhere": round(float(plain[:start].mean()), 3), "agreement_mended": round(float(moved[start:].mean()), 3)}  # fmt: skip


def _first_moved(y: np.ndarray, order: np.ndarray) -> int:
    moved = np.flatnonzero(order != np.arange(len(order)))
    return int(moved[0]) if len(moved) else 0


def _part(features: np.ndarray, y: np.ndarray, rows: np.ndarray, right: np.ndarray, classes: int, chance: float, high: float,
          orders: Callable[[], dict[str, np.ndarray]], base: dict[str, Any]) -> dict[str, Any] | None:  # fmt: skip
    """A stretch of rows whose labels do not agree with their features while the other rows' do."""
    labels = y[rows]
    a, b = stretch((high + chance) / 2 - right)
    inside = np.zeros(len(rows), dtype=bool)
    inside[a:b] = True
    if not LEAST <= b - a <= len(rows) - LEAST:
        return None
    expected, covered = _expected(labels, right, inside, classes)
    if covered < 0.8 or right[inside].mean() > chance + LOW * (expected - chance) or expected - chance < 0.25:
        return None
    outer = np.flatnonzero(~inside)
    near = outer[neighbours(features[inside], features[outer], NEIGHBOURS)]
    voted, purity = votes(labels, near, classes)
    direct = float((voted == labels[inside]).mean())
    if direct > chance + LOW * (expected - chance):
        return None
    found = _explained(y, rows, rows[inside], voted, classes, chance + BACK * (expected - chance), orders)
    if found is None:
        found = _unexplained(features[inside], labels[inside], voted, purity, right[~inside].mean(), classes, chance, expected)
    if found is None:
        return None
    first, last = found.pop("first", int(rows[a])), found.pop("last", int(rows[b - 1]))
    return {**base, "first": first, "last": last, "agreement": round(direct, 3), "agreement_elsewhere": round(expected, 3), **found}


def _expected(labels: np.ndarray, right: np.ndarray, inside: np.ndarray, classes: int) -> tuple[float, float]:
    """What the rows inside would reach if each class did as well as outside; the share of them whose class stands outside too."""
    out = np.bincount(labels[~inside], minlength=classes)
    good = np.bincount(labels[~inside], weights=right[~inside], minlength=classes)
    known = out[labels[inside]] >= 5
    each = (good / np.maximum(out, 1))[labels[inside]]
    return float(each[known].mean()) if known.any() else 0.0, float(known.mean())


def _explained(y: np.ndarray, rows: np.ndarray, inner: np.ndarray, voted: np.ndarray, classes: int, need: float, orders: Callable[[], dict[str, np.ndarray]]
               ) -> dict[str, Any] | None:  # fmt: skip
    """The one shift, renaming or order of the labels under which a stretch agrees with what its neighbours elsewhere say."""
    shifts = []
    for k in (s for d in range(1, SHIFTS + 1) for s in (d, -d)):
        inside = (inner + k >= 0) & (inner + k < len(y))
        if inside.sum() >= LEAST:
            shifts.append((float((voted[inside] == y[inner[inside] + k]).mean()), k))
    share, k = max(shifts, default=(0.0, 0))
    if share >= need:
        gain = np.array([float(v == y[i + k]) - float(v == y[i]) if 0 <= i + k < len(y) else 0.0 for v, i in zip(voted, inner)])
        a, b = stretch(gain)
        return {"kind": "shift", "shift": k, "agreement_mended": round(share, 3), "first": int(inner[a]), "last": int(inner[min(b, len(inner)) - 1])}
    table = np.zeros((classes, classes))
    np.add.at(table, (voted, y[inner]), 1)
    renamed = _renaming(table)
    share = float((renamed[voted] == y[inner]).mean())
    if share >= need and (renamed != np.arange(classes)).any() and classes > 2:
        return {"kind": "renamed", "mapping": {int(c): int(r) for c, r in enumerate(renamed) if table[c].sum() and c != r}, "agreement_mended": round(share, 3)}
    share, how, first, last = _resorted(y, inner, voted, orders)
    if share >= need:
        return {"kind": "order", "how": how, "agreement_mended": round(share, 3), "first": first, "last": last}
    return None


def renamed_group(x: np.ndarray, y: np.ndarray, groups: np.ndarray) -> dict[str, Any] | None:
    """A group of rows whose neighbours in all other groups would give its labels other names, one for one. `x` of the rows `looked_at` alone.

    Told only if the labels of each other group are confirmed by theirs, if those of this group are confirmed by hardly any (of two classes: by
    far fewer than chance), and if they are as the others' once renamed.
    """
    rows, classes = looked_at(len(y)), int(y.max()) + 1
    features, labels, of = prepared(x), y[rows], groups[rows]
    if features.shape[1] == 0 or not 2 <= classes <= 20:
        return None
    told = []
    for g in np.unique(of):
        inside = np.flatnonzero(of == g)
        outer = np.flatnonzero(of != g)
        if len(inside) < LEAST or len(outer) < 2 * LEAST:
            continue
        voted, _ = votes(labels, outer[neighbours(features[inside], features[outer], NEIGHBOURS)], classes)
        direct = float((voted == labels[inside]).mean())
        own = float((votes(labels, inside[neighbours(features[inside], features[inside], NEIGHBOURS, same=True)], classes)[0] == labels[inside]).mean())
        told.append((direct, own, int(g), inside, voted))
    if len(told) < 2:
        return None
    direct, own, g, inside, voted = min(told, key=lambda t: t[0])
    chance = float(((np.bincount(labels[inside], minlength=classes) / len(inside)) ** 2).sum())
    rest = [t for t in told if t[2] != g]
    table = np.zeros((classes, classes))
    np.add.at(table, (voted, labels[inside]), 1)
    renamed = _renaming(table)
    share = float((renamed[voted] == labels[inside]).mean())
    usual = float(np.median([t[1] for t in rest]))
    if min(t[0] for t in rest) < usual - 0.25 and min(t[0] for t in rest) < direct + 0.3:
        return None
    least = chance + BACK * (usual - chance)
    apart = 0.5 * np.abs(np.bincount(labels[inside], minlength=classes) - np.bincount(voted, minlength=classes)).sum() / len(inside)
    told_of = {
        "rows": len(y), "looked_at": len(rows), "classes": classes, "by_chance": round(chance, 3), "first": int(rows[inside[0]]),
        "last": int(rows[inside[-1]]), "agreement": round(direct, 3), "agreement_elsewhere": round(usual, 3),
        "moved": int((groups == g).sum()), "positions": np.flatnonzero(groups == g),
    }  # fmt: skip
    silent = max(direct, own) < chance + 0.2 * (usual - chance) and len(inside) >= 2 * LEAST and apart < 0.15 + (classes / len(inside)) ** 0.5
    if silent and usual - chance > 0.3 and min(t[0] for t in rest) > usual - 0.15:
        return {**told_of, "kind": "disordered", "agreement_mended": None, "counts_differ": round(float(apart), 3), "own_agreement": round(own, 3)}
    if usual - chance < 0.15 or direct > chance - 0.5 * (usual - chance) * (classes == 2) or direct > 0.6 * share or share < least or own < least:
        return None
    mapping = {int(c): int(r) for c, r in enumerate(renamed) if table[c].sum() and c != r}
    return {**told_of, "kind": "renamed", "agreement_mended": round(share, 3), "mapping": mapping}


def _resorted(y: np.ndarray, inner: np.ndarray, voted: np.ndarray, orders: Callable[[], dict[str, np.ndarray]]) -> tuple[float, str, int, int]:
    """The best sort order of a stretch alone; its ends are tried a few rows further out, since the vote finds them only nearly."""
    best, known = (0.0, "", 0, 0), orders()
    for low in range(max(0, int(inner[0]) - EDGE), int(inner[0]) + 1):
        for high in range(int(inner[-1]) + 1, min(len(y), int(inner[-1]) + 1 + EDGE) + 1):
            for name, order in known.items():
                within = order[(order >= low) & (order < high)] - low
                if len(within) == high - low:
                    for sort, how in _both(within):
                        share = float((voted == y[low:high][sort][inner - low]).mean())
                        best = max(best, (share, name + how, low, high - 1))
    return best


def _both(order: np.ndarray) -> tuple[tuple[np.ndarray, str], tuple[np.ndarray, str]]:
    """A permutation and its inverse."""
    return (order, ""), (np.argsort(order), " (undone)")


def _renaming(table: np.ndarray) -> np.ndarray:
    """One label for each voted class, each label once, greedily from the largest count."""
    left, renamed = table.copy(), np.arange(len(table))
    for _ in range(len(table)):
        c, r = np.unravel_index(int(left.argmax()), left.shape)
        if left[c, r] <= 0:
            break
        renamed[c] = r
        left[c, :], left[:, r] = -1, -1
    return renamed


def _unexplained(features: np.ndarray, labels: np.ndarray, voted: np.ndarray, purity: np.ndarray, outside: float, classes: int, chance: float,
                 expected: float) -> dict[str, Any] | None:  # fmt: skip
    """Labels in no order that is known: right in number, told by no neighbour inside or outside, while the features are as clear as elsewhere."""
    size = len(labels)
    if size < 2 * LEAST:
        return None
    near = neighbours(features, features, NEIGHBOURS, same=True)
    own = float((votes(labels, near, classes)[0] == labels).mean())
    own_chance = float(((np.bincount(labels, minlength=classes) / size) ** 2).sum())
    apart = 0.5 * np.abs(np.bincount(labels, minlength=classes) - np.bincount(voted, minlength=classes)).sum() / size
    noise = (classes / size) ** 0.5
    if own > own_chance + LOW * (expected - chance) or apart > 0.15 + noise or own_chance > 0.6 or purity.mean() < 0.75 * outside:
        return None
    return {"kind": "disordered", "agreement_mended": None, "counts_differ": round(float(apart), 3), "own_agreement": round(own, 3)}


def of_numbers(x: np.ndarray, y: np.ndarray, groups: np.ndarray) -> list[dict[str, Any]]:
    """For each group of rows (codes): the shift of the labels under which features explain them best. `x`, `y` in the order as read.

    Returns [{group, rows, shift, error, error_shifted}], errors as shares of the labels' variance; only groups of enough rows.
    """
    found = []
    for g in np.unique(groups):
        rows = np.flatnonzero(groups == g)
        if len(rows) < 5 * LEAST:
            continue
        some = rows[np.unique(np.linspace(SHIFTS, len(rows) - 1 - SHIFTS, 600).astype(np.int64))]
        features = prepared(x[some])
        if features.shape[1] == 0:
            continue
        near = neighbours(features, features, 8, same=True)
        at = np.searchsorted(rows, some)
        errors = {k: error_of(y[rows[at + k]], near) for k in range(-SHIFTS // 2, SHIFTS // 2 + 1)}
        best = min(errors, key=lambda k: (errors[k], abs(k)))
        found.append({"group": int(g), "rows": len(rows), "first": int(rows[0]), "shift": best, "error": errors[0], "error_shifted": errors[best]})
    return found


def error_of(y: np.ndarray, near: np.ndarray) -> float:
    """Mean squared error of the neighbours' mean, as a share of the variance."""
    return float(((y[near].mean(axis=1) - y) ** 2).mean() / max(float(y.var()), 1e-300))


def odd_one(groups: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The one group whose labels fit their features only when shifted, while all others' fit as they stand."""
    moved = [g for g in groups if abs(g["shift"]) >= 2]
    if len(moved) != 1 or len(groups) < 2:
        return None
    odd, others = moved[0], [g for g in groups if g is not moved[0]]
    usual = float(np.median([g["error"] for g in others]))
    if any(abs(g["shift"]) > 1 or g["error"] > 0.4 for g in others):
        return None
    clear = odd["error_shifted"] <= 0.5 * odd["error"] and odd["error"] >= 2.5 * usual and odd["error_shifted"] <= 3 * usual
    return odd if clear else None
