"""What the person's own frames hold at a call: arrays by name, and the line on which a name was last given its value.

Looked at only when an array is met whose rows nobody knows, or when a finding wants the line where a part was cut. Nothing is changed and
nothing is kept but names and lines.
"""

from __future__ import annotations

import ast
import functools
import linecache
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy as np

from ..origin import absolute, is_users
from .fingerprints import array_of
from .registry import shape_of

MOST_FRAMES = 6
MOST_NAMES = 400
MOST_CELLS = 20_000_000
CANDIDATES = 6
Origin = list[tuple[str, int, str, int]]  # (file, line, function, identity of the frame), innermost first


def user_frames(frame: FrameType | None = None) -> list[FrameType]:
    """The person's frames, innermost first."""
    f, found = frame if frame is not None else sys._getframe(1), []
    while f is not None and len(found) < MOST_FRAMES:
        if is_users(f.f_code.co_filename):
            found.append(f)
        f = f.f_back
    return found


def origin() -> Origin:
    """Where the person's program is now."""
    return [(absolute(f.f_code), f.f_lineno, f.f_code.co_name, id(f)) for f in user_frames(sys._getframe(1))]


def line_of(cause: Origin, effect: Origin) -> tuple[str | None, int | None]:
    """The cause's line in the innermost function that both went through.

    A helper that fits what it is given is innocent: the line that called it before the split, where the split is made too, is at fault.
    """
    later = {frame for *_, frame in effect}
    for file, line, _, frame in cause:
        if frame in later:
            return file, line
    return (cause[0][0], cause[0][1]) if cause else (None, None)


def candidates(x: Any) -> Iterator[tuple[str, Any, str, int | None]]:
    """(name, object, file, line of its assignment) of what `x` may have been cut from, the largest first."""
    shape = shape_of(x)
    if shape is None:
        return
    base = getattr(x, "base", None)
    found, seen = [], {id(x)}
    for frame in user_frames(sys._getframe(1)):
        for name, value in holdings(frame):
            other = shape_of(value) if id(value) not in seen else None
            seen.add(id(value))
            if other is None or other[0] < shape[0] or len(other) < min(2, len(shape)) or np.prod(other) > MOST_CELLS:
                continue
            found.append((value is not base, -other[0], -int(np.prod(other[1:])), len(found), name, value, frame))
    for *_, name, value, frame in sorted(found, key=lambda c: c[:4])[:CANDIDATES]:
        yield name, value, absolute(frame.f_code), assigned(frame, name)[0]


def name_of(x: Any) -> tuple[str | None, str | None, int | None]:
    """(name, file, line of its assignment) by which one of the person's frames holds this very object."""
    for frame in user_frames(sys._getframe(1)):
        for name, value in holdings(frame):
            if value is x:
                return name, absolute(frame.f_code), assigned(frame, name)[0]
    return None, None, None


def name_of_root(x: Any) -> tuple[str | None, str | None, int | None]:
    """The same for an array or the one that it is a view of; the name that holds a view of the same memory comes last."""
    base = getattr(x, "base", None)
    beside = None
    for frame in user_frames(sys._getframe(1)):
        for name, value in holdings(frame):
            if value is x or (base is not None and value is base):
                return name, absolute(frame.f_code), assigned(frame, name)[0]
            if base is not None and getattr(value, "base", None) is base and beside is None:
                beside = name, absolute(frame.f_code), assigned(frame, name)[0]
    return beside or (None, None, None)


def series_in_sight(column: np.ndarray) -> tuple[str, str, int | None] | None:
    """(name, file, line of its assignment) of a one-dimensional array that the person holds and that these values are a stretch of."""
    middle = len(column) // 2
    stretch = column[middle : middle + 6].astype(np.float32)
    for frame in user_frames(sys._getframe(1)):
        for name, value in holdings(frame):
            if len(getattr(value, "shape", ())) != 1 or len(value) < len(column) or getattr(value, "dtype", np.dtype("O")).kind not in "fiu":
                continue
            values = np.asarray(value, np.float32)
            for at in np.flatnonzero(values[: len(values) - 5] == stretch[0])[:200]:
                if np.array_equal(values[at : at + 6], stretch):
                    return name, absolute(frame.f_code), assigned(frame, name)[0]
    return None


def name_of_any(thing: Any) -> tuple[str | None, str | None, int | None]:
    """The same for an object of any kind."""
    for frame in user_frames(sys._getframe(1)):
        for name, value in list(frame.f_locals.items())[:MOST_NAMES]:
            if value is thing:
                return name, absolute(frame.f_code), assigned(frame, name)[0]
    return None, None, None


def holdings(frame: FrameType) -> Iterator[tuple[str, Any]]:
    """Names and arrays of a frame, those in its dictionaries and plain objects one level down included."""
    for name, value in list(frame.f_locals.items())[:MOST_NAMES]:
        if name.startswith("__"):
            continue
        if is_array(value):
            yield name, value
        elif isinstance(value, dict) and len(value) <= 40:
            yield from ((f"{name}.{k}", v) for k, v in list(value.items()) if is_array(v))
        elif is_users(getattr(sys.modules.get(type(value).__module__), "__file__", None) or "<") and hasattr(value, "__dict__"):
            yield from ((f"{name}.{k}", v) for k, v in list(vars(value).items())[:40] if is_array(v))


