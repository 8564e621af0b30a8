"""The names of an array's columns, by the tables at hand that hold its values."""

from __future__ import annotations

from typing import Any

import numpy as np

from .origin import names_in, user_frame
from .summarise import columns_of, height, is_frame, library, numeric_columns, values

MOST_TABLES = 12
MOST_COLUMNS = 80
STRETCH = 16_384  # rows that are compared at once
PROBES = 5  # rows whose values are looked for


def names_by_value(columns: list[np.ndarray], rows: int) -> list[str] | None:
    """The columns of a table in the person's frames in which all probed values of an array's columns lie; None if none fits wholly."""
    if not columns or len(columns) > MOST_COLUMNS or not rows:
        return None
    at = np.unique(np.linspace(0, len(columns[0]) - 1, PROBES).astype(int))
    for table in tables_at_hand():
        found = _names(columns, at, table)
        if found is not None:
            return found
    return None


def names_exactly(columns: list[np.ndarray]) -> list[str] | None:
    """The columns of a table in the person's frames that an array's are, row by row; None if none fits wholly, or two of its columns are the same."""
    if not 2 <= len(columns) <= MOST_COLUMNS or any(c.dtype.kind not in "iufb" for c in columns):
        return None
    for table in tables_at_hand():
        names = columns_of(table)
        plain = numeric_columns(table) if library(table) == "pandas" and len(names) >= len(columns) and height(table) == len(columns[0]) else None
        if plain is None:
            continue
        chosen = [[n for n, held in zip(names, plain) if _equal(held, column)] for column in columns]
        if all(len(fits) == 1 for fits in chosen) and len({fits[0] for fits in chosen}) == len(columns):
            return [fits[0] for fits in chosen]
    return None


def _equal(held: np.ndarray, column: np.ndarray) -> bool:
    """The same in every row? A few rows tell most apart."""
    nan = held.dtype.kind == "f"
    return np.array_equal(held[:64], column[:64], equal_nan=nan) and np.array_equal(held, column, equal_nan=nan)


def names_from(columns: list[np.ndarray], table: Any) -> list[str] | None:
    """The same for one table."""
    return _names(columns, np.unique(np.linspace(0, len(columns[0]) - 1, PROBES).astype(int)), table)


def names_in_records(array: np.ndarray) -> list[str] | None:
    """The names that the columns of an array have in a list of dictionaries, a row each, that the person's frames hold (csv.DictReader)."""
    frame, at = user_frame(), [0, len(array) // 2, len(array) - 1]
    while frame is not None:
        for value in list(names_in(frame).values()):
            if not isinstance(value, list) or len(value) != len(array) or not isinstance(value[0], dict) or len(value[0]) > MOST_COLUMNS:
                continue
            said = {k: [_spelt(value[i].get(k)) for i in at] for k in value[0]}
            found = [next((str(k) for k, v in said.items() if v == array[at, j].tolist()), None) for j in range(array.shape[1])]
            if None not in found:
                return found  # type: ignore[return-value]
        frame = user_frame(frame.f_back) if frame.f_back is not None else None
    return None


def names_made(owner: Any, result: Any) -> list[str] | None:
    """The names that a transformer of scikit-learn has for the columns that it made, each without its part's name where that leaves them apart."""
    shape = getattr(result, "shape", ())
    if is_frame(result) or len(shape) != 2 or shape[1] > MOST_COLUMNS or shape[0] < 30 or not type(owner).__module__.startswith("sklearn."):
        return None
    try:
        found = [str(n) for n in owner.get_feature_names_out()]
    except Exception:  # a part of it has none
        return None
    short = [n.rpartition("__")[2] for n in found]
    return (short if len(set(short)) == len(short) else found) if len(found) == shape[1] else None


def _spelt(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def tables_at_hand() -> list[Any]:
    """Tables among the locals and globals of the person's frames, the innermost first."""
    found: list[Any] = []
    frame = user_frame()
    for _ in range(4):
        if frame is None:
            break
        for space in (names_in(frame), frame.f_globals):
            for x in list(space.values()):
                if is_frame(x) and not any(x is t for t in found) and len(found) < MOST_TABLES:
                    found.append(x)
        frame = user_frame(frame.f_back) if frame.f_back is not None else None
    return found


def _names(columns: list[np.ndarray], at: np.ndarray, table: Any) -> list[str] | None:
    names = columns_of(table)
    if len(names) < len(columns) or len(names) > MOST_COLUMNS or height(table) > 300_000:
        return None
    plain = numeric_columns(table) if library(table) == "pandas" else None
    held: dict[str, Any] = dict(zip(names, plain)) if plain is not None else {}
    chosen: list[str] = []
    for column in columns:
        probe = column[at]
        fits = next((n for n in names if n not in chosen and _holds(_held(table, n, held), probe)), None)
        if fits is None:
            return None
        chosen.append(fits)
    return chosen


def _held(table: Any, name: str, held: dict[str, Any]) -> Any:
    """A column of numbers, a set of objects, or None where it can't be read; each is made when it is first asked for."""
    if name not in held:
        try:
            column = values(table[name])
            held[name] = set(column.tolist()) if column.dtype.kind == "O" else column
        except Exception:
            held[name] = None
    return held[name]


def _holds(held: Any, probe: np.ndarray) -> bool:
    if held is None or isinstance(held, set) != (probe.dtype.kind == "O"):
        return False
    if isinstance(held, set):
        return set(probe.tolist()) <= held
    want = probe.astype(np.float32)
    want = want[np.isfinite(want)]
    for start in range(0, len(held) if len(want) else 0, STRETCH):  # as 32-bit floats, a stretch at a time: nothing of the table's size is made
        part = held[start : start + STRETCH].astype(np.float32)
        want = want[[not (part == v).any() for v in want]]
        if not len(want):
            break
    return not len(want)
