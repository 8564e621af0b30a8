"""Pieces: is a metric reckoned for one batch after the other, or for folds, groups, classes or columns, whose mean is a figure of its own?

Told from the loop round the call: what it goes over, what it picks by its own variable, and whether a model is fitted in each turn.
"""

from __future__ import annotations

import ast
import re
from itertools import islice
from types import FrameType, GeneratorType
from typing import Any

import numpy as np

from .authorship import called
from .operands import tree_of
from .origin import is_users, names_in

DEEP = 4  # frames of the person's own that are looked at: the metric may be called by a function that the loop calls
PARTS = frozenset({"split", "groupby", "group_by", "partition_by", "unique", "items", "keys", "values", "set", "groups", "value_counts", "levels"})
FITS = re.compile(r"(^|_)(fit|refit|train|solve|lstsq|pinv|polyfit|minimize)(_|$)")
Loop = ast.For | ast.While | ast.AsyncFor


def batches(frame: FrameType | None) -> bool:
    """Does the loop round this call go over batches, as far as can be told?"""
    deep = 0
    while frame is not None and deep < DEEP:
        if is_users(frame.f_code.co_filename):
            loop = _innermost(frame)
            if loop is not None:
                return not (_over_parts(loop, frame) or _picks(loop, frame) or _fits(loop))
            deep += 1
        frame = frame.f_back
    return True


def _innermost(frame: FrameType) -> Loop | None:
    """The innermost loop of the running function round its line."""
    tree = tree_of(frame.f_code)
    if tree is None:
        return None
    found = [n for n in ast.walk(tree) if isinstance(n, (ast.For, ast.While, ast.AsyncFor)) and n.lineno <= frame.f_lineno <= (n.end_lineno or 0)]
    if frame.f_code.co_name[0] != "<":
        found = [n for n in found if n.lineno >= frame.f_code.co_firstlineno]
    return max(found, key=lambda n: n.lineno, default=None)


def _over_parts(loop: Loop, frame: FrameType) -> bool:
    """It goes over folds, groups or names."""
    if isinstance(loop, ast.While):
        return False
    if any(isinstance(n, ast.Call) and called(n) in PARTS for n in ast.walk(loop.iter)):
        return True
    names = names_in(frame)
    given = [names.get(n.id, frame.f_globals.get(n.id)) for n in ast.walk(loop.iter) if isinstance(n, ast.Name)]
    return any(_parts(x) for x in given)


def _parts(x: Any) -> bool:
    """A dictionary, names, groups of a table, or pairs of rows to fit and rows to judge."""
    if isinstance(x, dict) or type(x).__name__.endswith("GroupBy"):
        return True
    if isinstance(x, GeneratorType):
        return x.gi_code.co_name == "split"
    if isinstance(x, (list, tuple)) and x:
        some = list(islice(x, 3))
        if all(isinstance(e, str) for e in some):
            return True
        pairs = [e for e in some if isinstance(e, tuple) and len(e) == 2 and all(isinstance(i, np.ndarray) and i.dtype.kind in "iu" for i in e)]
        return len(pairs) == len(some) and any(len(a) != len(b) for a, b in pairs)
    kind = getattr(getattr(x, "dtype", None), "kind", "")
    return kind in ("O", "U", "S") and getattr(x, "ndim", 0) == 1 and len(x) > 0 and isinstance(x[0] if isinstance(x, np.ndarray) else None, str)


def _picks(loop: Loop, frame: FrameType) -> bool:
    """Rows are picked by being equal to the loop's variable, one value and no batch of them, or columns by its number."""
    if isinstance(loop, ast.While):
        return False
    names = names_in(frame)
    own = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name) and not getattr(names.get(n.id), "ndim", 0)}
    asked = {id(n) for i in ast.walk(loop) if isinstance(i, (ast.If, ast.IfExp, ast.Assert)) for n in ast.walk(i.test)}
    for node in (n for statement in loop.body for n in ast.walk(statement)):
        if isinstance(node, ast.Compare) and id(node) not in asked and isinstance(node.ops[0], ast.Eq):
            if any(isinstance(side, ast.Name) and side.id in own for side in (node.left, *node.comparators)):
                return True
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            first, last = node.slice.elts[0], node.slice.elts[-1]
            whole = isinstance(first, ast.Slice) and first.lower is None and first.upper is None or isinstance(first, ast.Constant)
            if whole and isinstance(last, ast.Name) and last.id in own:
                return True
    return False


def _fits(loop: Loop) -> bool:
    """A model is fitted in each turn, so that the pieces are judged by different ones."""
    return any(isinstance(n, ast.Call) and (n.args or n.keywords) and FITS.search(called(n).lower()) for s in loop.body for n in ast.walk(s))
