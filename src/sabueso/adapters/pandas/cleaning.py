"""Rows dropped, gaps filled into a copy, numbers forced, logarithms of zero, and operations that rely on the order of rows."""

from __future__ import annotations

import ast
import linecache
import sys
import weakref
from typing import Any

import numpy as np

from ...capture import encoding, infinities, matching, ordering, summarise, tables
from ...capture.around import Patches
from ...capture.calling import direct
from ...capture.origin import user_line
from ...capture.recorder import Recorder, guarded

ORDERED = ("shift", "diff", "rolling", "pct_change", "ewm", "expanding", "interpolate", "ffill")


def install(recorder: Recorder, patches: Patches) -> None:
    """Watch the methods that clean a table."""
    pandas, safe = sys.modules["pandas"], guarded("pandas", recorder)
    frame, series = pandas.DataFrame, pandas.Series
    patches.around(frame, "dropna", before=safe(_before_dropna), after=safe(_dropna(recorder)))
    fills = Fills(recorder)
    patches.around(series, "_update_inplace", before=safe(fills.before), after=safe(fills.after))
    recorder.at_exit(fills.tell)
    patches.around(frame, "sort_values", after=safe(_sorted(recorder)))
    for name in ("first", "last", "head", "tail"):
        patches.around(sys.modules["pandas.core.groupby.groupby"].GroupBy, name, before=safe(_picked(recorder, name)))
    patches.around(frame, "drop_duplicates", before=safe(_kept(recorder)), again=True)
    for owner in (frame, series):
        for name in ORDERED:
            patches.around(owner, name, after=safe(_order_used(recorder, name)))
    patches.around(series, "__array_ufunc__", after=safe(_ufunc(recorder)))
    patches.around(frame, "_set_item", before=safe(_text_before), after=safe(_set_item(recorder)))
    for name in ("get_dummies", "factorize"):
        patches.around(pandas, name, before=safe(_as_words(recorder, name)))
    patches.around(pandas, "to_numeric", after=safe(_to_numeric(recorder)))


