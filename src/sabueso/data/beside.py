"""Two tables side by side: one fact `tables_apart` a pair, with a verdict for each column that both have."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import drift
from ..capture.spelling import WAYS
from ..profiles import GRID, Profile
from .held import Held
from .looks import held_apart, is_block, is_clock, is_key
from .origins import origin
from .plans import bins_of
from .reading import Table


def apart(ours: Held, theirs: Held, role: str, target: str | None, skip: set[str], q: float = 0.02) -> dict[str, Any]:
    """The value of `tables_apart`."""
    a, b = ours.table, theirs.table
    told: dict[str, Any] = {"role": role, "reference": a.name, "current": b.name, "ref_rows": a.rows, "cur_rows": b.rows, "target": target}
    told["absent"] = [n for n in a.names if n not in b.kinds and n != target]
    told["added"] = [n for n in b.names if n not in a.kinds]
    same, order = [n for n in b.names if n in a.kinds], [n for n in a.names if n in b.kinds]
    told["reordered"] = [x for x, y in zip(order, same) if x != y]
    filled = [n for n in same if all(h.profiles[n].missing < h.profiles[n].count for h in (ours, theirs))]
    told["types"] = [_types(b, n, a) for n in filled if _apart_in_type(a.kinds[n], b.kinds[n])]
    kept = [n for n in same if a.kinds[n] == b.kinds[n] != "other" and n not in skip]
    told["columns"] = [_column(n, ours, theirs) for n in kept]
    told["clocks"] = [c for n in same if a.kinds[n] == b.kinds[n] == "time" and (c := _hours(n, ours.sample[n], theirs.sample[n]))]
    _judge(told["columns"], q)
    for c in told["columns"]:
        _point(b, c, ours.profiles[c["name"]])
        if c["verdict"]["answer"] == drift.DRIFTED and c["what"] == "number":
            found = c["origin"] = origin(c["name"], ours, theirs, c["verdict"]["effect"])
            if found:
                c["beyond_rows"] = found.get("rows") or b.first(found["column"], "equal", [found["value"]])
    return told


def skipped(ours: Held, theirs: Held, time: str | None, target: str | None) -> set[str]:
    """Columns that are no quantity: identifiers, clocks, the time itself. They differ between any two tables."""
    a, sample = ours.table, ours.sample
    beside = sample[time] if time in sample else a.rows_of_sample().astype(float)
    clock = beside if beside.dtype.kind != "O" and np.isfinite(beside).all() else a.rows_of_sample().astype(float)
    timed = {n for n in a.names if a.kinds[n] == "time"} | ({time} if time else set())
    keys = {n for n in a.names if is_key(a.kinds[n], sample[n]) and a.kinds[n] == "number"}
    numeric = [n for n in a.names if a.kinds[n] == "number"]
    clocks = {n for n in numeric if is_clock(sample[n], clock) or is_block(sample[n]) or held_apart(sample[n], theirs.sample.get(n))}
    return (timed | keys | clocks) - {target}


def _hours(name: str, ours: np.ndarray, theirs: np.ndarray) -> dict[str, Any] | None:
    """The hours of day of a time in both tables; None for dates alone."""
    held = [t[np.isfinite(t)] for t in (ours, theirs)]
    if any(len(t) < 100 or (t % 86400 == 0).mean() > 0.9 for t in held):
        return None
    few = [list(zip(*(v.tolist() for v in np.unique(t % 86400 // 3600, return_counts=True)))) for t in held]
    return {"name": name, "ref_few": few[0], "cur_few": few[1]}


def _apart_in_type(ours: str, theirs: str) -> bool:
    group = {"number": "number", "bool": "number", "text": "text", "time": "time"}
    return group.get(ours) != group.get(theirs) and "other" not in (ours, theirs)


def _types(b: Table, name: str, a: Table) -> dict[str, Any]:
    example = next((v for v in b.column(name)[:1000].tolist() if v is not None and v == v), None)
    return {"name": name, "types": [a.kinds[name], b.kinds[name]], "example": str(example)[:60], "rows": list(range(min(50, b.rows)))}


def _column(name: str, a: Held, b: Held) -> dict[str, Any]:
    """A column of both: what was counted, and how it moved beyond the reference's own wobble."""
    ours, whole, cur = a.parts[name], a.profiles[name], b.profiles[name]
    told: dict[str, Any] = {"name": name, "kind": whole.kind, "ref": _told(whole, a.sample[name]), "cur": _told(cur, b.sample[name])}
    told["missing_p"] = drift.share(whole.missing, whole.count, cur.missing, cur.count, _share_floor(ours))
    values = _values(whole, cur)
    r, s = bins_of(whole, values), bins_of(cur, values)
    text = whole.kind == "text" and values is not None
    told["what"] = "levels" if text else "length" if whole.kind == "text" else "number"
    if not r or not s or not sum(r) or not sum(s):
        told["moved"], told["rows"] = drift.Moved(), (sum(r), sum(s))
        return told
    compare = drift.levels if text else drift.numbers
    least = drift.floor([bins_of(p, values) for p in ours], compare) if len(ours) > 1 else drift.LEAST
    told["floor"], told["moved"], told["rows"] = least, compare(r, s, least), (sum(r), sum(s))
    told["ref_counts"], told["cur_counts"] = r, s
    if text or values is not None:
        known = {v for v, n in whole.levels if n}
        new = {v: n for v, n in cur.levels if v not in known}
        told["new"], told["new_count"], told["once"] = dict(list(new.items())[:20]), sum(new.values()), sum(n == 1 for _, n in whole.levels)
        told["new_p"] = drift.unseen(np.array(r, float), np.array(s, float))
        told["gone"] = [v for v, n in whole.levels if n > 0.02 * whole.valid and v not in dict(cur.levels)][:20]
        told["values"] = values[:100]
    return told


