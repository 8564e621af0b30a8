"""What a fit's rows are laid beside: index labels, labels, the rows that stop a training."""

from __future__ import annotations

import linecache
import re
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...capture import again
from ...capture.lineage import answers, group_fills, instep, keyed, labelled, order, sight
from ...capture.lineage.fingerprints import Table, spaced, table_of
from ...capture.lineage.known import Known
from ...capture.lineage.matching import shared_columns
from ...capture.lineage.registry import shape_of
from ...capture.lineage.uses import Fit, place
from . import composed, learning, tells, windows

MOST_LOOKED_AT = 60  # columns of a table that may be the labels
MOST_LOOKS = 6  # fits of one line whose inputs are named
MOST_SECONDS = 0.2  # for labels of other rows, over which only the first fits of a line are looked at
MOST_UNNAMED = 50_000  # rows of a table of which only a part was fitted on


def label_codes(y: Any, rows: int) -> np.ndarray | None:
    """The labels as float64, or as codes where they are text; None for what is no column of labels."""
    shape = shape_of(y) if y is not None else None
    if shape is None or shape[0] != rows or rows > 500_000 or (len(shape) > 1 and shape[1] != 1):
        return None
    table = table_of(y)
    if table is None or table.width != 1:
        return None
    return table.floats()[:, 0] if table.numeric[0] else table.codes[:, 0].astype(np.float64)


def eval_sets(hooks: Any, fit: Fit, owner: Any, kwargs: dict[str, Any]) -> None:
    """Rows that a boosted model watches while it is fitted, and whether they stop it."""
    given = kwargs.get("eval_set")
    pairs = given if isinstance(given, list) else [given] if isinstance(given, tuple) else []
    xs = [p[0] for p in pairs if isinstance(p, tuple) and len(p) == 2]
    for name in ("eval_X", "X_val"):
        if kwargs.get(name) is not None:
            held = kwargs[name]
            xs += list(held) if isinstance(held, (list, tuple)) else [held]
    stops = stopping(owner, kwargs)
    for x in xs[:8]:
        known = hooks.lineage.known_of(x)
        if known is not None:
            fit.eval_sets.append((known, stops))


def stopping(owner: Any, kwargs: dict[str, Any]) -> bool:
    """Does the fit end, or is its best round chosen, by what it watches?"""
    if kwargs.get("early_stopping_rounds") or getattr(owner, "early_stopping_rounds", None):
        return True
    calls = list(kwargs.get("callbacks") or ()) + list(getattr(owner, "callbacks", None) or ())
    return any("early" in type(c).__name__.lower() or "early" in getattr(c, "__name__", "").lower() for c in calls)


def rows_in_step(hooks: Any, fit: Fit, call: Any, batches: bool) -> None:
    """Are the rows of X and y out of step?"""
    recorder = hooks.recorder
    if call.y is None or not recorder.wants("row_mismatch"):
        return
    told = instep.of(recorder, hooks.lineage).look(call.x, call.y, call.known, batches)
    if told is None and not batches and not call.known.notes.get("split") and worth(recorder, fit):
        began = time.thread_time()
        told = labelled.look(call.x, call.y, hooks.lineage) or keyed.look(call.x, call.y, call.known)
        recorder.shared["step_seconds"] = recorder.shared.get("step_seconds", 0.0) + time.thread_time() - began
    if told is None and not batches:
        answers.of(recorder, hooks.lineage).look(call.x, call.y, call.known)
    if told is None or not recorder.once("row_mismatch", told["how"], told["line"]):
        return
    right = told.pop("right", None)
    if right is not None and not batches:
        again.of(recorder).realigned(call.owner, call.known, call.y, right)
    where = {"file": told["file"], "line": told["line"]} if told["line"] else {}
    recorder.fact("row_mismatch", told, stage="preprocess", **where)


def worth(recorder: Any, fit: Fit) -> bool:
    """Is another fit of this line worth a search among the tables in sight? One of a hundred draws is like the other."""
    looks = recorder.shared.setdefault("step_looks", Counter())
    looks[place(fit.origin)[1]] += 1
    count = looks[place(fit.origin)[1]]
    return count <= MOST_LOOKS or recorder.shared.get("step_seconds", 0.0) < MOST_SECONDS or not count & (count - 1)


