"""Are the rows of inputs and labels in step? By the table that both come from, and by labels that meet other rows each time."""

from __future__ import annotations

import gc
import types
import weakref
from collections import Counter
from typing import Any

import numpy as np

from ..origin import user_line
from . import sight
from .fingerprints import spaced, table_of
from .known import Known, Source
from .registry import shape_of

LEAST = 20  # rows
MOST = 500_000
OFTEN = 8  # pairs of one line that are looked at, then every power of two
FIRST_LOOK = 2000  # rows in which most labels must agree with a column before all are compared


class InStep:
    """What labels stood beside which rows so far. One a recorder, made by `of`."""

    def __init__(self, recorder: Any, lineage: Any) -> None:
        self.recorder, self.lineage = recorder, lineage
        self.looks: Counter[Any] = Counter()  # by line and table
        self.roots: dict[int, tuple[Any, np.ndarray, np.ndarray]] = {}  # label arrays in memory: row id and label met at each position

    def look(self, x: Any, y: Any, known: Known, again: bool) -> dict[str, Any] | None:
        """What is wrong with the pair, or None. `again`: batches of one training, where the same labels come again."""
        if y is None or not known.exact or not 2 <= known.rows <= MOST or (known.ids < 0).mean() > 0.02:
            return None
        return self._beside_others(x, y, known) if again else self._of_other_rows(x, y, known)

    # ---- by the table

    def _often(self, source: Source) -> bool:
        """Has one line paired rows of one table so often that another pair is not worth the look? Draws and folds, one like the other."""
        key = (id(source), user_line())
        self.looks[key] += 1
        return self.looks[key] > OFTEN and bool(self.looks[key] & (self.looks[key] - 1))

    def _of_other_rows(self, x: Any, y: Any, known: Known) -> dict[str, Any] | None:
        """Labels that are a stretch of a column of the inputs' own table, which the inputs' rows are not."""
        source = known.source
        if known.rows < LEAST or source.rows == known.rows or not source.whole or not self._within(known, source) or self._often(source):
            return None
        mine = table_of(y)
        whole = source.ref() if source.ref is not None else None
        if mine is None or mine.width != 1 or mine.rows != known.rows or whole is None or shape_of(whole)[0] != source.rows:  # type: ignore[index]
            return None
        labels, rows = mine.codes[:, 0], known.ids - source.base
        if len(np.unique(labels)) < 2:
            return None
        held = self.lineage.recall(whole)
        table = held.table if held is not None and held.table is not None else table_of(whole)
        if table is None:
            return None
        stretch, some = None, spaced(len(rows), FIRST_LOOK)
        for c in range(table.width):
            column = table.column(c)
            if (column[rows[some]] == labels[some]).mean() > 0.9 and (column[rows] == labels).mean() > 0.98:
                return None  # in step
            start = self._stretch(column, labels)
            if start is not None and not among(known, column[rows]):
                stretch = c, start
        if stretch is None:
            return None
        column, start = stretch
        out = np.flatnonzero(rows != start + np.arange(len(rows)))
        if len(out) < 0.02 * len(rows) + 3:
            return None
        values = table.column(column).copy().view(np.float32).astype(np.float64) if table.numeric[column] else None
        held = sight.name_of_root(y)
        return {
            "how": "table", "table": source.name, "column": table.names[column] if table.names else None, "rows": len(rows), "out": len(out),
            "first": int(out[0]), "first_input": int(rows[out[0]]), "first_label": int(start + out[0]), "out_rows": rows[out][:50].tolist(),
            "name": held[0], "file": held[1], "line": held[2], "right": None if values is None else values[rows],
        }  # fmt: skip

    def _within(self, known: Known, source: Source) -> bool:
        return bool((known.ids >= source.base).all() and (known.ids < source.base + source.rows).all())

    @staticmethod
    def _stretch(column: np.ndarray, labels: np.ndarray) -> int | None:
        """Where the labels stand in the column as one stretch."""
        for start in np.flatnonzero(column[: len(column) - len(labels) + 1] == labels[0])[:64]:
            if np.array_equal(column[start : start + len(labels)], labels):
                return int(start)
        return None

    # ---- by memory

    def _beside_others(self, x: Any, y: Any, known: Known) -> dict[str, Any] | None:
        """The same labels, in the same memory and unchanged, beside other rows than before."""
        at = in_root(y)
        if at is None:
            return None
        root, positions = at
        labels = np.asarray(y).reshape(-1).astype(np.float64, copy=False) if np.asarray(y).dtype.kind in "fiub" else None
        if labels is None or len(labels) != known.rows or len(root) > MOST:
            return None
        held = self.roots.get(id(root))
        if held is None or held[0]() is not root:
            if len(self.roots) > 64:
                self.roots = {i: h for i, h in self.roots.items() if h[0]() is not None}
            held = self.roots[id(root)] = (weakref.ref(root), np.full(len(root), -1, np.int64), np.full(len(root), np.nan))
        _, ids, values = held
        before, same = ids[positions].copy(), values[positions] == labels
        ids[positions], values[positions] = known.ids, labels
        met = (before >= 0) & same & (known.ids >= 0)
        moved = met & (before != known.ids) & np.isin(before, ids) & np.isin(known.ids, before_all := ids)
        if met.sum() < 8 or moved.sum() < 0.7 * met.sum() or len(np.unique(labels)) < 2:
            return None
        return self._moved(x, y, known, int(met.sum()), int(moved.sum()), before_all)

    def _moved(self, x: Any, y: Any, known: Known, met: int, moved: int, ids: np.ndarray) -> dict[str, Any]:
        whole = x.base if getattr(x, "base", None) is not None else x
        name, file, line = sight.name_of(whole)
        if line is None:
            name, file, line = in_generators(whole)
        if line is None:
            name, file, line = sight.name_of_root(x)
        labels = sight.name_of_root(y)
        return {"how": "memory", "rows": met, "out": moved, "distinct": len(np.unique(ids)), "name": name, "labels": labels[0], "file": file,
                "line": line, "first": 0}  # fmt: skip


def of(recorder: Any, lineage: Any) -> InStep:
    """The recorder's, made at the first call."""
    held = lineage.parts.get("instep")
    if held is None:
        held = lineage.parts["instep"] = InStep(recorder, lineage)
    return held


def among(known: Known, column: np.ndarray) -> bool:
    """Is a column one of the inputs? (The label's own past is an input of many forecasts, and no sign of a slip.)"""
    return known.table is not None and known.table.holds(column)


def in_root(y: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """(the array that owns the labels' memory, the positions of these labels in it)."""
    if not isinstance(y, np.ndarray) or y.ndim != 1 or not len(y):
        return None
    root = y.base if isinstance(y.base, np.ndarray) else y
    if root.ndim != 1 or root.dtype != y.dtype or not root.strides[0]:
        return None
    start, odd = divmod(y.__array_interface__["data"][0] - root.__array_interface__["data"][0], root.strides[0])
    step = y.strides[0] // root.strides[0]
    positions = start + step * np.arange(len(y))
    if odd or positions.min() < 0 or positions.max() >= len(root):
        return None
    return root, positions


def in_generators(whole: Any) -> tuple[str | None, str | None, int | None]:
    """The name that a suspended generator of the person's holds this array by."""
    for holder in gc.get_referrers(whole):
        if isinstance(holder, types.GeneratorType) and holder.gi_frame is not None:
            for name, value in holder.gi_frame.f_locals.items():
                if value is whole:
                    return name, holder.gi_code.co_filename, sight.assigned(holder.gi_frame, name)[0]
    return None, None, None
