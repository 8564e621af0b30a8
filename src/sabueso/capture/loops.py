"""Loops over single elements: does a line that is hot read arrays one element at a time where one call on the whole would do?

Told from the text of the loop and the types of the names in its frame; nothing is run. A loop is left alone where a turn needs the turn
before (an array that is written and read, a name carried on other than by a running sum, minimum or maximum), where it may end early,
and where it calls anything but arithmetic: then there may be no other way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FrameType
from typing import Any

from .operands import is_array, is_tensor, parsed
from .origin import absolute, names_in

PURE = frozenset({"min", "max", "abs", "sum", "float", "int", "range", "len", "round", "enumerate", "zip", "pow"})
MODULES = frozenset({"math", "np", "numpy", "torch", "jnp", "F"})
DRAWS = frozenset({"random", "rand", "randn", "randint", "normal", "uniform", "choice", "shuffle", "permutation", "multinomial", "bernoulli"})
METHODS = frozenset({"sum", "dot", "norm", "mean", "item", "min", "max", "abs", "pow", "sqrt", "exp", "log", "square", "matmul", "append", "size", "float"})
MOST_ELEMENTS = 256  # of one operation: with more, the work inside outweighs the turn


def element_loop(frame: FrameType, back: FrameType | None) -> dict[str, Any] | None:
    """The innermost loops round a frame's line, if they go element by element over arrays: their lines, lengths and what they read."""
    tree = parsed(frame.f_code.co_filename)
    if tree is None:
        return None
    path = _path_to(tree, frame.f_lineno)
    around = [n for n in path if isinstance(n, (ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.FunctionDef, ast.Lambda))]
    for n in reversed(range(len(around))):  # only loops of the innermost function
        if isinstance(around[n], (ast.FunctionDef, ast.Lambda)):
            around = around[n + 1 :]
            break
    if not around:
        return None
    names = _names(frame, back)
    nested = [x for x in around if not isinstance(x, ast.While)]
    for first in range(len(nested)):  # the outermost loop that still is pure element work
        inner = nested[first:]
        found = _judge(inner, names)
        if found is not None and not any(isinstance(x, ast.While) for x in around[around.index(inner[0]) :]):
            return {**found, "file": absolute(frame.f_code), "line": _line(inner[-1]), "outer": _line(inner[0]), "end": inner[0].end_lineno}
    return None


def _judge(nested: list[Any], names: dict[str, Any]) -> dict[str, Any] | None:
    targets = {t: loop for loop in nested for t in _targets(loop)}
    if not targets or not _independent(nested[0], set(targets)):
        return None
    read = list(_element_reads(nested[0], targets, names))
    if not read:
        return None
    lengths = [_length(loop, names) for loop in nested]
    if any(x is None for x in lengths):
        return None
    turns = 1
    for x in lengths:
        turns *= int(x or 1)
    names_read = sorted({r[0] for r in read})
    kind = "tensor" if any(is_tensor(names.get(n)) for n in names_read) else "array"
    return {"turns": turns, "lengths": lengths, "reads": names_read, "kind": kind, "elements": max(r[1] for r in read),
            "shapes": [list(map(int, names[n].shape)) for n in names_read if hasattr(names.get(n), "shape")]}  # fmt: skip


def _independent(loop: Any, targets: set[str]) -> bool:
    """Can the turns be done in any order, all at once?"""
    written: set[str] = set()
    read: set[str] = set()
    for node in ast.walk(loop):
        if isinstance(node, (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.Await, ast.Try, ast.With, ast.Raise, ast.While, ast.Delete)):
            return False
        if isinstance(node, ast.Call) and not _pure(node):
            return False
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            (written if isinstance(node.ctx, ast.Store) else read).add(node.value.id)
    plain = {n.target.value.id for n in ast.walk(loop) if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Subscript)
             and isinstance(n.target.value, ast.Name)}  # fmt: skip
    if (written - plain) & read or plain & read:
        return False
    return not any(_carried(loop, targets))


def _carried(loop: Any, targets: set[str]) -> Iterator[str]:
    """Names that a turn takes from the turn before, other than a running sum, minimum or maximum."""
    statements = [n for n in ast.walk(loop) if isinstance(n, (ast.Assign, ast.AugAssign))]
    known: set[str] = set(targets)
    for s in sorted(statements, key=lambda s: (s.lineno, s.col_offset)):
        if isinstance(s, ast.AugAssign):
            if isinstance(s.target, ast.Name) and not isinstance(s.op, (ast.Add, ast.Sub, ast.Mult)):
                yield s.target.id
            continue
        names = {t.id for target in s.targets for t in ast.walk(target) if isinstance(t, ast.Name) and isinstance(t.ctx, ast.Store)}
        used = {n.id for n in ast.walk(s.value) if isinstance(n, ast.Name)}
        if (names & used) - known and not _reduction(s.value, names):
            yield from names & used
        known |= names