def inputs_tell(hooks: Any, fit: Fit, call: Any) -> None:
    """Do single inputs give the answer away? Told of the first fits of a kind only."""
    table, recorder = fit.known.table, hooks.recorder
    if table is None or fit.y is None or not recorder.wants("tell", "window") or fit.known.rows < tells.LEAST:
        return
    looks = recorder.shared.setdefault("tell_looks", Counter())
    looks[fit.name, table.width, place(fit.origin)[1]] += 1
    if looks[fit.name, table.width, place(fit.origin)[1]] > MOST_LOOKS:
        return
    names = table.names or names_in_sight(call.x, table)
    if not recorder.once("tell", fit.name, table.width, tuple(names or ()), place(fit.origin)[1]):
        return
    used = learning.used_columns(call.owner, names, table.width)
    if used is None:
        return
    for told in tells.telling(table, fit.y, names):
        if told["position"] not in used:
            continue
        recorder.fact("tell", told | {"model": fit.name}, stage="preprocess", **line_naming(told["column"], fit.origin))
    for told in composed.look(table, fit.y, names, label_column(fit), list(dict.fromkeys(o[0] for o in fit.origin))):
        if told["position"] in used:
            where = {"file": told.pop("file"), "line": told.pop("line"), "column": told["column"]}
            recorder.fact("tell", told | {"model": fit.name}, stage="preprocess", **where)
    if table.numeric.all():
        values = table.floats(slice(windows.STRETCH))
        for told in windows.looking_ahead(values, fit.y, names):
            if told["position"] not in used:
                continue
            held = sight.series_in_sight(values[:, told["position"]]) if not names else None
            where = {"file": held[1], "line": held[2], "tensor": held[0]} if held else line_naming(told["column"], fit.origin)
            recorder.fact("window", told | {"model": fit.name, "name": held[0] if held else told["column"]}, stage="preprocess", **where)


def target_means(hooks: Any, fit: Fit, call: Any) -> None:
    """Is a column the mean of the target over training and judged rows together?"""
    mine, judged, recorder = fit.known.table, call.known.table, hooks.recorder
    if mine is None or judged is None or fit.y is None or not recorder.wants("tell") or mine.width != judged.width:
        return
    if not recorder.once("target mean", fit.name, mine.width, place(call.origin)[1], judged.rows):  # one line may score the training rows first
        return
    names = mine.names or names_in_sight(call.x, judged)
    used = learning.used_columns(call.owner, names, mine.width) or []
    source = fit.known.source
    rows = np.concatenate([fit.known.ids, call.known.ids]) - source.base
    whole = call.known.source is source and rows.min() >= 0 and rows.max() < source.rows and len(rows) <= group_fills.MOST_ROWS
    held: list[np.ndarray] = []

    def keys() -> list[np.ndarray]:
        if whole and not held:
            held.extend(codes[rows] for _, codes in group_fills.keys(fit.known, source))
        return held

    for y in labels_in_sight(call, fit):
        found = [t for t in tells.target_means(mine, fit.y, judged, y, names, keys) if t["position"] in used]
        for told in found:
            recorder.fact("tell", told | {"model": fit.name}, stage="preprocess", **line_naming(told["column"], fit.origin))
        if found:
            return
    if fit.known.rows + call.known.rows < source.rows and (held_whole := whole_labelled(hooks, fit)) is not None:
        for told in tells.means_of_whole(mine, fit.y, *held_whole):
            recorder.fact("tell", told | {"model": fit.name}, stage="preprocess", **line_naming(told["column"], fit.origin))


def whole_labelled(hooks: Any, fit: Fit) -> tuple[Table, np.ndarray] | None:
    """The whole table that training rows are a part of, and the labels of all its rows, where they are a column of it."""
    label, source = label_column(fit), fit.known.source
    for known in hooks.lineage.known:
        table = known.table
        if known.source is source and known.rows == source.rows and table is not None and not known.makers and label in (table.names or ()):
            j = table.names.index(label)
            values = table.take_column(j).floats()[:, 0] if table.numeric[j] and known.exact and (np.diff(known.ids) >= 0).all() else None
            at = fit.known.ids - source.base
            if values is not None and at.min() >= 0 and np.allclose(values[at], fit.y, rtol=1e-5, atol=1e-9):  # a shifted column keeps its name
                return table, values
    return None


def held_out_order(hooks: Any, fit: Fit, call: Any) -> None:
    """Classes sorted along the rows, of which a stretch was fitted on and the next one is judged."""
    known, mine, recorder = call.known, fit.known, hooks.recorder
    if fit.y is None or known.source is not mine.source or not recorder.wants("label_order") or known.rows + mine.rows > 500_000:
        return
    if not all(len(k.ids) > 7 and (k.ids == np.arange(k.ids[0], k.ids[0] + len(k.ids))).mean() > 0.95 for k in (mine, known)):
        return
    for y in labels_in_sight(call, fit)[:1]:
        first, last = (fit.y, y) if mine.ids[0] < known.ids[0] else (y, fit.y)
        whole = np.concatenate([first, last])
        if order.is_classes(whole) and order.is_sorted(whole, True):
            name, file, line = sight.name_of_root(call.x)
            told = {"how": "hold-out", "sorted": True, "lacking": round(order.lacking(fit.y, y, whole, True), 4), "runs": order.runs(whole),
                    "levels": len(np.unique(whole)), "levels_train": len(np.unique(fit.y)), "judged": len(y), "name": name,
                    "rows": list(range(min(50, len(y))))}  # fmt: skip
            where = {"file": file, "line": line} if line else {"file": place(call.origin)[0], "line": place(call.origin)[1]}
            recorder.fact("label_order", told, stage="preprocess", **where)


