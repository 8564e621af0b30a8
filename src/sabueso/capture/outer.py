"""Made by hand: of which two vectors at hand is an averaged vector, or a square table, the difference?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from types import FrameType
from typing import Any

import numpy as np

from .origin import names_in
from .outputs import plain
from .scores import confusion, one_column
from .summarise import is_frame, library

__all__ = ["counted", "labels_of", "one_column", "outer_of", "pair_of"]
LEAST = 4  # rows
PROBES = 24
MOST = 60  # names looked at in one frame
MOST_VECTORS = 12
LAST_COLUMNS = 40  # of a table, where labels stand as a rule
FORMS = {"difference": lambda a, b: a - b, "square": lambda a, b: (a - b) ** 2, "absolute": lambda a, b: np.abs(a - b),
         "relative": lambda a, b: np.abs(a - b) / np.maximum(np.abs(b), 1e-300)}  # fmt: skip


def outer_of(table: np.ndarray, frame: FrameType) -> dict[str, Any] | None:
    """Names of a vector (n,) and a column (n, 1) among the frames' variables of which the square table holds all pairs."""
    n = len(table)
    if n < LEAST:
        return None
    at = np.unique(np.linspace(0, n - 1, PROBES).astype(int))
    some = table[np.ix_(at, at)].astype(float)
    found = [(name, x) for name, x in vectors(frame, n) if np.ptp(x) > 0]
    rows, columns = [v for v in found if v[1].ndim == 1], [v for v in found if v[1].ndim == 2]
    for row_name, row in rows[:MOST_VECTORS]:
        for column_name, column in columns[:MOST_VECTORS]:
            form = _form(some, row[None, at], column[at])
            if form is not None:
                of = FORMS.get(form, lambda a, b: a == b)
                return {"row": row_name, "column": column_name, "form": form, "rows": n, "value_by_row": float(np.mean(of(row, column[:, 0])))}
    return None


def pair_of(vector: np.ndarray, frame: FrameType, more: list[tuple[str, np.ndarray]]) -> tuple[str, np.ndarray, str, np.ndarray, str] | None:
    """(name, values, name, values, form) of the two vectors whose difference, square or equality it is; `more` are vectors without a name."""
    n = len(vector)
    at = np.unique(np.linspace(0, n - 1, PROBES).astype(int))
    some = vector[at].astype(float)
    held = [(name, x.reshape(-1)) for name, x in [*more, *vectors(frame, n)]][: 2 * MOST_VECTORS]
    for i, (a_name, a) in enumerate(held):
        for b_name, b in held[i + 1 :]:
            form = _form(some, a[at], b[at])
            if form is not None and not np.array_equal(a, b):
                return a_name, a, b_name, b, form
    return None


def labels_of(equal: np.ndarray, frame: FrameType) -> dict[str, Any] | None:
    """The two vectors of labels, texts or whole numbers, that are equal where `equal` says so, with their confusion counts."""
    held = list(islice(_labels(frame, len(equal)), 2 * MOST_VECTORS))
    for i, (a_name, a) in enumerate(held):
        for b_name, b in held[i + 1 :]:
            if (a.dtype.kind in "iufb") != (b.dtype.kind in "iufb") or not np.array_equal(a == b, equal):
                continue
            counts = counted(a, b)
            return {"names": [a_name, b_name], "confusion": counts} if counts else None
    return None


def _labels(frame: FrameType, n: int) -> Iterator[tuple[str, np.ndarray]]:
    """Vectors of so many labels among the frames' variables, lists too, and the last columns of tables."""
    seen: set[int] = set()
    for space in (names_in(frame), frame.f_globals):
        for name, x in list(space.items())[-MOST:]:
            if id(x) in seen:
                continue
            seen.add(id(x))
            if is_frame(x) and len(x) == n:
                columns = ((f"{name}[{c!r}]", x[c]) for c in list(x.columns)[: -LAST_COLUMNS - 1 : -1])
            else:
                columns = iter([(name, x)])
            yield from ((label, found) for label, column in columns if (found := _label_vector(column, n)) is not None)


def _label_vector(column: Any, n: int) -> np.ndarray | None:
    """A vector of n texts or numbers of which there are at most 50; None for anything else."""
    shape = getattr(column, "shape", None) if library(column) else (len(column),) if isinstance(column, list) else None
    if shape != (n,):
        return None
    found = plain(column)
    if found is None and str(getattr(column, "dtype", "")) in ("object", "str", "category", "String"):
        found = np.array([str(v) for v in column.tolist()])
    if found is not None and found.dtype.kind == "O" and any(not isinstance(v, str) for v in found.flat):  # records: no labels, and without an order
        return None
    return found if found is not None and found.shape == (n,) and len(np.unique(found[:500])) <= 50 else None


def counted(true: np.ndarray, answered: np.ndarray) -> list[list[Any]] | None:
    """Confusion counts as [truth, answer, count]."""
    found = confusion(true, answered)
    return [[t, p, n] for (t, p), n in found.items()] if found else None


def _form(some: np.ndarray, a: np.ndarray, b: np.ndarray) -> str | None:
    """Which form of difference makes `some` of a and b."""
    for form, of in FORMS.items():
        if form == "relative":
            continue
        for made in (of(a, b), of(b, a)) if form == "difference" else (of(a, b),):
            if made.shape == some.shape and np.ptp(some) > 0 and np.allclose(some, made, rtol=1e-4, atol=1e-6 * float(np.abs(some).max())):
                return form
    same = a == b
    if same.shape == some.shape and 0 < some.mean() < 1 and np.array_equal(some, same):
        return "equal"
    return None


def vectors(frame: FrameType, n: int) -> list[tuple[str, np.ndarray]]:
    """Numeric vectors (n,) and columns (n, 1) among the locals and globals of the calling function and its caller, then the columns of tables there."""
    found = list(_vectors(frame, n))
    return found if len(found) >= MOST_VECTORS else [*found, *islice(_columns(frame, n), MOST_VECTORS)]


def _columns(frame: FrameType, n: int) -> Iterator[tuple[str, np.ndarray]]:
    """Numeric columns of the frames of pandas and polars among the locals and globals, the last ones first: there labels stand as a rule."""
    for space in (names_in(frame), frame.f_globals):
        for name, table in list(space.items())[-MOST:]:
            if not is_frame(table) or len(table) != n or len(table.columns) > MOST:
                continue
            for column in list(table.columns)[::-1]:
                found = plain(table[column])
                if found is not None and found.shape == (n,) and found.dtype.kind in "iufb":
                    yield f"{name}[{column!r}]", found.astype(float)


def _vectors(frame: FrameType, n: int) -> Iterator[tuple[str, np.ndarray]]:
    seen: set[int] = set()
    f: FrameType | None = frame
    for _ in range(2):
        if f is None:
            return
        for space in (names_in(f), f.f_globals):
            for name, x in list(space.items())[-MOST:]:
                shape = x.shape if library(x) and hasattr(type(x), "shape") else None  # a proxy (flask.request) may fail when it is asked
                if not isinstance(shape, tuple) or id(x) in seen or tuple(shape) not in ((n,), (n, 1)):
                    continue
                seen.add(id(x))
                found = plain(x)
                if found is not None and found.dtype.kind in "iufb":
                    yield name, found.astype(float)
        f = f.f_back
