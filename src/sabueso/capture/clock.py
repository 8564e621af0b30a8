"""Clock: an hour or weekday that is derived of a time as it stands beside it: by how many steps does it differ, at fit and in use?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from types import FrameType
from typing import Any

import numpy as np

from .naming import tables_at_hand
from .origin import names_in, user_frame
from .summarise import columns_of, height, library

PARTS = {"hour": 24, "weekday": 7, "month": 12, "day": 31}
ROWS = 60  # of a table that are looked at
LEAST = 8
SURE = 0.95  # share of rows that must agree in one or two offsets (two: summer time)

Links = dict[int, tuple[str, str, Counter[int]]]  # column -> (raw field, part, offsets)


def links_of(columns: list[np.ndarray]) -> Links:
    """Columns of a fit that are a part of a time in a table of as many rows at hand, up to a constant offset."""
    n = len(columns[0]) if columns else 0
    whole = {j: c for j, c in enumerate(columns[:40]) if c.dtype.kind in "iuf" and n >= LEAST and _is_part(c)}
    if not whole:
        return {}
    found: Links = {}
    for table in tables_at_hand():
        if height(table) != n:
            continue
        at = np.unique(np.linspace(0, n - 1, ROWS).astype(int))
        for name in columns_of(table)[:40]:
            times = [_time(v) for v in _picked(table, name, at)]
            if all(t is not None for t in times):
                for j, column in whole.items():
                    link = _link(column[at], times)
                    if link is not None and j not in found:
                        found[j] = (name, *link)
    return found


def offsets_now(links: Links, columns: list[Any]) -> dict[int, Counter[int]]:
    """The same differences for rows in use: of a table of as many rows, or of a record (one row) at hand."""
    found: dict[int, Counter[int]] = {}
    n = len(columns[0])
    for raw in {name for name, _, _ in links.values()}:
        times = _record(raw) if n == 1 else _column(raw, n)
        if times is None:
            continue
        for j, (name, part, _) in links.items():
            if name == raw and j < len(columns):
                found[j] = Counter(int(round(float(v) - _part(t, part))) % PARTS[part] for v, t in zip(columns[j], times))
    return found


def _is_part(column: np.ndarray) -> bool:
    some = column[:200].astype(float)
    return bool(np.isfinite(some).all() and (some == np.round(some)).all() and some.min() >= 0 and some.max() <= 31 and np.ptp(some) > 0)


def _link(column: np.ndarray, times: list[datetime]) -> tuple[str, Counter[int]] | None:
    for part, period in PARTS.items():
        offsets = Counter(int(v - _part(t, part)) % period for v, t in zip(column.astype(float), times))
        if sum(n for _, n in offsets.most_common(2)) >= SURE * len(times) and len({_part(t, part) for t in times}) >= min(5, period):
            return part, offsets
    return None


def _part(t: datetime, part: str) -> int:
    return t.weekday() if part == "weekday" else int(getattr(t, part))


def _time(v: Any) -> datetime | None:
    """A time as it is written, in its own zone."""
    if isinstance(v, datetime):
        return v
    if isinstance(v, np.datetime64) and not np.isnat(v):
        return v.astype("datetime64[us]").item()
    if isinstance(v, str) and 10 <= len(v) <= 35 and v[:4].isdigit():
        try:
            return datetime.fromisoformat(v)
        except ValueError:
            return None
    return None


def _picked(table: Any, name: str, at: np.ndarray) -> list[Any]:
    column = table[name]
    if library(table) == "pandas":
        return column.iloc[at].tolist()
    return [column[int(i)] for i in at] if library(table) == "polars" else []


def _record(raw: str) -> list[datetime] | None:
    """The time of that name in a record (a dictionary, a row) among the variables of the calling functions."""
    for value in _variables():
        found = value.get(raw) if isinstance(value, dict) else None
        time = _time(found) if found is not None else None
        if time is not None:
            return [time]
    return None


def _column(raw: str, n: int) -> list[datetime] | None:
    for table in tables_at_hand():
        if height(table) == n and raw in columns_of(table):
            times = [_time(v) for v in _picked(table, raw, np.arange(min(n, ROWS)))]
            return times if all(t is not None for t in times) else None
    return None


def _variables() -> Iterator[Any]:
    frame: FrameType | None = user_frame()
    for _ in range(4):
        if frame is None:
            return
        yield from list(names_in(frame).values())[:60]
        frame = user_frame(frame.f_back) if frame.f_back is not None else None