def labels_in_sight(call: Any, fit: Fit) -> list[np.ndarray]:
    """What the true labels of judged rows may be: given with the call, or a column or array of as many rows that the person holds."""
    rows, found = call.known.rows, []
    levels = np.unique(fit.y)
    index = getattr(call.x, "index", None)
    given = [call.y] if call.y is not None else []
    label = label_column(fit)
    for frame in sight.user_frames():
        for _, value in sight.holdings(frame):
            shape = shape_of(value)
            if shape is None or shape[0] != rows or len(given) > 12:
                continue
            if hasattr(value, "columns") and label in list(value.columns):
                given.append(value[label])
            elif len(shape) == 1 and (index is None or not hasattr(value, "index") or index.equals(value.index)):
                given.append(value)
    for y in given:
        codes = label_codes(y, rows)
        if codes is not None and len(levels) > 1 and (len(levels) > 20 or y is call.y or np.isin(codes, levels).all()):
            found.append(codes)
    return found


def label_column(fit: Fit) -> str | None:
    """What the labels of a fit are called: by themselves, or in the table beside them that holds them as a column."""
    if fit.extra.get("label") is None and "label_seen" not in fit.extra:
        fit.extra["label_seen"] = next(_columns_equal(fit.y, fit.known), None)
    return fit.extra.get("label") or fit.extra.get("label_seen")


def _columns_equal(y: np.ndarray, known: Known) -> Iterator[str]:
    """Names of the columns, of tables in sight, that hold these very labels in the rows fitted on."""
    rows = known.ids - known.source.base
    some = spaced(len(y), 16)
    for frame in sight.user_frames():
        for _, value in sight.holdings(frame):
            shape = shape_of(value)
            if shape is None or len(shape) != 2 or shape[1] > MOST_LOOKED_AT or not hasattr(value, "columns"):
                continue
            whole = shape[0] == known.source.rows != len(y) and len(rows) == len(y) and rows.min() >= 0 and rows.max() < shape[0] <= MOST_UNNAMED
            if shape[0] != len(y) and not whole:
                continue
            at = rows if whole else np.arange(len(y))
            for name in map(str, value.columns):
                if not whole or _equal_at(value, name, at[some], y[some]):
                    codes = label_codes(value[name], shape[0])
                    if codes is not None and np.array_equal(codes[at], y):
                        yield name


def _equal_at(table: Any, name: str, rows: np.ndarray, y: np.ndarray) -> bool:
    """Has the column these labels in these few rows?"""
    column = table[name]
    codes = label_codes(column.iloc[rows] if hasattr(column, "iloc") else column[rows], len(rows))
    return codes is not None and np.array_equal(codes, y)


def names_in_sight(x: Any, table: Any) -> list[str] | None:
    """Names for an array's columns from a frame that the person holds and that has the same columns in the same rows."""
    best, most = None, 0
    for frame in sight.user_frames():
        for _, value in sight.holdings(frame):
            columns = getattr(value, "columns", None)
            shape = shape_of(value)
            if columns is None or shape is None or len(shape) < 2 or shape[1] > 200 or shape[0] * shape[1] > 4_000_000:
                continue
            other = table_of(value)
            pairs = dict(shared_columns(table, other)) if other is not None else {}
            if len(pairs) >= 0.6 * table.width and other is not None and other.names and len(pairs) > most:
                best, most = [other.names[pairs[j]] if j in pairs else f"column {j}" for j in range(table.width)], len(pairs)
            if most == table.width:
                return best
    return best


def line_naming(column: str, origin: sight.Origin) -> dict[str, Any]:
    """The first line of the person's files that makes the column, else the first that names it, else that of the fit."""
    quoted = f"""["']{re.escape(column)}["']"""
    plain = rf"|\b{column}\s*=(?!=)" if column.isidentifier() else ""
    sql = rf"|^(?!\s*(?:import|from|with|except)\b).*\b(?i:as)\s+[\"`]?{re.escape(column)}\b"
    makes, names = re.compile(rf"\[{quoted}\]\s*=(?!=)|alias\(\s*{quoted}{plain}{sql}"), re.compile(quoted)
    for pattern in (makes, names):
        for file in dict.fromkeys(o[0] for o in origin):
            for number, text in enumerate(linecache.getlines(file), 1):
                if pattern.search(text):
                    return {"file": file, "line": number, "column": column}
    return {"file": origin[0][0] if origin else None, "line": origin[0][1] if origin else None, "column": column}
