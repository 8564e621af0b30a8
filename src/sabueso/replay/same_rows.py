"""Which rows of one table are those of another: by content, whatever the tables are held in."""

from __future__ import annotations

from typing import Any

import numpy as np

MOST_CELLS = 4_000_000  # of a table whose columns are looked for in another one


def plain(x: Any) -> np.ndarray:
    """The values, a row each."""
    values = x.to_numpy() if hasattr(x, "to_numpy") else x.toarray() if hasattr(x, "toarray") else np.asarray(x)
    return values.reshape(len(values), -1)


def take(x: Any, rows: np.ndarray) -> Any:
    """Those rows, held as before."""
    return x.iloc[rows] if hasattr(x, "iloc") else x[rows] if hasattr(x, "shape") else [x[i] for i in rows]


def keys_of(x: Any) -> np.ndarray:
    """A number for each row, the same for the same values."""
    values = plain(x)
    if values.dtype == object:
        return np.array([hash(tuple(map(str, row))) for row in values], dtype=np.int64)
    whole = np.ascontiguousarray(values.astype(np.float64) if values.dtype.kind in "biuf" else values)
    return np.array([hash(row.tobytes()) for row in whole], dtype=np.int64)


def matched(x: np.ndarray, table: np.ndarray) -> list[int | None]:
    """The column of `table` that holds all values of each column of `x`: the one at its own place if that does."""
    levels = [np.unique(table[:, k]) for k in range(table.shape[1])]
    found: list[int | None] = []
    for j in range(x.shape[1]):
        order = [j, *range(table.shape[1])] if x.shape[1] == table.shape[1] else range(table.shape[1])
        values = np.unique(x[:, j])
        found.append(next((k for k in order if np.isin(values, levels[k], assume_unique=True).all()), None))
    return found


def found_in(x: Any, table: Any) -> tuple[np.ndarray, list[int | None]] | None:
    """(row of `table` for each row of `x`, column of it for each column, None where it has none); None where a row is not there."""
    if not all(hasattr(t, "shape") and len(t.shape) < 3 and len(t) for t in (x, table)):
        return None
    x, table = plain(x), plain(table)
    if x.dtype.kind not in "biuf" or table.dtype.kind not in "biuf" or max(x.size, table.size) > MOST_CELLS:
        return None
    columns = matched(x, table)
    held = [j for j, k in enumerate(columns) if k is not None]
    if not held:
        return None
    at = {key: row for row, key in enumerate(keys_of(table[:, [columns[j] for j in held]]))}  # type: ignore[misc]
    rows = [at.get(key) for key in keys_of(x[:, held])]
    return (np.array(rows), columns) if None not in rows else None


def columns_of(made: Any, columns: list[int | None], rows: Any) -> Any:
    """A table held as `rows` is, with the columns that were matched taken from `made`."""
    values, fresh = plain(rows).astype(float), plain(made)
    for j, k in enumerate(columns):
        if k is not None and k < fresh.shape[1]:
            values[:, j] = fresh[:, k]
    return type(rows)(values, columns=rows.columns, index=rows.index) if hasattr(rows, "columns") else values


def put_back(parts: list[Any], rows: list[np.ndarray]) -> np.ndarray:
    """Answers for parts of the rows in the order of the rows."""
    return np.concatenate([np.asarray(p) for p in parts])[np.argsort(np.concatenate(rows), kind="stable")]
