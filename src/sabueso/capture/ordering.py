"""Rows in the order of a text that spells whole numbers: 1, 10, 100, 2, ..."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import summarise, tables
from .origin import user_line
from .recorder import Recorder

LEAST = 20  # rows
MOST_PICKED = 300_000
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


def sorted_at(recorder: Recorder, frame: Any) -> None:
    """A table was sorted: remember where, by its size."""
    recorder.shared.setdefault("sorted_at", {})[summarise.height(frame)] = user_line()


def picked(recorder: Recorder, frame: Any, by: Any, method: str) -> None:
    """The first or last row of each group is taken: do the rows of each group stand in the text order of what counts them?"""
    names = [by] if isinstance(by, str) else list(by) if isinstance(by, (list, tuple)) and by and all(isinstance(b, str) for b in by) else []
    n = summarise.height(frame)
    if not names or not LEAST <= n <= MOST_PICKED or not recorder.wants("text_order") or not set(names) <= set(summarise.columns_of(frame)):
        return
    candidates = [c for c in text_columns(frame)[:20] if c not in names and _digits(tables.head(frame, c, np.arange(20)).tolist())]
    if not candidates:
        return
    group = np.zeros(n, dtype=np.int64)
    for name in names:
        codes = np.unique(tables.hashed(summarise.column(frame, name)), return_inverse=True)[1]
        group = group * (int(codes.max()) + 1) + codes
    for column in candidates:
        values = summarise.column(frame, column)
        found = text_last(values.tolist(), group, method != "first")
        if found is not None and recorder.once("picked", column, method):
            file, line = recorder.shared.get("sorted_at", {}).get(n, user_line())
            _, rows = tables.of(recorder).rows(frame, found.pop("positions"))
            recorder.fact("text_order", {"table": "table", "how": method, "column": column, "rows": n, "smooth": [], "by": names, "wrong": rows,
                                         "first": rows[0], **found}, file=file or "", line=line)  # fmt: skip
            return


def _digits(held: list[Any]) -> bool:
    return all(isinstance(v, str) and v.isascii() and v.isdigit() and len(v) < 10 for v in held)


def text_last(held: list[Any], group: np.ndarray, last: bool) -> dict[str, Any] | None:
    """Groups whose last (or first) row is so as text and not as a number, where the texts count the rows of their group."""
    if not _digits(held):
        return None
    order = np.argsort(group, kind="stable")
    numbers, texts = np.array([int(v) for v in held])[order], np.array(held)[order]
    same = group[order][1:] == group[order][:-1]
    if (texts[1:] < texts[:-1])[same].any() or not (numbers[1:] < numbers[:-1])[same].any():
        return None
    starts = np.flatnonzero(np.concatenate(([True], ~same)))
    ends, low, high = np.append(starts[1:], len(numbers)) - 1, np.minimum.reduceat(numbers, starts), np.maximum.reduceat(numbers, starts)
    counts = ends - starts + 1
    several = counts > 1
    if several.sum() < 10 or np.median((high - low + 1)[several] / counts[several]) > 1.5 or (numbers[1:] == numbers[:-1])[same].any():
        return None
    chosen, right = (numbers[ends], high) if last else (numbers[starts], low)
    wrong = np.flatnonzero(chosen != right)
    if len(wrong) < 0.1 * len(starts):
        return None
    at = order[(ends if last else starts)[wrong]]
    return {"groups": len(starts), "wrong_groups": len(wrong), "positions": np.sort(at), "examples": [held[at[0]], str(right[wrong[0]])],
            "last": last}  # fmt: skip


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
