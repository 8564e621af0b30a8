"""What the columns of a table looked like as read, at a fit and at an evaluation: for the screen of data, from evenly spread rows."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..profiles import Profile
from . import summarise
from .recorder import Recorder

MOST_ROWS = 1_000
MOST_COLUMNS, MOST_UNNAMED = 60, 30
MOST_TABLES, MOST_RELATED = 10, 30
SECONDS = 0.08  # CPU time of all of them in a run


class Distributions:
    """What was looked at so far. One a recorder: see `look`."""

    def __init__(self) -> None:
        self.met: set[tuple[str, int]] = set()
        self.names: dict[int, list[str]] = {}  # of columns, by how many there are: an array that follows a named one has its names
        self.spent = 0.0

    def look(self, recorder: Recorder, x: Any, source: str, names: list[str] | None, place: dict[str, Any]) -> None:
        """Record a profile of each column."""
        rows = summarise.height(x)
        if (source, rows) in self.met or len(self.met) >= MOST_TABLES or self.spent > SECONDS or not rows:
            return
        began = time.thread_time()
        some = _some(x, rows)
        if some is None:
            return
        self.met.add((source, rows))
        found = summarise.profile_table(some, MOST_COLUMNS)
        named = names if names and len(names) >= len(found) else self.names.get(len(found)) if not summarise.is_frame(x) else None
        if names or summarise.is_frame(x):
            self.names[len(found)] = [n or p.name for n, p in zip(names or [p.name for p in found], found)]
        for n, profile in enumerate(found):
            profile.name = named[n] if named else profile.name if summarise.is_frame(x) else f"column {profile.name}"
            told = profile.as_dict() | {"count": rows, "missing": round(profile.missing / max(profile.count, 1) * rows)}
            recorder.profile("column", told, **(place or {}), column=profile.name, tensor=source)
        if source.endswith(" fit"):
            _related(recorder, some, found, source, place)
        self.spent += time.thread_time() - began


def look(recorder: Recorder, x: Any, source: str, names: list[str] | None = None, **place: Any) -> None:
    """Record what the columns of a table or array look like, once a source. Frames of any library, NumPy arrays of two axes."""
    if x is None or not recorder.wants("column"):
        return
    try:
        recorder.shared.setdefault("distributions", Distributions()).look(recorder, x, source, names, place)
    except Exception as error:  # nested or foreign values: this table is not shown
        recorder.own_error("distributions", error, turn_off=False)


def _related(recorder: Recorder, some: Any, found: list[Profile], source: str, place: dict[str, Any]) -> None:
    """Correlations of the columns that hold varying numbers, gaps taken as the mean."""
    shown = [(n, p) for n, p in enumerate(found) if p.kind in ("number", "bool") and p.sd][:MOST_RELATED]
    if len(shown) < 2 or not recorder.wants("correlation"):
        return
    lib = summarise.library(some)
    plain = summarise.numeric_columns(some) if lib == "pandas" else some.T if lib == "numpy" else None
    columns = [plain[n] if plain is not None else summarise.column(some, summarise.columns_of(some)[n]) for n, _ in shown]
    held = np.array([np.asarray(c, np.float64) for c in columns])
    good = np.isfinite(held)
    centred = np.where(good, held - np.array([[p.mean] for _, p in shown]), 0.0)
    size = np.sqrt((centred**2).sum(1))
    values = centred @ centred.T / np.maximum(np.outer(size, size), 1e-300)
    recorder.fact("correlation", {"table": source, "columns": [p.name for _, p in shown], "values": np.round(values, 3).tolist()}, **(place or {}))


def _some(x: Any, rows: int) -> Any:
    """Evenly spread rows of it; None for what is no table."""
    at = summarise.spread(rows, MOST_ROWS)
    if summarise.is_frame(x):
        lib = summarise.library(x)
        if lib == "pandas":
            return x.iloc[at]
        return (x if isinstance(at, slice) else x.take(at)) if lib == "pyarrow" else x[at]
    if summarise.library(x) == "numpy" and x.ndim == 2 and x.dtype.kind in "iufb" and 0 < x.shape[1] <= MOST_UNNAMED:
        return x[at]
    return None
