"""Inputs reckoned from the row's own answer: with another input they give it back (the price a square metre, beside the metres).

Numbers alone would not do, since a target may be made as the product of two inputs in a trial. So the person's line that makes the input must
name the label's column, and the input with another one must then be the target, up to a constant and a rounding, in nearly all rows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...capture import making
from ...capture.lineage.fingerprints import Table, spaced
from . import rates

MOST_COLUMNS, ROWS = 100, 1000
MOST_SUSPECTS = 6
SHARE = 0.9  # of rows: some are clipped
CLOSE = 0.005  # of the target's own size, or of its spread: what a rounding to two or three figures takes away


def look(table: Table, y: np.ndarray, names: list[str] | None, label: str | None, files: list[str]) -> list[dict[str, Any]]:
    """The first input that is told so, with its line."""
    if names is None or label is None or table.width > MOST_COLUMNS or len(np.unique(y[:200])) <= 20 or table.rows < 100:
        return []
    suspects = [(c, file, line) for file in files for c, line in made_of(file, label) if c in names and c != label][:MOST_SUSPECTS]
    values = table.floats(some := spaced(table.rows, ROWS)) if suspects else np.empty(0)
    for name, file, line in suspects:
        j = names.index(name)
        for what, target in rates.targets(y[some]):
            found = _together(values, j, target)
            if found is not None:
                other, way, share = found
                return [{"how": "composed", "column": name, "position": j, "agreement": round(share, 4), "rows": table.rows, "other": names[other],
                         "way": way, "of": what, "label": label, "file": file, "line": line}]  # fmt: skip
    return []


def _together(values: np.ndarray, j: int, target: np.ndarray) -> tuple[int, str, float] | None:
    """(other column, how, share of rows) by which the column and another one are the target."""
    column = values[:, j]
    forms = [column, *([np.exp(column)] if np.nanmax(np.abs(column), initial=0.0) < 40 else [])]
    for i in range(values.shape[1]):
        if i == j or not np.isfinite(values[:, i]).mean() > SHARE or np.ptp(values[:, i]) == 0:
            continue
        for form in forms:
            for way, made, product in _ways(form, values[:, i]):
                share = _same(made, target, product)
                if share >= SHARE:
                    return i, way, share
    return None


def _ways(a: np.ndarray, b: np.ndarray) -> Iterator[tuple[str, np.ndarray, bool]]:
    """(in words, the numbers, is it known up to a factor rather than a summand?)"""
    with np.errstate(all="ignore"):
        yield "times", a * b, True
        yield "divided by", a / b, True
        yield "taken to divide", b / a, True
        yield "plus", a + b, False
        yield "less", a - b, False
        yield "taken from", b - a, False


def _same(made: np.ndarray, target: np.ndarray, product: bool) -> float:
    """Share of the rows in which they are the same but for one constant."""
    with np.errstate(all="ignore"):
        apart = made / target if product else target - made
        usual = float(np.nanmedian(apart)) if np.isfinite(apart).any() else np.nan
        off = np.abs(apart / usual - 1) if product else np.abs(apart - usual) / float(target.std())
        return float((off < CLOSE).mean()) if np.isfinite(usual) and (usual or not product) else 0.0


def made_of(file: str, label: str) -> Iterator[tuple[str, int]]:
    """(column, line) of the columns that a line of the person's makes of the label's column, in the row's own place."""
    for name, value in making.columns_made(file):
        if name != label and any(_names(n, label) for n in ast.walk(value)):
            yield name, value.lineno


def _names(node: ast.AST, label: str) -> bool:
    """Is it the label's column: its name as text, or as an attribute of a table?"""
    return isinstance(node, ast.Constant) and node.value == label or isinstance(node, ast.Attribute) and node.attr == label
