"""Texts that become dates, dates that become gaps on the way, and parts of a time that were cut off before they are taken."""

from __future__ import annotations

import datetime
import re
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...capture import fits, summarise, tables
from ...capture.around import Patches
from ...capture.calling import direct
from ...capture.origin import user_line
from ...capture.recorder import Recorder, guarded

MOST_ROWS = 300_000
LEAST = 50  # rows
CUTS = ("floor", "round", "ceil", "normalize", "strftime")
PARTS = {"hour": (3600, 24), "minute": (60, 60), "second": (1, 60)}  # seconds of one, and how many make the next
DATE = re.compile(r"(\d{1,4})[./\- ](\d{1,2}|[A-Za-z]{3,9})[./\- ,]+(\d{1,4})(?:[ T,].*)?")


def install(recorder: Recorder, patches: Patches) -> None:
    """Watch pandas.to_datetime and the `.dt` of a series."""
    pandas, safe = sys.modules["pandas"], guarded("pandas", recorder)
    if recorder.wants("coerced"):
        parsed = Parsed(recorder)
        patches.around(pandas, "to_datetime", after=safe(parsed.after))
        recorder.at_exit(parsed.tell)
    if recorder.wants("part_cut"):
        cut, accessor = Cut(recorder), sys.modules["pandas.core.indexes.accessors"].Properties
        patches.around(accessor, "_delegate_method", after=safe(cut.shortened))
        patches.around(accessor, "_delegate_property_get", after=safe(cut.taken))
        fits.listen(recorder, cut.fitted)


