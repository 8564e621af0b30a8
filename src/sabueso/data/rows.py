"""Rows of tables told by the values of all their columns: repeated ones, and ones that two tables share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..contracts import stamp
from ..profiles import Profile
from .reading import Table

FIRST = 50


def bits(values: np.ndarray, p: Profile, sample: np.ndarray) -> np.ndarray:
    """How surprising each value of a column is, in bits, from below: by how often it, its bin or a gap is met."""
    gap = np.array([v is None for v in values.tolist()]) if values.dtype.kind == "O" else np.isnan(values.astype(np.float64))
    made = np.full(len(values), -math.log2(max(p.missing, 1) / max(p.count, 1)))
    if p.levels:
        held = dict(p.levels)
        made[~gap] = [-math.log2(max(held.get(v, 1), 1) / max(p.count, 1)) for v in values[~gap].tolist()]
    elif p.kind == "text":
        made[~gap] = math.log2(max(len(set(sample.tolist())), 1))
    elif p.counts:
        counts, bins = np.maximum(np.array(p.counts, float), 1), np.searchsorted(p.edges, values[~gap], side="left")
        within = math.log2(max(len(np.unique(sample)) / len(counts), 1))
        made[~gap] = -np.log2(counts[bins] / max(p.count, 1)) + within
    return made


def enough(table: Table, profiles: dict[str, Profile], sample: dict[str, np.ndarray], names: list[str], rows: list[int], of: int) -> bool:
    """Are these equal rows too unlikely to be chance? Twice the bits that tell all rows apart, and ten, for most of them."""
    held = table.at(names, rows)
    total = np.sum([bits(held[n], profiles[n], sample[n]) for n in names], axis=0)
    return bool(np.median(total) >= 2 * math.log2(max(of, 2)) + 10)


def repeated(hashes: np.ndarray) -> dict[str, Any]:
    """Rows that repeat an earlier one, with the first of them."""
    ordered = np.sort(hashes)
    again = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(again):
        return {"count": 0, "rows": []}
    at = np.flatnonzero(np.isin(hashes, np.unique(again)))
    _, first = np.unique(hashes[at], return_index=True)
    later = np.delete(at, first)
    return {"count": len(again), "rows": later[:FIRST].tolist(), "positions": later}


def shared(reference: np.ndarray, current: np.ndarray) -> np.ndarray:
    """Which rows of the current table the reference holds."""
    known = np.sort(reference)
    at = np.minimum(np.searchsorted(known, current), len(known) - 1)
    return known[at] == current


def twins(table: Table, profiles: dict[str, Profile], sample: dict[str, np.ndarray], target: str | None) -> dict[str, Any] | None:
    """Repeated rows of one table, where they can't be chance; how those labels are spread that repeat."""
    names = [n for n in table.names if profiles[n].kind != "other"]
    if table.rows < 20 or not names:
        return None
    found = repeated(table.hashes(names))
    if not found["count"] or not enough(table, profiles, sample, names, found["rows"], table.rows):
        return None
    at = found.pop("positions")
    if target in profiles and profiles[target].levels:
        values = table.column(target)
        top = profiles[target].levels[0][0]
        found["minority"] = bool((values[at] != top).mean() > 0.95) and (values != top).mean() < 0.5
    return found | {"columns": len(names)}


def overlap(a: Table, b: Table, profiles: dict[str, Profile], sample: dict[str, np.ndarray], target: str | None, keys: set[str]) -> dict[str, Any] | None:
    """Rows of b that a holds too: equal in every column but the label and running numbers, where so many values can't agree by chance."""
    common = [n for n in a.names if n in b.kinds and n != target and a.kinds[n] == b.kinds[n] != "other"]
    bare = [n for n in common if n not in keys]
    for names in (bare, common) if bare != common else (common,):
        if not names:
            continue
        twice = np.flatnonzero(shared(a.hashes(names), b.hashes(names)))
        if len(twice) and enough(b, profiles, sample, names, twice[:FIRST].tolist(), max(a.rows, b.rows)):
            return {"how": "rows", "count": len(twice), "rows": twice[:FIRST].tolist(), "columns": len(names), "positions": twice, "names": names}
    return None


def groups(a: Table, b: Table, group: str) -> dict[str, Any]:
    """Rows of b that belong to a group of a."""
    ours, theirs = a.column(group), b.column(group)
    known = set(ours.tolist()) - {None}
    inside = np.fromiter((v in known for v in theirs.tolist()), bool, len(theirs))
    all_of = set(theirs.tolist()) - {None}
    return {"how": "group", "column": group, "count": int(inside.sum()), "rows": np.flatnonzero(inside)[:FIRST].tolist(),
            "groups": len(all_of), "shared": len(all_of & known)}  # fmt: skip


def times(a: Table, b: Table, time: str) -> dict[str, Any] | None:
    """Rows of a that are later than the first of b: the model learns from what is to come."""
    ours, theirs = a.column(time), b.column(time)
    if ours.dtype.kind == "O" or theirs.dtype.kind == "O":
        return None
    ours_held, theirs_held = ours[np.isfinite(ours)], theirs[np.isfinite(theirs)]
    if not len(ours_held) or not len(theirs_held):
        return None
    start, end = float(theirs_held.min()), float(ours_held.max())
    late = ours > start
    told = stamp if a.kinds[time] == "time" else float
    return {"how": "time", "column": time, "count": int(late.sum()), "rows": np.flatnonzero(late)[:FIRST].tolist(), "judged": int((theirs < end).sum()),
            "last": told(end), "first": told(start)}  # fmt: skip
