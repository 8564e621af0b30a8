"""Joins and dropped rows as evidence: how many rows found no partner or too many, which rows they are as read, and what would mend it."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import joins, summarise, tables
from .recorder import Recorder


def look(recorder: Recorder, left: Any, right: Any, result: Any, how: str, names: list[str], a: list[np.ndarray], b: list[np.ndarray]) -> None:
    """Record a join. `a` and `b` are the key columns of either side; `right` is None for a look-up in a dictionary."""
    if len(a[0]) + len(b[0]) > joins.MOST_ROWS or not len(a[0]):
        return
    found, alone, twice = joins.apart(a, b)
    known = tables.of(recorder)
    number = known.joins = known.joins + 1
    rows = summarise.height(result)
    found |= {"join": number, "how": how, "on": names, "rows": rows, "explained": _differing(right, twice, names) if len(twice) else None}
    if len(alone):
        found["unmatched_table"], found["unmatched_rows"] = known.rows(left, alone, names[0])
        found["selective"] = differs(left, alone, names)
    if len(twice) and right is not None:
        found["repeated_table"], found["repeated_rows"] = known.rows(right, twice, names[0])
        found["repeated_count"] = len(twice)
        if how != "map":
            known.exploded.append((number, len(a[0]), rows))
    recorder.fact("table_join", found)


def _differing(right: Any, twice: np.ndarray, names: list[str]) -> dict[str, Any] | None:
    """Are the repeated rows copies, or do they contradict each other: columns that differ within a key, with an example."""
    if right is None or len(twice) > 20_000:
        return None
    key = None
    for name in names:
        if name not in summarise.columns_of(right):
            return None
        h = tables.hashed(tables.head(right, name, twice))
        key = h if key is None else tables.mixed(key, h)
    order = np.argsort(key, kind="stable")
    same = key[order][1:] == key[order][:-1]
    columns = []
    for name in [c for c in summarise.columns_of(right) if c not in names][:30]:
        held = tables.hashed(tables.head(right, name, twice))[order]
        if (same & (held[1:] != held[:-1])).any():
            columns.append(name)
    return {"columns": columns[:10], "copies": not columns}


def reduced(recorder: Recorder, before: int, after: int) -> None:
    """Some table was filtered, grouped or freed of repeats: was it the result of a join that had gained rows?"""
    known = tables.of(recorder)
    for number, left, gained in known.exploded:
        if before == gained and after <= left and recorder.once("join_reduced", number):
            recorder.fact("join_reduced", {"join": number, "rows": after})


def drops(recorder: Recorder, frame: Any, gaps: np.ndarray, asked: list[int], names: list[str], before: int, after: int, whole: bool,
          **more: Any) -> None:  # fmt: skip
    """Record rows dropped for their gaps: by column how many have one, and how many would stay but for this column."""
    among = gaps[:, asked]
    times = among.sum(axis=1)
    lost = np.flatnonzero(times > 0)
    if len(lost) != before - after:  # `thresh` or how="all"
        return
    by_column = {names[c]: {"gaps": int(among[:, i].sum()), "alone": int((among[:, i] & (times == 1)).sum())} for i, c in enumerate(asked) if among[:, i].any()}
    table, rows = tables.of(recorder).rows(frame, lost)
    most = dict(sorted(by_column.items(), key=lambda t: -t[1]["alone"])[:20])
    told = {"how": "dropna", "before": before, "after": after, "whole": whole, "table": table, "rows": rows, "columns": names[:200], "by_column": most}
    recorder.fact("rows_dropped", {**told, **more, "selective": differs(frame, lost, list(by_column))})


def differs(frame: Any, rows: np.ndarray, without: list[str]) -> list[dict[str, Any]]:
    """In which columns some rows differ from the others: means in standard deviations, or the level that they hold most of."""
    n = summarise.height(frame)
    if not 5 <= len(rows) <= n - 5:
        return []
    lost = np.zeros(n, dtype=bool)
    lost[rows] = True
    some = summarise.spread(n, 20_000)
    mask, found = lost[some], []
    pick = [c for c in summarise.columns_of(frame) if c not in without][:40]
    frame, some = (frame.iloc[some], slice(None)) if pick and summarise.library(frame) == "pandas" else (frame, some)
    for name in pick:
        values = summarise.column(frame, name) if isinstance(some, slice) else tables.head(frame, name, some)
        told = _numbers(values, mask) if values.dtype.kind in "iufb" else _levels(values, mask)
        if told:
            found.append({"column": name, **told})
    return sorted(found, key=lambda d: -d["strength"])[:5]


def _numbers(values: np.ndarray, mask: np.ndarray) -> dict[str, Any] | None:
    good = np.isfinite(values)
    a, b = values[mask & good], values[~mask & good]
    spread = values[good].std() if good.any() else 0
    if len(a) < 5 or len(b) < 5 or not spread:
        return None
    size = (a.mean() - b.mean()) / spread
    noise = (1 / len(a) + 1 / len(b)) ** 0.5
    if abs(size) < 0.2 or abs(size) < 4 * noise:  # Cohen's small effect; four standard errors over at most 40 columns
        return None
    return {"lost": round(float(a.mean()), 4), "kept": round(float(b.mean()), 4), "strength": round(abs(float(size)), 3)}


def _levels(values: np.ndarray, mask: np.ndarray) -> dict[str, Any] | None:
    a, b = values[mask].tolist(), values[~mask].tolist()
    levels = {v for v in a if v is not None}
    if not 1 <= len(levels) <= 30:
        return None
    best = max(levels, key=lambda v: a.count(v) / len(a) - b.count(v) / max(len(b), 1))
    here, there = a.count(best) / len(a), b.count(best) / max(len(b), 1)
    if here - there < 0.15 or here - there < 4 * (0.25 / len(a) + 0.25 / max(len(b), 1)) ** 0.5:
        return None
    return {"level": str(best)[:60], "lost": round(here, 3), "kept": round(there, 3), "strength": round(2 * (here - there), 3)}
