"""Moments: means and spreads that were stored of columns, beside those of the table that is scaled with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .columns import columns, names_of
from .naming import tables_at_hand
from .origin import user_line
from .recorder import Recorder
from .summarise import columns_of, height, values

MEANS = ("mean", "mu", "average", "center", "centre", "mean_")
SPREADS = ("std", "sd", "scale", "sigma", "stdev", "spread", "scale_", "std_")
LEAST = 20  # rows
MOST = 200

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


def look(recorder: Recorder) -> None:
    """A model is about to be given rows: hold stored moments against the tables at hand, once."""
    waiting = recorder.shared.get("moments")
    if not waiting:
        return
    for table in tables_at_hand():
        names = set(columns_of(table))
        for entry in [w for w in waiting if len(names & set(w[0])) >= 1]:
            found, file, line = entry
            told = list(_beside(table, {n: m for n, m in found.items() if n in names}))
            if told and height(table) >= LEAST:
                waiting.remove(entry)
                recorder.fact("moments", {"columns": told, "rows": height(table), "how": "file"}, file=file or "", line=line)


def _beside(table: Any, found: Found) -> Iterator[dict[str, Any]]:
    for name, (mean, spread) in found.items():
        column = values(table[name])
        if column.dtype.kind in "iuf":
            good = column[np.isfinite(column)].astype(float)
            if len(good) >= LEAST:
                yield {"column": name, "mean": mean, "sd": spread, "table_mean": float(good.mean()), "table_sd": float(good.std())}


def of_scaler(recorder: Recorder, owner: Any, x: Any) -> None:
    """A scaler that was not fitted in this run is given rows: what it remembers beside what it gets."""
    mean, scale = getattr(owner, "mean_", None), getattr(owner, "scale_", None)
    if not isinstance(mean, np.ndarray) or not isinstance(scale, np.ndarray) or not recorder.once("scaler", id(owner)):
        return
    got = columns(x)
    if got is None or len(got) != len(mean) or len(got[0]) < LEAST:
        return
    names = names_of(x) or [str(n) for n in getattr(owner, "feature_names_in_", [])] or [f"column {j}" for j in range(len(got))]
    told = [{"column": n, "mean": float(m), "sd": float(s), "table_mean": float(np.nanmean(c)), "table_sd": float(np.nanstd(c))}
            for n, m, s, c in zip(names, mean, scale, got) if c.dtype.kind in "iuf" and np.isfinite(c).any()]  # fmt: skip
    recorder.fact("moments", {"columns": told, "rows": len(got[0]), "how": type(owner).__name__}, estimator=type(owner).__name__)
