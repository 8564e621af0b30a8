"""Unsigned: two arrays of small whole numbers without a sign are subtracted, and what lies below zero comes out near the top.

No operator of an array can be watched. So where a model is fitted, or first updated, the running functions are read: which
differences have they, or a function of the person's own that they call, taken of arrays that are at hand? How many went round is then counted.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType, FunctionType
from typing import Any

import numpy as np

from . import fits
from .authorship import called
from .operands import parsed, tree_of
from .origin import absolute, is_users, names_in
from .recorder import Recorder

KINDS = ("uint8", "uint16", "uint32")
SIZES = frozenset({"abs", "absolute", "fabs", "square", "sqrt", "mean", "sum", "norm", "std", "power", "float", "float32", "float64"})
WIDENS = frozenset({"float", "float32", "float64", "float16", "double", "f4", "f8"})
LEAST, MOST = 100, 1_000_000  # elements: of more, evenly spread ones are compared
SHARE = 0.01  # of the elements that went round
MOST_FITS, MOST_FRAMES, MOST_LINES = 6, 6, 2000
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True)
class Scope:
    """Names with their values, and the code that has run on them."""

    names: dict[str, Any]
    nodes: list[ast.AST]
    file: str
    others: dict[str, Any]  # where functions are looked up


class Unsigned:
    """The looks of one run."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder, self.looks = recorder, 0
        recorder.shared["unsigned"] = self
        fits.listen(recorder, lambda estimator, x, y: self.fitted())

    def fitted(self) -> None:
        """A model is about to be fitted: what the running functions did so far."""
        self.looks += 1
        frame: FrameType | None = sys._getframe(1) if self.looks <= MOST_FITS else None
        deep = 0
        while frame is not None and deep < MOST_FRAMES:
            if is_users(frame.f_code.co_filename) and self.recorder.once("unsigned", frame.f_code.co_filename, frame.f_lineno):
                tree = tree_of(frame.f_code)
                body = _body(tree, frame.f_code.co_name, frame.f_code.co_firstlineno) if tree is not None else []
                names = names_in(frame)
                self.read(Scope(names, [n for n in body if getattr(n, "lineno", 0) <= frame.f_lineno], absolute(frame.f_code), {**frame.f_globals, **names}))
                deep += 1
            frame = frame.f_back

    def read(self, scope: Scope) -> None:
        """Differences in the scope, and in the functions that it calls."""
        if not any(_small(v) for v in scope.names.values()) and not any(_holds(v) for v in list(scope.names.values())[:200]):
            return
        self.differences(scope)
        for call in [n for n in scope.nodes if isinstance(n, ast.Call)]:
            function = _value(call.func, scope.others)
            function = getattr(function, "__func__", function)
            if not isinstance(function, FunctionType) or not is_users(function.__code__.co_filename):
                continue
            given = {p: v for p, v in zip(_parameters(function, call), (_standing(a, call.lineno, scope) for a in call.args)) if _small(v)}
            tree = tree_of(function.__code__) if given else None
            if tree is not None:
                body = _body(tree, function.__name__, function.__code__.co_firstlineno)
                stored = {n.id for n in body if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
                inner = {k: v for k, v in given.items() if k not in stored}
                if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
                    inner["self"] = scope.others.get(call.func.value.id)
                self.differences(Scope(inner, body, absolute(function.__code__), inner))

    def differences(self, scope: Scope) -> None:
        """Differences whose size is asked for, or that are turned to floats."""
        named = _named(scope.nodes)
        for node in scope.nodes:
            taken = _difference(node, named)
            if taken is None or not self.recorder.once("unsigned_at", scope.file, taken.lineno, taken.col_offset):
                continue
            a, b = (_standing(side, taken.lineno, scope) for side in (taken.left, taken.right))
            found = wrapped(a, b) if _small(a) and _small(b) else None
            if found is not None:
                sides = [ast.unparse(taken.left), ast.unparse(taken.right)]
                self.recorder.fact("unsigned_difference", {**found, "names": sides}, stage="preprocess", file=scope.file, line=taken.lineno)


def wrapped(a: np.ndarray, b: np.ndarray) -> dict[str, Any] | None:
    """How many differences of two arrays of one small type without a sign went round; None where hardly any did."""
    if a.dtype != b.dtype:
        return None
    try:
        a, b = np.broadcast_arrays(a, b)
    except ValueError:
        return None
    if a.size < LEAST:
        return None
    step = a.size // MOST + 1
    left, right = a[::step].reshape(-1), b[::step].reshape(-1)
    below = left < right
    if below.mean() < SHARE:
        return None
    at = int(np.flatnonzero(below)[0])
    return {"dtype": a.dtype.name, "share": round(float(below.mean()), 4), "of": int(a.size), "shape": list(a.shape),
            "example": [int(left[at]), int(right[at]), int((left[at : at + 1] - right[at : at + 1])[0])]}  # fmt: skip


def _named(nodes: list[ast.AST]) -> dict[str, ast.expr]:
    """Differences by the name that they alone are given to."""
    stored = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    given = {t.id: n.value for n in nodes if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name) and isinstance(n.value, ast.BinOp)}
    return {name: value for name, value in given.items() if stored.count(name) == 1}