def _reduction(value: ast.expr, names: set[str]) -> bool:
    """min(name, ..), max(name, ..), name + ..: the order of turns does not matter."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("min", "max"):
        return any(isinstance(a, ast.Name) and a.id in names for a in value.args)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        sides = [isinstance(x, ast.Name) and x.id in names for x in (value.left, value.right)]
        return sides.count(True) == 1 and not {n.id for n in ast.walk(value) if isinstance(n, ast.Name)} - names == set()
    return False


def _pure(call: ast.Call) -> bool:
    f = call.func
    if isinstance(f, ast.Name):
        return f.id in PURE
    if not isinstance(f, ast.Attribute):
        return False
    root = f.value
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name) and root.id in MODULES:
        return f.attr not in DRAWS and not (isinstance(f.value, ast.Attribute) and f.value.attr == "random")
    return f.attr in METHODS


def _element_reads(loop: Any, targets: dict[str, Any], names: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """(array, elements) of each reading of an array at the loops' own positions."""
    for node in ast.walk(loop):
        if not (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name)):
            continue
        held = names.get(node.value.id)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not (is_array(held) or is_tensor(held)) or not parts or any(isinstance(p, ast.Slice) for p in parts):
            continue
        used = {n.id for p in parts for n in ast.walk(p) if isinstance(n, ast.Name)}
        if not used or not used <= set(targets) or len(held.shape) < len(parts):
            continue
        elements = 1
        for n in held.shape[len(parts) :]:
            elements *= int(n)
        if elements <= MOST_ELEMENTS:
            yield node.value.id, elements


def _length(loop: Any, names: dict[str, Any]) -> int | None:
    """How many turns: of range(n), range(len(x)), enumerate(x) or an array itself, by the values in the frame."""
    node = loop.iter if isinstance(loop, ast.For) else loop.generators[-1].iter
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range" and node.args:
        ends = [_number(a, names) for a in node.args[:2]]
        if any(e is None for e in ends):
            return None
        return max(0, int(ends[-1] or 0) - (int(ends[0] or 0) if len(ends) == 2 else 0))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "enumerate" and node.args:
        node = node.args[0]
    return len(names[node.id]) if isinstance(node, ast.Name) and hasattr(names.get(node.id), "shape") and names[node.id].shape else None


def _number(node: ast.expr, names: dict[str, Any]) -> int | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        held = names.get(node.id)
        return held if isinstance(held, int) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1:
        held = names.get(node.args[0].id) if isinstance(node.args[0], ast.Name) else None
        return len(held) if isinstance(held, (list, tuple)) or (hasattr(held, "shape") and held.shape) else None
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        held = names.get(node.value.value.id) if isinstance(node.value.value, ast.Name) else None
        at = node.slice.value if isinstance(node.slice, ast.Constant) else None
        return int(held.shape[at]) if hasattr(held, "shape") and isinstance(at, int) and -len(held.shape) <= at < len(held.shape) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.FloorDiv)):
        a, b = _number(node.left, names), _number(node.right, names)
        if a is None or b is None or (isinstance(node.op, ast.FloorDiv) and b == 0):
            return None
        return a + b if isinstance(node.op, ast.Add) else a - b if isinstance(node.op, ast.Sub) else a // b
    return None


def _targets(loop: Any) -> set[str]:
    found = [loop.target] if isinstance(loop, ast.For) else [g.target for g in loop.generators]
    return {n.id for t in found for n in ast.walk(t) if isinstance(n, ast.Name)}


def _line(loop: Any) -> int:
    return int(loop.lineno)


def _path_to(tree: ast.AST, line: int) -> list[ast.AST]:
    """The nodes round a line, outermost first; a comprehension counts where its line is the only thing there."""
    path, node = [], tree
    while True:
        inside = [c for c in ast.iter_child_nodes(node) if getattr(c, "lineno", 0) <= line <= (getattr(c, "end_lineno", 0) or 0)]
        deeper = [c for c in inside if any(isinstance(x, (ast.ListComp, ast.GeneratorExp, ast.For)) for x in ast.walk(c))] or inside
        if not deeper:
            return path
        node = deeper[-1]
        path.append(node)


def _names(frame: FrameType, back: FrameType | None) -> dict[str, Any]:
    """The names that the frame and the ones that called it for a comprehension see."""
    names = dict(frame.f_globals)
    if frame.f_code.co_name in ("<listcomp>", "<genexpr>") and back is not None and back.f_code.co_filename == frame.f_code.co_filename:
        names.update(names_in(back))
    names.update(names_in(frame))
    return names
