"""One group of a table's rows (a site, a source) in which a column does not belong to its rows, or comes in another unit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import shifts

LEAST = 50  # rows of a group
USUAL = 0.55  # correlation of a column's own part of the forecast with what the others leave of the label, in the other groups
GONE = 0.2  # and at most so much of it is left in the group that is out of order
CLEAR_GAP = 3.0  # a cluster of values stands apart where the gap to the others is so many times their own usual distance


def permuted(numbers: dict[str, np.ndarray], groups: dict[str, np.ndarray], y: np.ndarray) -> dict[str, Any] | None:
    """A group in which the label, or one column, is as a whole what it is elsewhere but tells nothing of its own rows."""
    for by, codes in groups.items():
        rows = [r for c in range(codes.max() + 1) if len(r := np.flatnonzero(codes == c)) >= max(LEAST, 4 * len(numbers))]
        if len(rows) < 2 or len(rows) > 20 or sum(map(len, rows)) < 0.8 * len(y):
            continue
        for odd in rows:
            found = _out_of_order(numbers, rows, odd, y)
            if found is not None:
                return {"kind": "permuted", "by": by, "position": int(odd[0]), "count": len(odd), "after": None, "positions": odd, **found}
    return None


def _out_of_order(numbers: dict[str, np.ndarray], rows: list[np.ndarray], odd: np.ndarray, y: np.ndarray) -> dict[str, Any] | None:
    """Which columns have lost their part in the label in one group, by a least-squares fit of the other groups."""
    names, parts, shift = list(numbers), {}, np.zeros(len(y))
    rest = np.concatenate([r for r in rows if r is not odd])
    for r in rows:
        shift[r] = y[r].mean()
    x, owners = _terms(numbers, rest)
    coefficients = np.linalg.lstsq(x[rest], (y - shift)[rest], rcond=None)[0]
    said, left = x @ coefficients, y - shift
    share = 1 - (left - said)[rest].var() / max(left[rest].var(), 1e-300)
    if share < 0.3:
        return None
    for f in range(len(names)):
        own = _own(x, owners, coefficients, f)
        beside = left - (said - own)
        by_group = [_corr(own[r], beside[r]) for r in rows if r is not odd]
        if min(by_group) > 0.7 * USUAL and np.median(by_group) > USUAL:
            wide = beside[odd].std() / max(float(np.median([beside[r].std() for r in rows if r is not odd])), 1e-300)
            alike = _corr(np.sort(own[odd]), np.sort(beside[odd]))
            parts[names[f]] = (float(np.median(by_group)), _corr(own[odd], beside[odd]), wide, alike)
    return _verdict(parts, said[odd], left[odd], float(np.median([left[r].std() for r in rows if r is not odd])), share)


Part = tuple[float, float, float, float]  # correlation elsewhere and here, spread here by that elsewhere, likeness once sorted


def _verdict(parts: dict[str, Part], said: np.ndarray, left: np.ndarray, usual: float, share: float) -> dict[str, Any] | None:
    """The label if all columns that tell it have fallen silent, one column if it alone has.

    Values out of order go on spreading the label, unseen. Where they merely mean nothing in this group (torque on an axle that is not driven)
    the label spreads less there, by the part that they explain elsewhere: half of that is too little.
    """
    gone = [n for n, (_, here, *_) in parts.items() if abs(here) < GONE]
    if not gone or len(gone) not in (1, len(parts)):
        return None
    main = max(gone, key=lambda n: parts[n][0])
    elsewhere, here, wide, alike = parts[main]
    label = len(gone) == len(parts) and abs(_corr(said, left)) < 0.35 and _corr(np.sort(said), np.sort(left)) > 0.95
    label = label and _spreads(share) < left.std() / usual < 1.33
    column = len(gone) == 1 and _spreads(elsewhere**2) < wide < 1.43 and alike > 0.95
    if not label and not column:
        return None
    either = label and column and len(parts) == 1
    return {"columns": [main] if column and not either else [], "also": main if either else None, "before": round(here**2, 4),
            "elsewhere": round(elsewhere**2, 4), "alike": round(alike, 4)}  # fmt: skip


def _spreads(explained: float) -> float:
    """The least spread, beside that of other groups, of a label whose cause is there but out of order."""
    return float(np.sqrt(1 - explained / 2))


def _own(x: np.ndarray, owners: list[tuple[int, ...]], coefficients: np.ndarray, f: int) -> np.ndarray:
    mine = [f in o for o in owners]
    return np.asarray(x[:, mine] @ coefficients[mine])


def _terms(numbers: dict[str, np.ndarray], rest: np.ndarray) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """Standardised numbers, squares and, of few, products, centred on the other groups; and which numbers each is made of."""
    cols: list[np.ndarray] = []
    for v in numbers.values():
        v = np.where(np.isfinite(v), v, np.nan)
        cols.append(np.nan_to_num((v - np.nanmean(v[rest])) / (np.nanstd(v[rest]) or 1.0)))
    k, owners = len(cols), [(i,) for i in range(len(cols))]
    for i in range(k):
        for j in range(i, k if k <= 4 else i + 1):
            cols.append(cols[i] * cols[j])
            owners.append((i, j))
    x = np.column_stack(cols)
    return x - x[rest].mean(axis=0), owners


def _corr(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.corrcoef(a, b)[0, 1]) if a.std() > 0 and b.std() > 0 else 0.0


def candidates(values: np.ndarray, groups: dict[str, np.ndarray], inputs: dict[str, np.ndarray]) -> Iterator[tuple[np.ndarray, str | None]]:
    """Rows that may hold a column in another unit: those of one group, and those of the smaller of two clusters of values.

    Groups that the model is told of are left out: two kinds of things may well differ by any factor.
    """
    for by, codes in groups.items():
        if by in inputs:
            continue
        for c in range(codes.max() + 1):
            odd = codes == c
            if LEAST <= odd.sum() <= 0.5 * len(values):
                yield odd, by
    apart = cluster(values)
    if apart is not None and not any(_pure(apart, codes) > 0.95 for codes in inputs.values()):
        yield apart, None


def _pure(part: np.ndarray, codes: np.ndarray) -> float:
    """Share of rows on the side of the part that most rows of their level are on."""
    inside, all_of = np.bincount(codes, weights=part), np.bincount(codes)
    return float(np.maximum(inside, all_of - inside).sum() / len(codes))


def beyond_doubt(found: shifts.Rescaled, values: np.ndarray, odd: np.ndarray, name: str) -> bool:
    """Is a group's unit one of the common pairs (or named like the column), met closely? Groups differ by chance by many a factor."""
    factor = max(found.factor, 1 / found.factor)
    if found.offset:
        return found.misfit < 0.1
    named = bool(name) and name.lower() in found.unit.lower()
    now = float(np.median(values[odd]) / np.median(values[~odd]))
    off = abs(np.log(max(now, 1 / now) / factor))
    return found.misfit < 0.2 and off < 0.04 and (named or any(abs(factor - u) < 1e-6 * u for u in (*shifts.COMMON, *shifts.TENS)))


def cluster(values: np.ndarray) -> np.ndarray | None:
    """The smaller of two clusters of positive values that a gap parts, in logarithms; None where there is no such gap."""
    if (values <= 0).any() or len(np.unique(values)) < 40:
        return None
    logs = np.log(values)
    ordered = np.sort(logs)
    least = max(30, len(values) // 50)
    steps = np.diff(ordered)[least:-least]
    if not len(steps):
        return None
    cut = int(steps.argmax()) + least
    spread = min(ordered[cut] - ordered[0], ordered[-1] - ordered[cut + 1])
    if steps.max() < max(0.15 * spread, CLEAR_GAP * float(np.quantile(steps, 0.99))):
        return None
    low = logs <= ordered[cut]
    return low if low.sum() <= len(values) / 2 else ~low


def unit_of(values: np.ndarray, odd: np.ndarray, name: str) -> shifts.Rescaled | None:
    """The known pair of units that some rows' values are apart by from the others'."""
    grid = np.linspace(0, 1, 21)
    found = shifts.rescaled(np.quantile(values[~odd], grid).tolist(), np.quantile(values[odd], grid).tolist(), name)
    return found if found is not None and found.unit else None
