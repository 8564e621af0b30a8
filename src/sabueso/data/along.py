"""Along the rows of one table, or along its time: a unit that changes, a column that goes constant or empty from some row on; no label needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import drift, shifts
from ..capture.columns import split
from ..profiles import GRID

LEAST = 60  # rows of the smaller part
CLEAR = 12.0  # standard errors of the break; chance in 1,000 rows reaches 4
STEADY = 0.35  # standard deviations between the halves of one part: more, and the column drifts or is sorted, and does not break
MISFIT = 0.2  # of the quantiles after conversion


def changes(columns: dict[str, np.ndarray], rows: np.ndarray, order: np.ndarray | None = None, usual: dict[str, float] | None = None) -> list[dict[str, Any]]:
    """The breaks of these columns, told by the rows' positions; `order` is that of the time, `usual` the medians of a reference, where there are such."""
    at = np.arange(len(rows)) if order is None else order
    told = []
    for name, values in columns.items():
        if values.dtype.kind == "O" or len(values) < 2 * LEAST:
            continue
        found = _change(name, values[at].astype(np.float64), (usual or {}).get(name))
        if found is not None:
            first, stop = found.pop("from"), found.pop("to")
            place = np.sort(at[first:stop])
            share = round(len(place) / len(rows), 4)
            told.append(found | {"column": name, "row": int(rows[place[0]]), "rows": rows[place[:50]].tolist(), "share": share, "place": place})
    return told


def _change(name: str, values: np.ndarray, usual: float | None) -> dict[str, Any] | None:
    gap = np.isnan(values)
    return _emptied(gap) or _stuck(values, gap) or (None if gap.any() else _rescaled(name, values, usual))


def _emptied(gap: np.ndarray) -> dict[str, Any] | None:
    """Hardly a gap, and from a row on nothing but gaps (or the other way round)."""
    if not LEAST <= gap.sum() <= len(gap) - LEAST:
        return None
    found = split(gap.astype(np.float64), 0.0, CLEAR)
    if found is None or found[3] < 0.98 or found[2] > 0.2 or found[1] - found[0] < LEAST:
        return None
    return {"kind": "empty", "from": found[0], "to": found[1], "before": round(found[2], 4), "after": round(found[3], 4)}


def _stuck(values: np.ndarray, gap: np.ndarray) -> dict[str, Any] | None:
    """The last (or first) rows all hold one value of many, that is nowhere else as frequent."""
    if len(np.unique(values[~gap])) < 20:
        return None
    for end in (True, False):
        side = values[::-1] if end else values
        other = np.flatnonzero(side != side[0])
        run = int(other[0]) if len(other) else len(side)
        if LEAST <= run <= 0.8 * len(side) and run > 5 * _longest(side[run:]) and (side[run:] == side[0]).mean() < 0.1:
            return {"kind": "constant", "from": len(side) - run if end else 0, "to": len(side) if end else run, "value": float(side[0])}
    return None


def _longest(values: np.ndarray) -> int:
    """The longest run of equal values: a sorted column is made of runs."""
    edges = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1], [True]]))
    return int(np.diff(edges).max())


def _rescaled(name: str, values: np.ndarray, usual: float | None) -> dict[str, Any] | None:
    """Another known unit from a row on: both parts are steady, and one's quantiles are the other's times a known factor."""
    if len(np.unique(values)) < 20 or not np.isfinite(values).all():
        return None
    inner = drift.edges(values)
    found = split(np.searchsorted(inner, values) / max(len(inner), 1), 0.5, CLEAR)
    if found is None:
        return None
    odd = np.zeros(len(values), bool)
    odd[found[0] : found[1]] = True
    near = [abs(float(np.median(values[part])) - usual) for part in (odd, ~odd)] if usual is not None else []
    if near[0] < near[1] if near else odd.mean() > 0.5:  # the odd part is the one far from the reference, without one the smaller
        odd = ~odd
    parts = values[~odd], values[odd]
    if min(map(len, parts)) < LEAST or any(_apart(p) > STEADY for p in parts):
        return None
    unit = shifts.rescaled(*(np.quantile(p, GRID).tolist() for p in parts), name)
    if unit is None or not unit.unit or unit.misfit > MISFIT:
        return None
    inside = np.flatnonzero(odd)
    return {"kind": "unit", "from": int(inside[0]), "to": int(inside[-1]) + 1, "factor": unit.factor, "offset": unit.offset, "unit": unit.unit,
            "usual": float(np.median(parts[0])), "now": float(np.median(parts[1])), "misfit": unit.misfit}  # fmt: skip


def _apart(values: np.ndarray) -> float:
    """The move between the halves of a part."""
    inner, half = drift.edges(values), len(values) // 2
    return drift.numbers(drift.count(values[:half], inner), drift.count(values[half:], inner)).effect
