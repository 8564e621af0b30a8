"""polars: what was read, joined, dropped and encoded."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..capture import content, encoding, infinities, matching, ordering, spelling, stacked, summarise, tables
from ..capture.around import Patches
from ..capture.calling import direct
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("polars",)
PROVIDES = ("column", "correlation", "table_read", "table_join", "join_reduced", "rows_dropped", "text_order", "text_encoded", "order_used", "table_used")
READERS = (
    "read_csv",
    "read_parquet",
    "read_json",
    "read_ndjson",
    "read_ipc",
    "read_ipc_stream",
    "read_excel",
    "read_database",
    "read_database_uri",
    "read_avro",
    "read_delta",
)
MOST_LOOKED_AT = 50  # columns of a result that may hold infinities
ORDERED = ("shift", "diff", "pct_change", "rolling_mean", "rolling_sum", "rolling_std", "rolling_max", "rolling_min", "ewm_mean", "forward_fill")


def install(recorder: Recorder) -> Callable[[], None]:
    """Hooks in; the undo takes them out."""
    polars, patches, safe = sys.modules["polars"], Patches(), guarded("polars", recorder)
    content.install(recorder)
    frame = polars.DataFrame
    patches.around(polars, "concat", safe(stacked.before), safe(stacked.after(recorder)))
    for name in READERS:
        patches.around(polars, name, after=safe(_read(recorder, name)))
    patches.around(frame, "join", after=safe(_joined(recorder)))
    patches.around(frame, "drop_nulls", after=safe(_dropped(recorder)))
    for name in ("filter", "unique"):
        patches.around(frame, name, after=safe(_reduced(recorder)))
    for name in ("with_columns", "select"):
        patches.around(frame, name, after=safe(_changed(recorder)))
    patches.around(polars.LazyFrame, "collect", before=safe(lambda args, kwargs: direct()), after=safe(_collected(recorder)))
    patches.around(frame, "sort", after=safe(_sorted(recorder)))
    grouped = sys.modules["polars.dataframe.group_by"].GroupBy
    for name in ("first", "last", "head", "tail", "agg"):
        patches.around(grouped, name, before=safe(_picked(recorder, name)))
    patches.around(frame, "unique", before=safe(_kept(recorder)))
    for name in ORDERED:
        for owner in (polars.Expr, polars.Series):
            patches.around(owner, name, after=safe(_order_used(recorder, name)))
    return patches.undo


def _read(recorder: Recorder, how: str) -> Any:
    def read(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if summarise.is_frame(result):
            name = tables.name_of(args[0] if args else next(iter(kwargs.values()), None))
            spelling.look(recorder, result, tables.of(recorder).read(result, name, how))
            ordering.look(recorder, result, name, "as read")

    return read


def _joined(recorder: Recorder) -> Any:
    def joined(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        left, right = args[0], args[1] if len(args) > 1 else kwargs.get("other")
        on = args[2] if len(args) > 2 else kwargs.get("on")
        how = args[3] if len(args) > 3 else kwargs.get("how", "inner")
        if how not in ("inner", "left", "semi", "right", "full") or not recorder.wants("table_join"):
            return
        a, b = _names(on if on is not None else kwargs.get("left_on")), _names(on if on is not None else kwargs.get("right_on"))
        if a and b and len(a) == len(b) and set(a) <= set(left.columns) and set(b) <= set(right.columns):
            keys = [summarise.column(left, c) for c in a], [summarise.column(right, c) for c in b]
            matching.look(recorder, left, right, result, str(how), a, *keys)

    return joined


def _names(on: Any) -> list[str] | None:
    """Plain names of key columns; None for expressions that compute something."""
    listed = on if isinstance(on, (list, tuple)) else [on]
    names = [c if isinstance(c, str) else str(c.meta.output_name()) if hasattr(c, "meta") and c.meta.is_column() else None for c in listed if c is not None]
    return None if None in names else names  # type: ignore[return-value]


def _dropped(recorder: Recorder) -> Any:
    def dropped(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        frame = args[0]
        if frame.height == result.height or not recorder.wants("rows_dropped") or frame.height * frame.width > 20_000_000:
            return
        subset = args[1] if len(args) > 1 else kwargs.get("subset")
        asked = frame.columns if subset is None else _names(subset if isinstance(subset, (str, list, tuple)) else list(subset))
        if asked:
            gaps = np.stack([frame.get_column(c).is_null().to_numpy() for c in frame.columns], axis=1)
            matching.drops(recorder, frame, gaps, [frame.columns.index(c) for c in asked if c in frame.columns], list(frame.columns),
                           frame.height, result.height, subset is None)  # fmt: skip

    return dropped


def _reduced(recorder: Recorder) -> Any:
    def reduced(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if tables.of(recorder).exploded:
            matching.reduced(recorder, args[0].height, result.height)

    return reduced


def _changed(recorder: Recorder) -> Any:
    """A text column that comes out as numbers: are they the numbers that it spells?"""

    def changed(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        frame = args[0]
        if result.height != frame.height:
            return
        before, after = dict(frame.schema), dict(result.schema)  # each time that it is asked for, polars makes it anew
        if recorder.wants("nonfinite_found"):
            for name in [c for c, d in after.items() if d.is_float() and c not in before][:MOST_LOOKED_AT]:
                if result.get_column(name).is_infinite().any():
                    infinities.of(recorder).placed(result, name, summarise.column(result, name))
        for name, dtype in before.items():
            if str(dtype) in ("String", "Categorical") and name in after and after[name].is_numeric() and recorder.once("changed", name, result.height):
                encoding.look(recorder, name, summarise.column(frame, name), summarise.column(result, name), "with_columns")

    return changed


def _collected(recorder: Recorder) -> Any:
    """Columns of infinities in a table that was put off until now: their line is the one that makes them, not this one."""

    def collected(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not token or not summarise.is_frame(result) or not recorder.wants("nonfinite_found"):
            return
        for name in [c for c, d in result.schema.items() if d.is_float()][:MOST_LOOKED_AT]:
            if result.get_column(name).is_infinite().any():
                infinities.of(recorder).placed(result, name, summarise.column(result, name), later=True)

    return collected


def _sorted(recorder: Recorder) -> Any:
    def was_sorted(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        ordering.look(recorder, result, "table", "sort")
        ordering.sorted_at(recorder, result)

    return was_sorted


def _picked(recorder: Recorder, name: str) -> Any:
    """One row of each group is taken by its place."""

    def picked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not direct():
            return
        said = "".join(map(str, [*args[1:], *kwargs.values()])) if name == "agg" else f".{name}()"
        method = next((m for m in ("last", "first") if f".{m}()" in said), {"tail": "last", "head": "first"}.get(name))
        by = [b for group in args[0].by for b in (group if isinstance(group, (list, tuple)) else [group])]
        if method:
            ordering.picked(recorder, args[0].df, by, method)

    return picked


def _kept(recorder: Recorder) -> Any:
    def kept(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        keep, subset = kwargs.get("keep"), kwargs.get("subset", args[1] if len(args) > 1 else None)
        if keep in ("first", "last") and subset is not None and direct():
            ordering.picked(recorder, args[0], subset, keep)

    return kept


def _order_used(recorder: Recorder, name: str) -> Any:
    def used(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if recorder.wants("order_used") and recorder.once("order_used", name):
            recorder.fact("order_used", {"method": name, "rows": len(args[0]) if hasattr(args[0], "len") and type(args[0]).__name__ == "Series" else None})

    return used