class Parsed:
    """Dates that errors="coerce" turned into gaps. A column converted more than once (one format after the other) is seen to by the program."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._calls: dict[Any, int] = {}
        self._lost: list[tuple[Any, dict[str, Any], str, int]] = []

    def after(self, token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given = args[0] if args else kwargs.get("arg")
        if not hasattr(given, "dtype") or getattr(given, "ndim", 1) != 1 or not 0 < len(given) <= MOST_ROWS or not direct():
            return
        name = str(getattr(given, "name", None))
        self._calls[name] = self._calls.get(name, 0) + 1
        file, line = user_line()
        if kwargs.get("errors") != "coerce" or file is None or line is None or len(self._lost) > 50:
            return
        texts = summarise.values(given)
        if getattr(result.dtype, "kind", "") != "M":
            return
        gone = np.isnat(np.asarray(result, dtype="datetime64[ns]"))
        if texts.dtype.kind != "O" or len(texts) != len(gone) or not gone.any():
            return
        lost = np.array([g and isinstance(v, str) and v.strip().lower() not in summarise.NULLS for g, v in zip(gone.tolist(), texts.tolist())])
        if lost.any():
            some = texts[lost][:2000]
            told = {"column": name, "rows": len(texts), "lost": int(lost.sum()), "rows_lost": tables.first(np.flatnonzero(lost)), "what": "date",
                    "numbers": round(float(np.mean([is_date(v) for v in some])), 3), "examples": [str(v) for v in some[:3]]}  # fmt: skip
            self._lost.append((name, told, file, line))

    def tell(self) -> None:
        """At the end: those of columns that were converted once."""
        for name, told, file, line in self._lost:
            if self._calls[name] == 1:
                self.recorder.fact("coerced", told, file=file, line=line)
        self._lost.clear()


def is_date(text: str) -> bool:
    """Does a text spell a day of the last or this century, in whatever order and with whatever marks?"""
    found = DATE.fullmatch(text.strip())
    if not found:
        return False
    a, b, c = found.groups()
    if b.isalpha():
        return len(c) == 4 and b[:3].lower() in "jan feb mar apr may jun jul aug sep oct nov dec".split()
    orders = [(a, b, c)] if len(a) == 4 else [(c, b, a), (c, a, b)] if len(c) == 4 else []
    return any(_day(*map(int, o)) for o in orders)


def _day(year: int, month: int, day: int) -> bool:
    try:
        return 1900 <= datetime.date(year, month, day).year <= 2100
    except ValueError:
        return False


@dataclass(slots=True)
class Shortened:
    """Times cut to a coarser unit: what they are now, and how many values of each part they had."""

    key: tuple[int, bytes]
    parts: dict[str, int]
    how: str
    line: int | None


@dataclass(slots=True)
class Cut:
    """Which parts were cut off times, which of these were taken all the same, and whether a fit is given one."""

    recorder: Recorder
    _shortened: list[Shortened] = field(default_factory=list)
    _taken: list[tuple[str, int, int, Shortened, str, int]] = field(default_factory=list)
    _whole: set[tuple[str, int]] = field(default_factory=set)  # parts that were taken where they vary, by rows

    def shortened(self, token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """After `.dt.floor("D")` and its like."""
        if args[1] in CUTS and len(self._shortened) < 50:
            self._compare(args[0], result, f"{args[1]}({', '.join(map(repr, args[2:]))})")

    def taken(self, token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """After `.dt.hour`, `.dt.date` and their like."""
        name, times = args[1], seconds(args[0])
        if times is None:
            return
        if name == "date" and len(self._shortened) < 50:
            self._compare(args[0], result, "date")
        if name not in PARTS:
            return
        values = summarise.values(result)
        if (values != values[0]).any():
            self._whole.add((name, len(values)))
            return
        file, line = user_line()
        before = next((s for s in reversed(self._shortened) if s.key == key(times) and s.parts[name] > 1), None)
        if before is not None and file is not None and line is not None and len(self._taken) < 50:
            self._taken.append((name, int(values[0]), len(values), before, file, line))

    def _compare(self, accessor: Any, result: Any, how: str) -> None:
        source, now = seconds(accessor), seconds(result)
        if source is None or now is None or len(now) != len(source):
            return
        parts = {p: len(np.unique(source // unit % many)) for p, (unit, many) in PARTS.items()}
        if any(n > 1 and len(np.unique(now // PARTS[p][0] % PARTS[p][1])) == 1 for p, n in parts.items()):
            self._shortened.append(Shortened(key(now), parts, how, user_line()[1]))

    def fitted(self, estimator: Any, x: Any, y: Any) -> None:
        """Before a fit: is there a column that is what such a part always is?"""
        constant = constants(x) if self._taken else {}
        for name, value, rows, before, file, line in self._taken:
            column = next((c for c, v in constant.items() if v == value), None)
            if column is not None and (name, rows) not in self._whole and summarise.height(x) <= rows and self.recorder.once("part_cut", file, line):
                told = {"column": column if summarise.is_frame(x) else name, "part": name, "value": value, "rows": rows, "how": before.how,
                        "distinct": before.parts[name], "cut_line": before.line, "estimator": type(estimator).__name__}  # fmt: skip
                self.recorder.fact("part_cut", told, file=file, line=line)


def seconds(times: Any) -> np.ndarray | None:
    """The wall-clock seconds of a series of times (or of its `.dt`, or of texts and days that spell them); None of gaps and anything else."""
    series = getattr(times, "_parent", times)
    if getattr(series, "dtype", None) is None or not LEAST <= len(series) <= MOST_ROWS:
        return None
    if getattr(series.dtype, "tz", None) is not None:
        series = series.dt.tz_localize(None)
    try:
        held = np.asarray(series).astype("datetime64[s]")
    except (TypeError, ValueError):
        return None
    return None if np.isnat(held).any() else held.astype(np.int64)


def key(times: np.ndarray) -> tuple[int, bytes]:
    """What the same times are known by again."""
    return len(times), times[summarise.spread(len(times), 256)].tobytes()


def constants(x: Any) -> dict[str, float]:
    """Number columns of a fit that hold one value."""
    if summarise.is_frame(x):
        columns = {c: summarise.column(x, c) for c in summarise.columns_of(x)[:200]}
    elif getattr(x, "ndim", 0) == 2 and summarise.library(x) == "numpy":
        columns = {f"column {i}": x[:, i] for i in range(min(x.shape[1], 200))}
    else:
        return {}
    return {c: float(v[0]) for c, v in columns.items() if v.dtype.kind in "iuf" and len(v) >= LEAST and (v == v[0]).all()}
