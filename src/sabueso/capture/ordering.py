"""Rows in the order of a text that spells whole numbers: 1, 10, 100, 2, ..."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import summarise, tables
from .recorder import Recorder

LEAST = 20  # rows
ROUGHER = 1.5  # steps between neighbours of text order against true ones: 1 for a column without memory, at least 20 rows


def look(recorder: Recorder, frame: Any, name: str, how: str) -> None:
    """Record a column of number-like text in whose text order, and not numeric order, a table's rows stand."""
    n = summarise.height(frame)
    if n < LEAST or not recorder.wants("text_order"):
        return
    for column in text_columns(frame)[:20]:
        if not ascending_digits(tables.head(frame, column, np.arange(min(n, 200))).tolist()):
            continue
        values = summarise.column(frame, column)
        found = in_text_order(values)
        if found is not None:
            order, first = found
            series = smooth(frame, order)
            _, rows = tables.of(recorder).rows(frame, np.flatnonzero(np.diff(order) < 0)[:50] + 1)
            recorder.fact("text_order", {"table": name, "how": how, "column": column, "rows": n, "examples": [str(v) for v in values[:4]],
                                         "first": first, "wrong": rows, "smooth": series})  # fmt: skip
            return


def text_columns(frame: Any) -> list[str]:
    """Columns of text, by dtype."""
    lib = summarise.library(frame)
    if lib == "pandas":
        return [str(c) for c, d in zip(frame.columns, frame.dtypes) if str(d) in ("object", "str", "string", "large_string[pyarrow]", "string[pyarrow]")]
    if lib == "polars":
        return [c for c, d in zip(frame.columns, frame.dtypes) if str(d) == "String"]
    return []


def in_text_order(values: np.ndarray) -> tuple[np.ndarray, int] | None:
    """(numeric rank of each row, first row out of place) if whole numbers spelt as text, of several lengths, stand in text order."""
    held = values.tolist()
    if not ascending_digits(held):
        return None
    numbers = np.array([int(v) for v in held])
    drops = np.flatnonzero(np.diff(numbers) < 0)
    if len(drops) < 5 or len(np.unique(numbers)) < 0.5 * len(numbers):
        return None
    rank = np.empty(len(numbers), dtype=np.int64)
    rank[np.argsort(numbers, kind="stable")] = np.arange(len(numbers))
    return rank, int(np.flatnonzero(rank != np.arange(len(rank)))[0])


def ascending_digits(held: list[Any]) -> bool:
    """Whole numbers spelt as text, in text order."""
    return all(isinstance(v, str) and v.isdigit() and len(v) < 18 for v in held) and all(a <= b for a, b in zip(held, held[1:]))


def smooth(frame: Any, rank: np.ndarray) -> list[dict[str, Any]]:
    """Numeric columns in which true neighbours are alike and the neighbours that only text order makes are not: typical steps (rms) of both."""
    torn, found = np.diff(rank) != 1, []
    for name in summarise.columns_of(frame)[:40]:
        values = summarise.column(frame, name)
        if values.dtype.kind not in "iuf" or not np.isfinite(values).all() or np.ptp(values) == 0:
            continue
        steps = np.diff(values.astype(np.float64)) ** 2
        true, made = float(steps[~torn].mean()) ** 0.5, float(steps[torn].mean()) ** 0.5
        if made > ROUGHER * true:
            found.append({"column": name, "true": true, "made": made})
    return sorted(found, key=lambda d: d["true"] / d["made"])[:5]
