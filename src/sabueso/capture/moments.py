"""Moments: means and spreads that were stored of columns, beside those of the table that is scaled with them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from .columns import positions
from .naming import tables_at_hand
from .origin import user_line
from .recorder import Recorder
from .remembering import beside
from .summarise import columns_of, height, values

MEANS = ("mean", "mu", "average", "center", "centre", "mean_")
SPREADS = ("std", "sd", "scale", "sigma", "stdev", "spread", "scale_", "std_")
LEAST = 20  # rows
MOST = 200
MOST_BYTES = 1_000_000  # of a file of arrays

Found = dict[str, tuple[float, float]]  # (mean, spread) by column


def moments_in(value: Any, deep: int = 3) -> Found:
    """{column: {mean, std}}, {mean: {column: ..}, std: {..}} or {columns: [..], mean: [..], std: [..]} within a loaded object."""
    if not isinstance(value, dict) or not deep:
        return {}
    mean, spread = (next((value[k] for k in keys if k in value), None) for keys in (MEANS, SPREADS))
    if isinstance(mean, dict) and isinstance(spread, dict):
        return {str(k): (float(mean[k]), float(spread[k])) for k in mean if k in spread and _number(mean[k]) and _number(spread[k])}
    if isinstance(mean, list) and isinstance(spread, list):
        names = next((v for v in value.values() if isinstance(v, list) and len(v) == len(mean) and all(isinstance(n, str) for n in v)), None)
        return {n: (float(m), float(s)) for n, m, s in zip(names, mean, spread) if _number(m) and _number(s)} if names else {}
    found: Found = {}
    for name, part in list(value.items())[:MOST]:
        if isinstance(part, dict):
            m, s = (next((part[k] for k in keys if k in part), None) for keys in (MEANS, SPREADS))
            if _number(m) and _number(s):
                found[str(name)] = (float(m), float(s))
            else:
                found |= moments_in(part, deep - 1)
    return found


def _number(v: Any) -> bool:
    return isinstance(v, (int, float)) and not isinstance(v, bool)


def keep(recorder: Recorder, value: Any) -> None:
    """An object was loaded from a file: remember the moments that it holds."""
    found = moments_in(value)
    if found:
        file, line = user_line()
        recorder.shared.setdefault("moments", []).append((found, file, line))


def keep_arrays(recorder: Recorder, path: str, names: list[str]) -> None:
    """A file of arrays was opened: read the moments that it holds for ourselves, so that the program's own reader stays as it is."""
    if not any(k in names for k in MEANS) or not any(k in names for k in SPREADS) or os.path.getsize(path) > MOST_BYTES:
        return
    with np.load(path, allow_pickle=False) as held:
        keep(recorder, {k: held[k].tolist() for k in names if held[k].dtype.kind in "iufU" and held[k].ndim == 1})


def look(recorder: Recorder) -> None:
    """A model is about to be given rows: hold stored moments against the tables at hand, once."""
    waiting = recorder.shared.get("moments")
    if not waiting:
        return
    tables = [t for t in tables_at_hand() if height(t) >= LEAST]
    for entry in list(waiting):
        found, file, line = entry
        told: dict[str, dict[str, Any]] = {}
        rows = 0
        for table in tables:
            names = set(columns_of(table))
            for c in _beside(table, {n: m for n, m in found.items() if n in names}):
                rows = rows or height(table)
                best = told.setdefault(c["column"], c)  # of several tables the one that agrees: it may have been converted on the way
                told[c["column"]] = min(best, c, key=lambda t: abs(t["table_mean"] - t["mean"]))
        if told:
            waiting.remove(entry)
            recorder.fact("moments", {"columns": list(told.values()), "rows": rows, "how": "file"}, file=file or "", line=line)


def _beside(table: Any, found: Found) -> Iterator[dict[str, Any]]:
    for name, (mean, spread) in found.items():
        column = values(table[name])
        if column.dtype.kind in "iuf":
            told = beside(name, column.astype(float), positions(table), mean, spread)
            if told is not None:
                yield told