def _told(p: Profile, sample: np.ndarray) -> dict[str, Any]:
    """Quantiles are of the sample: the counts, on the reference's edges, have no shape beyond them."""
    finite = sample[np.isfinite(sample)] if sample.dtype.kind != "O" else sample[:0]
    grid = np.quantile(finite.astype(float), GRID).tolist() if len(finite) else []
    kept = ("count", "missing", "mean", "sd", "min", "max", "distinct", "whole")
    return {k: getattr(p, k) for k in kept} | {"grid": grid}


def _values(a: Profile, b: Profile) -> list[Any] | None:
    """The values in one order where both are counted by value; None for bins."""
    if a.edges or a.cut or b.cut or (not a.levels and not b.levels):
        return None
    ours = dict(a.levels)
    held = {**ours, **dict(b.levels)}
    return sorted(held, key=lambda v: (-ours.get(v, 0), str(v))) if a.kind == "text" else sorted(held)


def _share_floor(ours: list[Profile]) -> float:
    """The wobble of a missing rate from chunk to chunk, on the scale of `drift.share`."""
    held = [p for p in ours if p.count >= 50]
    total, missing = sum(p.count for p in held), sum(p.missing for p in held)
    if len(held) < 4 or not missing or missing == total:
        return drift.LEAST
    w = missing / total
    noise = [max(0.0, (p.missing / p.count - w) ** 2 / (w * (1 - w)) - 1 / p.count) for p in held]
    return max(drift.LEAST, 2 * math.sqrt(sum(noise) / len(noise)))


def _judge(columns: list[dict[str, Any]], q: float) -> None:
    """One decision over all columns: Benjamini and Hochberg."""
    answers = drift.verdicts([(c["moved"], *c["rows"]) for c in columns], q)
    absent = drift.rejected([c["missing_p"] for c in columns], q / 2)
    for c, v, gone in zip(columns, answers, absent):
        c["verdict"] = {"answer": v.answer, "p": v.p, "effect": v.effect, "low": v.low, "high": v.high, "visible": v.visible}
        c["parts"], c["missing_moved"] = c.pop("moved").parts, gone


def _point(b: Table, c: dict[str, Any], whole: Profile) -> None:
    """The rows that a person may look at: of new levels, gaps that are new, values beyond the reference."""
    if c.get("new_count") and c["kind"] == "text":
        c["new_rows"] = b.first(c["name"], "equal", list(c["new"]))
        c["alike"], c["how"] = _alike(list(c["new"]), [v for v, _ in whole.levels])
    if c["missing_moved"] and c["cur"]["missing"]:
        c["missing_rows"] = b.first(c["name"], "missing")
    if c["verdict"]["answer"] == drift.DRIFTED and c["what"] == "number" and whole.min is not None:
        c["beyond_rows"] = b.first(c["name"], "outside", whole.min, whole.max)


def _alike(new: list[str], known: list[str]) -> tuple[dict[str, str], str]:
    """New levels that are known ones in another spelling, and what makes them equal."""
    for how, (spell, _) in WAYS.items():
        held = {spell(str(v)): str(v) for v in known}
        met = {str(v): held[spell(str(v))] for v in new if spell(str(v)) in held}
        if met:
            return met, how
    return {}, ""
