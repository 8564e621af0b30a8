"""Operands: the values of an expression in a frame, read without running anything of the person's, and described in a few numbers."""

from __future__ import annotations

import ast
import builtins
import functools
import itertools
import linecache
import math
import sys
from collections import deque
from collections.abc import Iterator
from types import CodeType, FrameType, TracebackType
from typing import Any

MISSING = object()
MOST_ELEMENTS = 20_000_000  # of an array whose range is read; larger ones are sampled evenly
MOST_NAMES = 200  # columns of a table that are kept by name


@functools.lru_cache(maxsize=64)
def parsed(filename: str) -> ast.Module | None:
    """The syntax tree of a file as it is now; None if it can't be read."""
    try:
        return ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError):
        return None


@functools.lru_cache(maxsize=256)
def parsed_function(filename: str, first: int) -> ast.Module | None:
    """The syntax tree of the one function that begins at that line, with the file's lines and columns; None where it can't be cut out.

    A long file takes some milliseconds to parse, as much as ten steps of a small training. What is cut off too early does not parse.
    """
    lines = linecache.getlines(filename)
    if not 1 <= first <= len(lines) or not lines[first - 1].lstrip().startswith(("def ", "async def ", "@")):
        return None
    indent = len(lines[first - 1]) - len(lines[first - 1].lstrip())
    end, body = first - 1, False
    for end in range(first - 1, len(lines) + 1):
        text = lines[end].lstrip() if end < len(lines) else ""
        outside = bool(text) and len(lines[end]) - len(text) <= indent and text[0] not in ")]}#"
        if end == len(lines) or body and outside:
            break
        body = body or text.startswith(("def ", "async def "))
    try:
        return ast.parse("\n" * (first - 2) + ("if 1:\n" if indent else "\n" if first > 1 else "") + "".join(lines[first - 1 : end]))
    except (SyntaxError, ValueError):
        return None


def tree_of(code: CodeType) -> ast.Module | None:
    """The syntax tree that holds a code object: of its function, where that can be had alone, else of its file."""
    alone = parsed_function(code.co_filename, code.co_firstlineno) if code.co_name[0] != "<" else None
    return alone if alone is not None else parsed(code.co_filename)


def on_line(tree: ast.AST, line: int) -> Iterator[ast.AST]:
    """As ast.walk, without the branches that have nothing on that line."""
    waiting = deque([tree])
    while waiting:
        node = waiting.popleft()
        yield node
        for child in ast.iter_child_nodes(node):
            start = child.decorator_list[0] if getattr(child, "decorator_list", None) else child  # type: ignore[attr-defined]
            if getattr(start, "lineno", line) <= line <= (getattr(child, "end_lineno", None) or line):
                waiting.append(child)


def failing(tb: TracebackType) -> ast.expr | ast.stmt | None:
    """The innermost expression that was being evaluated in a frame of a traceback."""
    return at_instruction(tb.tb_frame, tb.tb_lasti)


def at_instruction(frame: FrameType, lasti: int) -> ast.expr | ast.stmt | None:
    """The syntax node of a frame's instruction."""
    return instruction_in(frame.f_code, lasti)


def instruction_in(code: CodeType, lasti: int) -> ast.expr | ast.stmt | None:
    """The syntax node of an instruction, by the exact columns that the code object keeps; else the statement of its line."""
    line, end, column, end_column = next(itertools.islice(code.co_positions(), lasti // 2, None), (None, None, None, None))
    tree = tree_of(code) if line is not None else None
    if line is None or tree is None:
        return None
    best: ast.expr | ast.stmt | None = None
    span = (line, end, column, end_column)
    for node in on_line(tree, line):
        if isinstance(node, ast.expr) and (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) == span:
            return node
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            best = node if best is None or node.lineno >= best.lineno else best
    return best


def operand_nodes(node: ast.AST) -> Iterator[ast.expr]:
    """The parts of an expression that have a value of their own in the frame: names, attributes of names, constant subscripts."""
    constant = isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Constant, ast.UnaryOp))
    if (constant or isinstance(node, (ast.Name, ast.Attribute))) and rooted(node):
        yield node
        return
    if isinstance(node, ast.Call):
        children: list[ast.AST] = [*node.args, *(k.value for k in node.keywords)]
        if isinstance(node.func, ast.Attribute):
            children.append(node.func.value)
    elif isinstance(node, (ast.Lambda, ast.FunctionDef, ast.ClassDef, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)):
        return
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        children = [node.iter]
    elif isinstance(node, ast.While):
        children = [node.test]
    else:
        children = list(ast.iter_child_nodes(node))
    for child in children:
        yield from operand_nodes(child)


def rooted(node: ast.AST) -> bool:
    """Is it a chain of attributes and constant subscripts that begins at a name?"""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return isinstance(node, ast.Name)


def value_of(frame: FrameType, node: ast.AST, names: dict[str, Any] | None = None) -> Any:
    """The value of a name, attribute or constant subscript, read without running code of the person's; MISSING if that can't be."""
    if isinstance(node, ast.Name):
        for scope in (names if names is not None else frame.f_locals, frame.f_globals, vars(builtins)):
            if node.id in scope:
                return scope[node.id]
        return MISSING
    if isinstance(node, ast.Attribute):
        owner = value_of(frame, node.value, names)
        return MISSING if owner is MISSING else attribute(owner, node.attr)
    if isinstance(node, ast.Subscript):
        owner = value_of(frame, node.value, names)
        try:
            return MISSING if owner is MISSING else item(owner, ast.literal_eval(node.slice))
        except (ValueError, SyntaxError):
            return MISSING
    return MISSING


