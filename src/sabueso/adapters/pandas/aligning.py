"""Pairing by index label where the values have none of their own: rows of a filtered table keep their old numbers, fresh values count from 0."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ...capture import tables
from ...capture.around import Patches
from ...capture.calling import direct
from ...capture.recorder import Recorder, guarded

MOST_ROWS, MOST_TOLD = 5_000_000, 40
MOST_LOOKED_UP = 10_000_000  # index labels in all


def install(recorder: Recorder, patches: Patches) -> None:
    """Watch what pairs two indexes: a column set, tables set side by side, arithmetic of two columns."""
    if not recorder.wants("aligned_away"):
        return
    pandas, aligned, guard = sys.modules["pandas"], Aligned(recorder), guarded("pandas.aligning", recorder)
    patches.around(pandas.DataFrame, "_set_item", after=guard(aligned.set), again=True)
    patches.around(pandas.DataFrame, "insert", after=guard(aligned.inserted))
    patches.around(pandas, "concat", after=guard(aligned.side_by_side), again=True)
    patches.around(pandas.Series, "_align_for_op", after=guard(aligned.reckoned))


class Aligned:
    """The hooks of one installation."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.told = self.looked_up = 0

    def set(self, token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """table[column] = values, and assign."""
        if len(args) == 3 and type(args[2]).__name__ == "Series":
            self.pair(args[0], args[2], args[1], "assignment")

    def inserted(self, token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        column, value = (args[i] if len(args) > i else kwargs.get(k) for i, k in ((2, "column"), (3, "value")))
        if type(value).__name__ == "Series":
            self.pair(args[0], value, column, "insertion")

    def reckoned(self, token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Two columns are added, subtracted, multiplied."""
        if len(args) > 1 and type(args[1]).__name__ == "Series" and args[0].index is not args[1].index:
            fresh = [s for s in args[:2] if counted(s.index, len(s))]
            if len(fresh) == 1:
                self.pair(args[0] if fresh[0] is args[1] else args[1], fresh[0], args[0].name or args[1].name, "arithmetic")

    def side_by_side(self, token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """concat(.., axis=1)"""
        given = args[0] if args else kwargs.get("objs")
        given = list(given.values()) if isinstance(given, dict) else given
        axis = kwargs.get("axis", args[1] if len(args) > 1 else 0)
        if axis not in (1, "columns") or not isinstance(given, (list, tuple)) or not direct():
            return
        parts = [p for p in given if hasattr(p, "index")]
        fresh = [p for p in parts if counted(p.index, len(p))]
        other = next((p for p in parts if not counted(p.index, len(p))), None)
        if fresh and other is not None and len({len(p) for p in parts}) == 1 and len(result) != len(other):
            columns = getattr(fresh[0], "columns", [getattr(fresh[0], "name", None)])
            self.pair(other, fresh[0], columns[0] if len(columns) else None, "concat", len(result))

    def pair(self, table: Any, values: Any, column: Any, how: str, rows: int | None = None) -> None:
        """As many values as rows, numbered from 0, and a table that is numbered otherwise."""
        n = len(table)
        if self.told >= MOST_TOLD or len(values) != n or not 2 <= n <= MOST_ROWS or not counted(values.index, n) or counted(table.index, n):
            return
        self.looked_up += n
        if self.looked_up > MOST_LOOKED_UP:
            return
        found = values.index.get_indexer(table.index) if table.index.nlevels == 1 else np.full(n, -1)
        lost = np.flatnonzero(found < 0)
        if not len(lost) or not getattr(table.index, "is_unique", True) or values.isna().all().all():
            return
        self.told += 1
        first = int(np.flatnonzero(found != np.arange(n))[0])
        name, read = tables.of(self.recorder).rows(table.to_frame() if type(table).__name__ == "Series" else table, lost)
        told = {"how": how, "column": str(column), "rows": n, "gaps": len(lost), "moved": int(((found >= 0) & (found != np.arange(n))).sum()),
                "first": first,
                "index": [str(v)[:40] for v in table.index[first : first + 3].tolist()], "result": rows, "table": name, "rows_empty": read}  # fmt: skip
        self.recorder.fact("aligned_away", told, column=str(column))


def counted(index: Any, n: int) -> bool:
    """0, 1, 2, .. as pandas numbers what has no index of its own."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1 and len(index) == n
