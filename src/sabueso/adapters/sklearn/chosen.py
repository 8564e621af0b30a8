"""Inputs chosen by hand: are they just the columns that agree best with the answers of all rows, those judged included?"""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

from ...capture.lineage import sets, sight
from ...capture.lineage.fingerprints import table_of
from ...capture.lineage.registry import shape_of
from ...capture.lineage.standardised import line_of
from ...capture.lineage.uses import Fit, unique
from ...capture.operands import parsed

MOST_CELLS = 4_000_000
ITSELF = 1 - 1e-9  # correlation of the answers' own column
LEAST, TIMES = 5, 3  # columns chosen; and so many times as many to choose from
CALLS = re.compile(r"(\.|\b)(corr\w*|pearsonr|spearmanr|f_classif|f_regression|mutual_info\w*|ttest_ind|nlargest|argsort|sort_values)\s*\(")


def look(hooks: Any, fit: Fit, call: Any) -> None:
    """The chosen columns are the best by correlation over all rows, and not the best over the training rows: told once a fit."""
    mine, source, recorder = fit.known.table, fit.known.source, hooks.recorder
    if mine is None or fit.y is None or not recorder.wants("chosen") or not LEAST <= mine.width <= 300 or not mine.numeric.all() or mine.rows < 20:
        return
    judged = sets.without(unique(call.known), unique(fit.known))
    if call.known.source is not source or len(judged) < 5 or len(fit.y) != mine.rows or not recorder.once("chosen", fit.name, mine.width, mine.rows):
        return
    rows = fit.known.ids - source.base
    if rows.min() < 0 or rows.max() >= source.rows:
        return
    for name, whole, y in _wholes(source.rows, mine.width, rows, fit.y):
        table = table_of(whole)
        at = places(table, mine, rows) if table is not None and table.numeric.all() else None
        if at is None:
            continue
        values = table.floats()  # type: ignore[union-attr]
        everything, training = _agreement(values, y), _agreement(values[rows], fit.y)
        rest = np.setdiff1d(np.flatnonzero(everything < ITSELF), at)  # a table may hold the answers too
        if len(rest) < (TIMES - 1) * len(at):
            continue
        if everything[at].min() >= everything[rest].max() - 1e-9 and training[at].min() < training[rest].max() - 1e-6:
            where = _asked(fit.origin, line_of(fit.origin, CALLS))
            told = {"model": fit.name, "table": name, "kept": len(at), "columns": values.shape[1], "rows": source.rows, "judged": len(judged),
                    "least": round(float(everything[at].min()), 4), "best_left": round(float(everything[rest].max()), 4),
                    "least_train": round(float(training[at].min()), 4), "best_left_train": round(float(training[rest].max()), 4)}  # fmt: skip
            place = {"file": where[0], "line": where[1]} if where else {"file": call.origin[0][0], "line": call.origin[0][1]} if call.origin else {}
            recorder.fact("chosen", told, stage="preprocess", estimator=fit.name, **place)
            return


def _asked(origin: sight.Origin, where: tuple[str, int] | None) -> tuple[str, int] | None:
    """Where the choice is made in a function of its own: the last line before the fit that calls it, since there it is given the rows."""
    if where is None:
        return None
    file, line = where
    within = [n for n in ast.walk(parsed(file) or ast.Module(body=[], type_ignores=[])) if isinstance(n, ast.FunctionDef) and n.lineno <= line <= n.end_lineno]
    own = max(within, key=lambda n: n.lineno, default=None)
    if own is None or any(f == file and own.lineno <= at <= own.end_lineno for f, at, *_ in origin):  # type: ignore[operator]
        return where
    return line_of(origin, re.compile(rf"(?<!def )\b{re.escape(own.name)}\s*\(")) or where


def _wholes(rows: int, width: int, at: np.ndarray, y: np.ndarray) -> list[tuple[str, Any, np.ndarray]]:
    """(name, table or array with far more columns, labels of all rows) in sight."""
    held = [(name, value, shape_of(value)) for frame in sight.user_frames() for name, value in sight.holdings(frame)]
    held = [(n, v, s) for n, v, s in held if s is not None and s[0] == rows]
    wide = [(n, v) for n, v, s in held if len(s) == 2 and s[1] >= TIMES * width and s[0] * s[1] <= MOST_CELLS]
    labels = None
    if wide:
        for _, value, shape in held:
            if len(shape) == 1 and labels is None:
                table = table_of(value)
                codes = table.floats()[:, 0] if table is not None and table.numeric[0] else None
                labels = codes if codes is not None and np.array_equal(codes[at], y) else None
    return [(n, v, labels) for n, v in wide[:3]] if labels is not None else []


def places(table: Any, mine: Any, rows: np.ndarray) -> np.ndarray | None:
    """The whole's column for each chosen one."""
    some = np.unique(np.linspace(0, len(rows) - 1, 8).astype(int))
    theirs, held = table.take(rows[some]).codes, mine.take(some).codes
    at = [np.flatnonzero((theirs == held[:, j : j + 1]).all(axis=0)) for j in range(mine.width)]
    found = [int(a[0]) for a in at if len(a) == 1]
    if not found:
        found = _scaled(table.floats(rows), mine.floats())
    return np.array(found) if len(set(found)) == mine.width else None


def _scaled(values: np.ndarray, mine: np.ndarray) -> list[int]:
    """The one column of the whole that each chosen one is but for its place and scale."""
    x, y = (v - v.mean(axis=0) for v in (values, mine))
    with np.errstate(all="ignore"):
        same = np.abs(y.T @ x) / np.sqrt(np.outer((y * y).sum(axis=0), (x * x).sum(axis=0))) > 1 - 1e-6
    return [int(np.flatnonzero(s)[0]) for s in same if s.sum() == 1]


def _agreement(values: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The size of each column's correlation with the labels."""
    x, y = values - values.mean(axis=0), y - y.mean()
    with np.errstate(all="ignore"):
        found = np.abs(x.T @ y) / (np.sqrt((x * x).sum(axis=0)) * np.sqrt((y * y).sum()))
    return np.nan_to_num(found)