def attribute(owner: Any, name: str) -> Any:
    """What an object holds under a name in its own dictionaries (a torch module's included)."""
    held = getattr(owner, "__dict__", None)
    if not isinstance(held, dict) and not isinstance(owner, type) and type(owner).__name__ != "module":
        return MISSING
    held = vars(owner)
    if name in held:
        return held[name]
    for part in ("_parameters", "_buffers", "_modules"):
        inner = held.get(part)
        if isinstance(inner, dict) and name in inner:
            return inner[name]
    kept = vars(type(owner)).get(name, MISSING)
    return MISSING if isinstance(kept, (property, functools.cached_property)) else kept


def item(owner: Any, key: Any) -> Any:
    """`owner[key]` for the plain containers, arrays and tensors, where reading has no effect; a table's column by name."""
    try:
        if type(owner) in (list, tuple, dict) or is_array(owner) or is_tensor(owner):
            return owner[key]
        if is_frame(owner) and isinstance(key, str) and key in owner.columns:
            return owner[key]
    except Exception:
        return MISSING
    return MISSING


def operands(frame: FrameType, node: ast.AST, most: int = 8) -> list[tuple[str, Any]]:
    """(name as written, value) of the operands of an expression, those that hold data first."""
    found: dict[str, Any] = {}
    for part in operand_nodes(node):
        name = ast.unparse(part)
        while name not in found:
            value = value_of(frame, part)
            if value is not MISSING:
                found[name] = value
                break
            part = getattr(part, "value", None)  # self.config.size with a property: what it is read from
            if part is None or not rooted(part):
                break
            name = ast.unparse(part)
    order = sorted(found.items(), key=lambda p: not holds_data(p[1]))
    return [(n, v) for n, v in order if type(v).__name__ not in ("module", "function", "builtin_function_or_method", "type")][:most]


# ---- kinds, without importing their libraries


def library(value: Any) -> str:
    return (type(value).__module__ or "").partition(".")[0]


def is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and hasattr(torch, "Tensor") and isinstance(value, torch.Tensor)


def is_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def is_frame(value: Any) -> bool:
    """A table with named columns (pandas)."""
    return type(value).__name__ == "DataFrame" and library(value) == "pandas"


def is_series(value: Any) -> bool:
    return type(value).__name__ == "Series" and library(value) == "pandas"


def is_module(value: Any) -> bool:
    """A torch module."""
    held = getattr(value, "__dict__", None)
    return isinstance(held, dict) and "_modules" in held and "_parameters" in held


def holds_data(value: Any) -> bool:
    return is_tensor(value) or is_array(value) or is_frame(value) or is_series(value)


# ---- descriptions


def describe(name: str, value: Any) -> dict[str, Any]:
    """Name, kind, and what of shape, dtype, device, range, non-finite count, columns or plain value applies. Never fails."""
    told: dict[str, Any] = {"name": name, "kind": kind(value)}
    try:
        if is_tensor(value) or is_array(value):
            told.update(shape=[int(n) for n in value.shape], dtype=str(value.dtype).removeprefix("torch."))
            if is_tensor(value):
                told.update(device=str(value.device), parameter=bool(value.requires_grad and value.is_leaf))
            told.update(extent(value))
        elif is_frame(value):
            told.update(shape=list(value.shape), columns=[str(c) for c in value.columns[:MOST_NAMES]])
        elif is_series(value):
            told.update(shape=list(value.shape), dtype=str(value.dtype), column=None if value.name is None else str(value.name))
            if value.dtype.kind in "fiu":
                told.update(extent(value.to_numpy()))
        elif isinstance(value, (bool, int, float)):
            told["value"] = value
        elif isinstance(value, (str, bytes)):
            told["value"] = str(value[:200])
        elif isinstance(value, (list, tuple, dict, set)):
            told["length"] = len(value)
        elif hasattr(value, "n_features_in_"):
            told["features"] = int(vars(value).get("n_features_in_", 0))
    except Exception as error:  # a strange subclass: its kind alone is told
        told["unread"] = type(error).__name__
    return told


def kind(value: Any) -> str:
    if is_tensor(value):
        return "tensor"
    return "array" if is_array(value) else "table" if is_frame(value) else "column" if is_series(value) else type(value).__name__


def extent(value: Any) -> dict[str, Any]:
    """Smallest and largest finite value, and how many are not finite. Device tensors are left alone: after a device error a read raises."""
    import numpy as np

    if is_tensor(value):
        if value.device.type != "cpu" or str(value.layout) != "torch.strided" or value.is_quantized or value.numel() == 0 or value.dtype.is_complex:
            return {}
        value = value.detach()
        value = (value.float() if value.dtype.itemsize < 4 and value.is_floating_point() else value).numpy()
    if value.dtype.kind not in "fiub" or value.size == 0:
        return {}
    flat = value.reshape(-1)[:: max(1, math.ceil(value.size / MOST_ELEMENTS))]
    if value.dtype.kind != "f":
        return {"min": flat.min().item(), "max": flat.max().item()}
    finite = np.isfinite(flat)
    bad = int(finite.size - np.count_nonzero(finite))
    good = flat[finite] if bad else flat
    return {"min": float(good.min()), "max": float(good.max()), "nonfinite": bad} if good.size else {"nonfinite": bad}