def is_array(value: Any) -> bool:
    """An array, tensor, frame or series."""
    kind = "" if isinstance(value, type) else type(value).__module__.partition(".")[0]
    return kind in ("numpy", "pandas", "polars", "torch", "scipy") and hasattr(value, "shape") and len(getattr(value, "shape", ())) > 0


def assigned(frame: FrameType, name: str) -> tuple[int | None, ast.AST | None]:
    """The last line up to the present one that gives the name its value in this frame's function, and the statement."""
    code = frame.f_code
    return assignment(absolute(code), name.partition(".")[0], frame.f_lineno, code.co_firstlineno if code.co_name != "<module>" else 0)


def assignment(file: str, name: str, before: int, function: int = 0) -> tuple[int | None, ast.AST | None]:
    """The last assignment of a name up to a line, in the function that begins on line `function` (0: the module's own code)."""
    best: tuple[int | None, ast.AST | None] = (None, None)
    for line, target, node, scope in _assignments(file):
        if target == name and scope == function and (best[0] is None or line <= before):
            if best[0] is None or line >= best[0] or best[0] > before:
                best = (line, node)
    return best


@functools.lru_cache(maxsize=64)
def _assignments(file: str) -> list[tuple[int, str, ast.AST, int]]:
    """(line, name, statement, first line of the function it is in) for all assignments of a file."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return []
    found: list[tuple[int, str, ast.AST, int]] = []

    def walk(node: ast.AST, scope: int) -> None:
        for child in ast.iter_child_nodes(node):
            inner = scope
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                inner = min([child.lineno, *(d.lineno for d in child.decorator_list)])
            elif isinstance(child, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.With, ast.NamedExpr, ast.comprehension)):
                found.extend((getattr(child, "lineno", child_line(child)), n, child, scope) for n in _targets(child))
            walk(child, inner)

    walk(tree, 0)
    return found


def child_line(node: ast.AST) -> int:
    """The line of a node that has none of its own."""
    return next((n.lineno for n in ast.walk(node) if hasattr(n, "lineno")), 0)


def _targets(node: Any) -> list[str]:
    """The plain names that a statement gives values to; `self.x = ..` counts as self."""
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.With):
        targets = [i.optional_vars for i in node.items if i.optional_vars is not None]
    else:
        targets = [node.target]
    names = []
    for target in targets:
        for part in ast.walk(target):
            if isinstance(part, ast.Name):
                names.append(part.id)
    return names


def cut_at(x: Any, positions: np.ndarray | None = None) -> dict[str, Any] | None:
    """Where the person cut the part `x`: the name that holds it (or its index, or its positions in the whole), and the line."""
    shape = shape_of(x)
    for frame in user_frames(sys._getframe(1)):
        for name, value in holdings_and_lists(frame):
            if value is x or _same_part(value, x, shape) or (positions is not None and _is_index(value, positions)):
                line, _ = assigned(frame, name)
                if line is not None:
                    return {"name": name, "file": absolute(frame.f_code), "line": line}
    return None


def numbers_at(rows: np.ndarray) -> dict[str, Any] | None:
    """Where the person's frames hold just these row numbers by a name, as `cut_at` tells it; a comprehension's own names say nothing."""
    for frame in user_frames(sys._getframe(1)):
        if frame.f_code.co_name in ("<listcomp>", "<genexpr>", "<dictcomp>"):
            continue
        for name, value in holdings_and_lists(frame):
            held = array_of(value) if shape_of(value) == rows.shape else None
            if held is not None and np.array_equal(held, rows) and (line := assigned(frame, name)[0]) is not None:
                return {"name": name, "file": absolute(frame.f_code), "line": line}
    return None


def holdings_and_lists(frame: FrameType) -> Iterator[tuple[str, Any]]:
    """Arrays by name, and lists, which may be row numbers."""
    yield from holdings(frame)
    for name, value in list(frame.f_locals.items())[:MOST_NAMES]:
        if isinstance(value, list) and not name.startswith("__"):
            yield name, value


def _same_part(value: Any, x: Any, shape: tuple[int, ...] | None) -> bool:
    """Is `x` some columns of the frame that the name holds, or its values?"""
    if shape is None or shape_of(value) is None or shape_of(value)[0] != shape[0]:  # type: ignore[index]
        return False
    if getattr(x, "base", None) is not None and getattr(value, "base", None) is x.base and shape_of(value) == shape:
        return bool(np.shares_memory(value, x, max_work=1000)) if isinstance(value, np.ndarray) and isinstance(x, np.ndarray) else False
    mine, theirs = getattr(x, "index", None), getattr(value, "index", None)
    if hasattr(mine, "equals") and hasattr(theirs, "equals"):
        return bool(mine is theirs or mine.equals(theirs)) and not _is_range(mine)
    return False


def _is_range(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex" and index.start == 0


def _is_index(value: Any, positions: np.ndarray) -> bool:
    if isinstance(value, list):
        value = np.array(value) if len(value) == len(positions) and value and type(value[0]) is int else None
    if not isinstance(value, np.ndarray) or value.ndim != 1:
        return False
    if value.dtype == bool:
        return int(value.sum()) == len(positions) and np.array_equal(np.flatnonzero(value), positions)
    return value.dtype.kind in "iu" and len(value) == len(positions) and np.array_equal(value, positions)
