"""Joins of pandas tables, and whether a table that gained rows was brought back to one row each."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import numpy as np

from ...capture import matching, parts_judged, stacked, summarise, tables
from ...capture.around import Patches
from ...capture.recorder import Recorder, guarded

MOST_CELLS = 20_000_000  # of a table whose keys are looked at


def install(recorder: Recorder, patches: Patches) -> None:
    """Watch merges (DataFrame.merge and .join call the same function) and what may reduce their result."""
    pandas, safe = sys.modules["pandas"], guarded("pandas", recorder)
    joined = safe(_joined(recorder, pandas))
    patches.around(pandas, "merge", after=joined)
    patches.around(sys.modules["pandas.core.reshape.merge"], "merge", after=joined)
    patches.around(pandas, "concat", safe(stacked.before), safe(stacked.after(recorder)))
    reduced = safe(_reduced(recorder))
    for owner, name in ((pandas.DataFrame, "drop_duplicates"), (pandas.DataFrame, "_getitem_bool_array")):
        patches.around(owner, name, after=reduced)
    patches.around(pandas.DataFrame, "groupby", safe(_grouped(recorder)), reduced)
    patches.around(pandas.Series, "map", after=safe(_mapped(recorder, pandas)))


def _joined(recorder: Recorder, pandas: Any) -> Any:
    names = list(inspect.signature(getattr(pandas.merge, "__wrapped__", pandas.merge)).parameters)

    def joined(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not recorder.wants("table_join"):
            return
        given = {**dict(zip(names, args)), **kwargs}
        left, right, how = given["left"], given["right"], given.get("how", "inner")
        if how == "cross" or not (summarise.is_frame(left) and summarise.is_frame(right)):
            return
        on = _keys(left, right, given)
        if on is not None:
            matching.look(recorder, left, right, result, str(how), *on)

    return joined


def _keys(left: Any, right: Any, given: dict[str, Any]) -> tuple[list[str], list[np.ndarray], list[np.ndarray]] | None:
    """(names, left key columns, right key columns) of a merge; None where they are not plain columns or single indexes."""
    left_on, right_on = given.get("left_on"), given.get("right_on")
    if given.get("on") is not None:
        left_on = right_on = given["on"]
    elif left_on is None and right_on is None and not given.get("left_index") and not given.get("right_index"):
        left_on = right_on = [c for c in left.columns if c in set(right.columns)]
    a = _side(left, left_on, bool(given.get("left_index")))
    b = _side(right, right_on, bool(given.get("right_index")))
    if a is None or b is None or not a[1] or len(a[1]) != len(b[1]):
        return None
    return (a[0] if left_on is not None else b[0]), a[1], b[1]


def _side(frame: Any, on: Any, index: bool) -> tuple[list[str], list[np.ndarray]] | None:
    if index:
        if frame.index.nlevels != 1:
            return None
        return [str(frame.index.name)], [summarise.values(frame.index.to_series())]
    listed = on if isinstance(on, (list, tuple)) else [on]
    if not all(isinstance(c, (str, int)) and list(frame.columns).count(c) == 1 for c in listed):
        return None
    return [str(c) for c in listed], [summarise.values(frame[c]) for c in listed]


def _grouped(recorder: Recorder) -> Any:
    def grouped(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if args and recorder.wants("inputs"):
            parts_judged.table(recorder, args[0])
        if args and recorder.wants("rows_dropped") and kwargs.get("dropna", True) and args[0].size <= MOST_CELLS:
            _left_out(recorder, args[0], args[1] if len(args) > 1 else kwargs.get("by"))

    return grouped


def _left_out(recorder: Recorder, frame: Any, by: Any) -> None:
    """Rows whose key is missing are in no group, unless pandas is told to keep them (dropna=False)."""
    keys, names = by if isinstance(by, list) else [by], [str(c) for c in frame.columns]
    if not all(isinstance(k, str) and names.count(k) == 1 for k in keys) or not recorder.once("left_out", tuple(keys), len(frame)):
        return
    gaps = np.column_stack([frame[k].isna().to_numpy() for k in keys])
    lost = gaps.any(axis=1)
    if not 0 < lost.sum() < len(frame):
        return
    groups = np.zeros(int((~lost).sum()), np.int64)
    for k in keys:
        codes, levels = sys.modules["pandas"].factorize(frame[k].to_numpy()[~lost])
        groups = np.unique(groups * (len(levels) + 1) + codes, return_inverse=True)[1]
    whole = np.zeros((len(frame), len(names)), bool)
    whole[:, [names.index(k) for k in keys]] = gaps
    matching.drops(recorder, frame, whole, [names.index(k) for k in keys], names, len(frame), int((~lost).sum()), False,
                   how="groupby", groups=int(groups.max()) + 1)  # fmt: skip


def _reduced(recorder: Recorder) -> Any:
    def reduced(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        known = tables.of(recorder)
        if known.exploded and args:
            matching.reduced(recorder, len(args[0]), len(result) if summarise.is_frame(result) else 0)

    return reduced


def _mapped(recorder: Recorder, pandas: Any) -> Any:
    def mapped(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        series, table = args[0], args[1] if len(args) > 1 else kwargs.get("func", kwargs.get("arg"))
        if (
            not recorder.wants("table_join")
            or not isinstance(table, (dict, pandas.Series))
            or not len(table)
            or isinstance(table, dict)
            and hasattr(table, "__missing__")
        ):
            return
        missed: set[int] = recorder.shared.setdefault("missed_tables", set())  # in which some key was not found
        if not (result.isna().any() or id(table) in missed) or len(series) > 200_000:
            return
        keys = list(table) if isinstance(table, dict) else summarise.values(table.index.to_series()).tolist()
        right = np.array(keys, dtype=object) if any(isinstance(k, str) for k in keys) else np.array(keys, dtype=np.float64)
        how = "code" if _numbering(list(table.values()) if isinstance(table, dict) else summarise.values(table).tolist()) else "map"
        if result.isna().all():
            recorder.shared["nothing_found"] = True
        matching.look(recorder, series.to_frame(), None, result, how, [str(series.name)], [summarise.values(series)], [right])
        missed.add(id(table))

    return mapped


def _numbering(values: list[Any]) -> bool:
    """Do these number the levels of a category: whole numbers from 0 or a few reserved ones on, each once, hardly one left out?"""
    if len(values) < 2 or not all(isinstance(v, (int, np.integer)) and not isinstance(v, bool) for v in values):
        return False
    return len(set(values)) == len(values) and 0 <= min(values) <= 4 and max(values) - min(values) <= 1.1 * len(values)