def _difference(node: ast.AST, named: dict[str, ast.expr]) -> ast.BinOp | None:
    """`abs(a - b)`, `(a - b) ** 2`, `(a - b).mean()`, `(a - b).astype(float)`: the difference in it."""
    inner: ast.expr | None = None
    if isinstance(node, ast.Call) and called(node) in SIZES and (node.args or isinstance(node.func, ast.Attribute)):
        inner = node.args[0] if node.args else node.func.value  # type: ignore[attr-defined]
        if isinstance(node.func, ast.Attribute) and (
            isinstance(node.func.value, ast.BinOp) or isinstance(node.func.value, ast.Name) and node.func.value.id in named
        ):
            inner = node.func.value
    elif isinstance(node, ast.Call) and called(node) == "astype" and isinstance(node.func, ast.Attribute) and node.args:
        to = node.args[0]
        name = to.attr if isinstance(to, ast.Attribute) else to.id if isinstance(to, ast.Name) else str(getattr(to, "value", ""))
        inner = node.func.value if name in WIDENS else None
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        inner = node.left
    inner = named.get(inner.id) if isinstance(inner, ast.Name) else inner
    return inner if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub) else None


def _body(tree: ast.AST, name: str, first: int) -> list[ast.AST]:
    """All nodes of one function, or of the module without its functions."""
    root: ast.AST | None = tree
    if name[0] != "<":
        root = next((n for n in ast.walk(tree) if isinstance(n, Function) and n.name == name and _first(n) <= max(first, 1) <= (n.end_lineno or 0)), None)
    found: list[ast.AST] = []
    waiting = list(ast.iter_child_nodes(root)) if root is not None else []
    while waiting and len(found) < 20 * MOST_LINES:
        node = waiting.pop(0)
        if not isinstance(node, (Function, ast.ClassDef, ast.Lambda)):
            found.append(node)
            waiting += ast.iter_child_nodes(node)
    return found


def _first(node: Function) -> int:
    return min([node.lineno, *(d.lineno for d in node.decorator_list)])


def _parameters(function: FunctionType, call: ast.Call) -> Iterator[str]:
    """The parameters that positional arguments go to."""
    names = list(function.__code__.co_varnames[: function.__code__.co_argcount])
    return iter(names[1:] if isinstance(call.func, ast.Attribute) and names[:1] == ["self"] else names)


def _standing(node: ast.expr, line: int, scope: Scope) -> Any:
    """The same of an operand, if it is still what it was on that line; None if it may have been given another value since."""
    stores = [n for n in scope.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and any(n.id == part.id and n.lineno > line for n in stores):
            return None
        if isinstance(part, ast.Attribute) and _stores(scope.file, part.attr) != 1:
            return None
    return _value(node, scope.names)


def _stores(file: str, attribute: str) -> int:
    """How often an attribute of that name is given a value in a file."""
    tree = parsed(file)
    return sum(isinstance(n, ast.Attribute) and n.attr == attribute and isinstance(n.ctx, ast.Store) for n in ast.walk(tree)) if tree is not None else 0


def _value(node: ast.expr, names: dict[str, Any]) -> Any:
    """What a name, an attribute of one or a slice of an array stands for; nothing of the person's is run."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
        owner = names[node.value.id]
        held = getattr(owner, "__dict__", {})
        return held.get(node.attr) if node.attr in held else getattr(type(owner), "__dict__", {}).get(node.attr) if node.value.id == "self" else None
    if isinstance(node, ast.Subscript):
        whole = _value(node.value, names)
        if type(whole) is np.ndarray:
            try:
                return whole[_index(node.slice)]
            except (ValueError, IndexError, TypeError):
                return None
    return None


def _index(node: ast.expr) -> Any:
    """A constant index; ValueError for any other."""
    if isinstance(node, ast.Tuple):
        return tuple(_index(e) for e in node.elts)
    if isinstance(node, ast.Slice):
        return slice(*(None if e is None else ast.literal_eval(e) for e in (node.lower, node.upper, node.step)))
    return ast.literal_eval(node)


def _small(x: Any) -> bool:
    return type(x) is np.ndarray and x.dtype.name in KINDS


def _holds(x: Any) -> bool:
    return any(_small(v) for v in list(getattr(x, "__dict__", {}).values())[:40]) if not isinstance(x, type) else False
