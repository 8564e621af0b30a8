"""Tables set one below the other that share rows: where the repeats of a table were born, remembered for who finds the repeats to matter."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from . import summarise
from .calling import direct
from .lineage.fingerprints import first_equal, row_hashes, table_of
from .origin import user_line
from .recorder import Recorder

MOST_CALLS, MOST_CELLS, SECONDS = 20, 1_000_000, 0.1  # of CPU time after which no further stack is looked at
SAME = 0.98  # of the repeats of a key are repeats of whole rows


def before(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Does the person stack tables, and not set them side by side? (polars names all its ways but one "vertical..")"""
    return direct() and kwargs.get("axis", 0) in (0, "index") and str(kwargs.get("how", "vertical")).startswith(("vertical", "diagonal"))


def after(recorder: Recorder) -> Any:
    """The hook: what the stack holds twice."""
    held = recorder.shared.setdefault("stacked", [])
    calls, spent = [0], [0.0]

    def stacked(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not token or not recorder.wants("row_use") or not summarise.is_frame(result):
            return
        calls[0], began = calls[0] + 1, time.thread_time()
        table = (
            table_of(result)
            if calls[0] <= MOST_CALLS and spent[0] < SECONDS and 2 <= result.shape[0] * result.shape[1] <= MOST_CELLS and result.shape[0] > 1
            else None
        )
        if table is None or not table.width:
            return
        hashes = row_hashes(table)
        again = np.flatnonzero(first_equal(hashes, np.argsort(hashes, kind="stable")) != np.arange(len(hashes)))
        spent[0] += time.thread_time() - began
        if len(again):
            file, line = user_line()
            held.append({"file": file, "line": line, "rows": table.rows, "repeated": len(again), "column": _key(table, again)})

    return stacked


def of(recorder: Any, rows: int) -> dict[str, Any] | None:
    """The only stack of a run that repeats rows, if a table of so many can be (of) it."""
    held = recorder.shared.get("stacked") or ()
    return held[0] if len(held) == 1 and held[0]["rows"] >= rows else None


def _key(table: Any, again: np.ndarray) -> str | None:
    """The first column, of text or whole numbers, that repeats just where the rows do."""
    for j, name in enumerate(table.names or ()):
        values = table.take_column(j).floats()[:, 0] if table.numeric[j] else None
        if values is not None and not (np.isfinite(values).all() and (values == np.round(values)).all()):
            continue
        codes = table.column(j)
        repeats = len(codes) - len(np.unique(codes))
        if SAME * repeats <= len(again) <= repeats:
            return str(name)
    return None