def _before_dropna(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """With inplace=True the table will be another afterwards: keep which rows have gaps."""
    return _gaps(args[0]) if kwargs.get("inplace") else None


def _gaps(frame: Any) -> tuple[Any, np.ndarray]:
    return frame.copy(deep=False), frame.isna().to_numpy()


def _dropna(recorder: Recorder) -> Any:
    def dropped(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not recorder.wants("rows_dropped") or kwargs.get("axis", 0) not in (0, "index", "rows"):
            return
        frame, gaps = token if token is not None else (args[0], None)
        before, after = len(frame), len(args[0]) if token is not None else len(result)
        if before == after or frame.size > 20_000_000:
            return
        gaps = frame.isna().to_numpy() if gaps is None else gaps
        subset = kwargs.get("subset")
        names = [str(c) for c in frame.columns]
        asked = names if subset is None else [str(c) for c in (subset if isinstance(subset, (list, tuple)) else [subset])]
        matching.drops(recorder, frame, gaps, [names.index(c) for c in asked if c in names], names, before, after, subset is None)

    return dropped


class Fills:
    """Changes made in place on a column that was only a copy for that one statement: nothing of them stays."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._held: list[tuple[weakref.ref[Any], dict[str, Any], str, int]] = []

    def before(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        return int(args[0].isna().sum())

    def after(self, gaps: int | None, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        series = args[0]
        if not gaps or len(self._held) > 100:
            return
        file, line = user_line()
        if file is None or line is None or (receiver := receiver_of(file, line)) is None:
            return
        value = {"column": str(series.name), "gaps": gaps, "left": int(series.isna().sum()), "rows": len(series), "method": receiver[1], "owner": receiver[0]}
        self._held.append((weakref.ref(series), value, file, line))

    def tell(self) -> None:
        """At the end: a series that no longer lives was a copy and took the change with it."""
        for series, value, file, line in self._held:
            if series() is None and value["left"] < value["gaps"]:
                self.recorder.fact("fill_lost", value, file=file, line=line, column=value["column"])
        self._held.clear()


def receiver_of(file: str, line: int) -> tuple[str, str] | None:
    """(table, method) where that line is a statement of its own that calls a method in place on a selection: `table[..].method(.., inplace=True)`."""
    try:
        parsed = ast.parse(linecache.getline(file, line).strip())
    except SyntaxError:
        return None
    for node in parsed.body:
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, (ast.Subscript, ast.Attribute)):
            if any(k.arg == "inplace" for k in call.keywords):
                return ast.unparse(call.func.value), call.func.attr
    return None


def _sorted(recorder: Recorder) -> Any:
    def was_sorted(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        frame = args[0] if result is None else result
        if summarise.is_frame(frame):
            ordering.look(recorder, frame, "table", "sort_values")
            ordering.sorted_at(recorder, frame)

    return was_sorted


def _picked(recorder: Recorder, name: str) -> Any:
    """One row of each group is taken by its place."""

    def picked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if direct() and summarise.is_frame(args[0].obj):
            ordering.picked(recorder, args[0].obj, args[0].keys, {"tail": "last", "head": "first"}.get(name, name))

    return picked


def _kept(recorder: Recorder) -> Any:
    def kept(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        subset = args[1] if len(args) > 1 else kwargs.get("subset")
        if subset is not None and kwargs.get("keep", "first") in ("first", "last") and direct():
            ordering.picked(recorder, args[0], subset, kwargs.get("keep", "first"))

    return kept


def _order_used(recorder: Recorder, name: str) -> Any:
    def used(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if recorder.wants("order_used") and recorder.once("order_used", name, len(args[0])):
            recorder.fact("order_used", {"method": name, "rows": len(args[0])})

    return used


def _ufunc(recorder: Recorder) -> Any:
    def called(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        series, ufunc, method = args[0], args[1], args[2]
        if method == "__call__" and getattr(ufunc, "__name__", "") in infinities.BORN and recorder.wants("nonfinite_found"):
            infinities.of(recorder).made(ufunc.__name__, str(series.name), summarise.values(series), summarise.values(result))

    return called


def _text_before(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The column of text that numbers are about to replace."""
    frame, key, value = args[0], args[1], args[2]
    if getattr(getattr(value, "dtype", None), "kind", "") not in ("i", "u", "f") or not isinstance(key, str) or list(frame.columns).count(key) != 1:
        return None
    return frame[key] if key in ordering.text_columns(frame[[key]]) else None


def _as_words(recorder: Recorder, how: str) -> Any:
    def words(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given = args[0] if args else kwargs.get("data", kwargs.get("values"))
        frame = given.to_frame() if summarise.library(given) == "pandas" and getattr(given, "ndim", 0) == 1 and hasattr(given, "to_frame") else given
        if direct() and summarise.is_frame(frame):
            for column in ordering.text_columns(frame)[:50]:
                encoding.as_words(recorder, frame, column, how)

    return words


def _set_item(recorder: Recorder) -> Any:
    def was_set(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        frame, key, value = args[0], args[1], args[2]
        if token is not None:
            encoding.look(recorder, key, summarise.values(token), summarise.values(value), "the assignment")
        if getattr(getattr(value, "dtype", None), "kind", "") == "f" and isinstance(key, str) and getattr(value, "ndim", 1) == 1:
            infinities.of(recorder).placed(frame, key, summarise.values(value))

    return was_set


def _to_numeric(recorder: Recorder) -> Any:
    def forced(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given = args[0] if args else kwargs.get("arg")
        if kwargs.get("errors") != "coerce" or not recorder.wants("coerced") or not hasattr(given, "dtype") or len(given) > 300_000:
            return
        before, after = summarise.values(given), summarise.values(result)
        if before.dtype.kind != "O" or len(before) != len(after):
            return
        lost = np.array([v is not None and str(v).strip().lower() not in summarise.NULLS for v in before.tolist()]) & np.isnan(after.astype(np.float64))
        if not lost.any():
            return
        spelt = [v for v in before[lost].tolist()[:2000] if summarise.as_number(str(v)) is not None]
        name = str(getattr(given, "name", None))
        recorder.fact("coerced", {"column": name, "rows": len(before), "lost": int(lost.sum()), "rows_lost": tables.first(np.flatnonzero(lost)),
                                  "numbers": round(len(spelt) / min(int(lost.sum()), 2000), 3), "examples": [str(v) for v in before[lost][:3]]})  # fmt: skip

    return forced
