"""The table that a network's batch was cut from: faults inside it, as they are looked for where an estimator is fitted.

A network is fed from arrays that have no names any more, scaled and cut into windows. What stands for missing in a file is then another number:
it is known by being an end of the column that stands there again and again, and by the file or table whose column holds such a mark.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from . import breaks, files, marks, pairs, summarise, tabled, tables
from .origin import names_in, user_frame
from .recorder import Recorder

FLAT = 5.0  # times the spread that a column has without the mark
MOST_ARRAYS, MOST_CELLS = 20, 4_000_000  # of files that are looked at, and of one array


def judge(recorder: Recorder, x: pairs.Held, labels: np.ndarray, y_name: str) -> None:
    """Look into a whole array of rows, or of windows over a series, beside what is to be answered for each of them."""
    array = np.asarray(x.thing)
    if array.ndim == 3:  # of a window the place next to the answer
        array = array[:, -1, :]
    n = len(labels)
    if not recorder.wants("broken_rows") or array.ndim != 2 or array.shape[1] > breaks.MOST_WIDTH or not pairs.LEAST <= n <= breaks.MOST_ROWS:
        return
    targets = breaks.targets_of(labels)
    if not targets or not recorder.once("broken_rows", n, y_name, array.shape[1]):
        return
    names = named(recorder, array.shape[1])
    columns = {names[j] if names else str(j): array[:, j] for j in range(array.shape[1])}
    held = [h for h in pairs.at_hand(None) if h.thing is not x.thing]
    whole = tabled.Whole(columns, labels, tabled.texts(held, n), array, y_name, x.name)
    found = stands_for_missing(recorder, columns, bool(names))
    whole_rows = len(np.shape(x.thing)) == 2
    if not whole_rows and not found:
        return
    told = breaks.first(whole, targets, {c: end for c, (end, _) in found.items()})
    if told is None or not whole_rows and told["kind"] != "sentinel":  # rows of windows are not those of a table
        return
    source = found[told["columns"][0]][1] if told["kind"] == "sentinel" else None
    if source is None:
        breaks.tell(recorder, whole, told, rows_of)
        return
    read = [m for c in told["columns"] if (m := found[c][1]) is not None]
    told |= {"columns": [m.name for m in read], "value": source.mark, "low": source.low, "high": source.high, "count": source.count, "given": told["value"]}
    told.pop("positions")
    where = {"file": source.file, "line": source.line} if source.line else {}
    recorder.fact("broken_rows", {**told, "labels": y_name, "of": n, "table": source.table, "row_numbers": source.rows}, **where)


def series(recorder: Recorder, windows: np.ndarray) -> None:
    """A batch of windows that are cut while they are fed: the series that they come from, in which a number stands for missing.

    What is to be answered is not at hand for all rows. The mark does harm if it makes the column's spread what it is: the rest of it is scaled flat.
    """
    width = windows.shape[2]
    if not recorder.wants("broken_rows") or width > breaks.MOST_WIDTH:
        return
    for held in list(pairs.at_hand(None)):
        shape = getattr(held.thing, "shape", ())
        if len(shape) != 2 or shape[1] != width or not pairs.LEAST <= shape[0] <= MOST_CELLS // width or not is_dense(held.thing):
            continue
        array = np.asarray(held.thing)
        if not np.isin(windows[:, -1].astype(np.float64), array.astype(np.float64)).all():
            continue
        names = named(recorder, width)
        columns = {names[j] if names else str(j): array[:, j].astype(np.float64) for j in range(width)}
        for c, (end, read) in stands_for_missing(recorder, columns, bool(names)).items():
            v, j = columns[c], list(columns).index(c)
            if not (windows[:, :, j] == end).any() or read is None or not recorder.once("series_fed", read.table, read.name):
                continue
            spreads = [float(np.nanstd(v)), float(np.nanstd(v[v != end]))]
            if spreads[1] * FLAT > spreads[0]:
                continue
            where = {"file": read.file, "line": read.line} if read.line else {}
            told = {"kind": "sentinel", "columns": [read.name], "value": read.mark, "low": read.low, "high": read.high, "count": read.count, "of": len(v),
                    "before": None, "after": None, "spread": spreads, "labels": "", "table": read.table, "row_numbers": read.rows, "given": end}  # fmt: skip
            recorder.fact("broken_rows", told, **where)
        return


def is_dense(thing: Any) -> bool:
    """Real numbers that NumPy sees without a copy or an error?"""
    if summarise.library(thing) == "numpy":
        return thing.dtype.kind in "fiu"
    if summarise.library(thing) != "torch" or thing.device.type != "cpu" or str(thing.layout) != "torch.strided":
        return False
    return thing.dtype.is_floating_point and thing.element_size() > 2 and not thing.requires_grad


def rows_of(recorder: Recorder, whole: tabled.Whole, positions: np.ndarray, label: str | None) -> tuple[str | None, list[int]]:
    """Rows as read of the one table that has as many."""
    same = {
        s.name
        for s in tables.of(recorder).sources
        if s.rows == len(whole.labels) and (whole.columns.keys() <= set(s.columns) or all(c.isdigit() for c in whole.columns))
    }
    return (same.pop() if len(same) == 1 else None), tables.first(positions)


def stands_for_missing(recorder: Recorder, columns: dict[str, np.ndarray], known_by_name: bool) -> dict[str, tuple[float, marks.Marked | None]]:
    """By column the number that stands for missing there, and the column as read that has it.

    One that was scaled since counts only with such a column: a value at the end of many columns' range is one that was clipped.
    """
    found: dict[str, tuple[float, marks.Marked | None]] = {}
    known: list[marks.Marked] | None = None
    for j, (name, v) in enumerate(columns.items()):
        plain = marks.mark_of(v)
        end = plain if plain is not None else marks.repeated_end(v)
        if end is None:
            continue
        known = as_read(recorder) if known is None else known
        fits = [m for m in known if (m.name == name if known_by_name else m.index == j and m.width == len(columns)) and m.above == (end > np.median(v))]
        if fits or plain is not None:
            found[name] = end, fits[0] if fits else None
    return found


def as_read(recorder: Recorder) -> list[marks.Marked]:
    """Columns with such a mark, of the tables and files of arrays that were read."""
    found = [m for s in reversed(tables.of(recorder).sources) for m in s.marked]
    stored = [a for _, a in zip(range(MOST_ARRAYS), files.of(recorder).stored())]
    for a in stored:
        if a.values.ndim != 2 or a.values.dtype.kind not in "if" or a.values.shape[1] > breaks.MOST_WIDTH or a.values.size > MOST_CELLS:
            continue
        width = a.values.shape[1]
        names = next((list(map(str, t.values)) for t in stored if t.path == a.path and t.values.dtype.kind == "U" and t.values.shape == (width,)), None)
        for j in range(width):
            where = {"table": os.path.basename(a.path), "file": a.file, "line": a.line}
            m = marks.marked(np.asarray(a.values[:, j]), names[j] if names else f"column {j}", j, width, **where)
            found += [m] if m is not None else []
    return found


def named(recorder: Recorder, width: int) -> list[str] | None:
    """The names of as many columns: a list of texts in the person's frames that are all columns of a table that was read."""
    known = [set(s.columns) for s in tables.of(recorder).sources]
    frame = user_frame()
    for _ in range(6):
        if frame is None:
            break
        for space in (names_in(frame), frame.f_globals):
            for value in list(space.values()):
                if isinstance(value, (list, tuple)) and len(value) == width and all(isinstance(v, str) for v in value) and any(set(value) <= k for k in known):
                    return list(value)
        frame = user_frame(frame.f_back) if frame.f_back is not None else None
    return None
