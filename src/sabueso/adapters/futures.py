"""concurrent.futures: in which order results are taken that are then put together in that order."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from typing import Any

from ..capture.around import Patches
from ..capture.operands import parsed
from ..capture.origin import user_line
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("concurrent.futures",)
PROVIDES = ("completion_order",)
FEWEST = 4  # futures: with fewer, the order may be as given by chance
MOST = 20_000
JOINS = frozenset({"concatenate", "stack", "vstack", "hstack", "cat", "concat", "array", "asarray", "tensor", "DataFrame", "column_stack", "extend"})


class Orders:
    """The calls of as_completed whose results are gathered as they come."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.calls: list[tuple[dict[str, Any], list[int], int]] = []

    def asked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """as_completed is called: note the order in which the futures end, if what they give is put together in that order."""
        futures = args[0] if args else kwargs.get("fs")
        if not isinstance(futures, (list, tuple)) or not FEWEST <= len(futures) <= MOST or len(self.calls) > 8:
            return
        file, line = user_line(sys._getframe(1))
        name = gathered(file, line)
        if name is None:
            return
        ended: list[int] = []
        for number, future in enumerate(futures):
            future.add_done_callback(lambda _, n=number: ended.append(n))
        self.calls.append(({"name": name, "file": file, "line": line}, ended, len(futures)))

    def last_words(self) -> None:
        for place, ended, count in self.calls:
            moved = sum(1 for a, b in zip(ended, sorted(ended)) if a != b)
            value = {"name": place["name"], "futures": count, "moved": moved, "order": ended[:12]}
            self.recorder.fact("completion_order", value, file=place["file"], line=place["line"])


def gathered(file: str | None, line: int | None) -> str | None:
    """The name under which results are gathered as they come and later put together; None where they are put back in order."""
    tree = parsed(file) if file else None
    if tree is None:
        return None
    for scope in reversed([n for n in ast.walk(tree) if isinstance(n, (ast.Module, ast.FunctionDef)) and _holds(n, line)]):
        for node in ast.walk(scope):
            name = _list_of(node, line) or _appended(node, line)
            if name is not None:
                return name if _joined(scope, name) else None
    return None


def _holds(scope: ast.AST, line: int | None) -> bool:
    return isinstance(scope, ast.Module) or bool(line and scope.lineno <= line <= (scope.end_lineno or 0))  # type: ignore[attr-defined]


def _list_of(node: ast.AST, line: int | None) -> str | None:
    """`parts = [f.result() for f in as_completed(..)]`, unless the element looks the future up (`order[f]`)."""
    if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.ListComp) and isinstance(node.targets[0], ast.Name)):
        return None
    made = node.value
    if not (line and node.lineno <= line <= (node.end_lineno or 0)) or not _is_completed(made.generators[0].iter):
        return None
    return node.targets[0].id if not _looks_up(made.elt, made.generators[0].target) else None


def _appended(node: ast.AST, line: int | None) -> str | None:
    """`for f in as_completed(..): parts.append(f.result())`, unless the body looks the future up or sets places by number."""
    if not (isinstance(node, ast.For) and line and node.lineno <= line <= (node.iter.end_lineno or 0) and _is_completed(node.iter)):
        return None
    if any(_looks_up(s, node.target) for s in node.body) or any(isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) for n in ast.walk(node)):
        return None
    for n in ast.walk(node):
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in ("append", "extend") and isinstance(n.func.value, ast.Name):
            return n.func.value.id
    return None


def _is_completed(node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    return getattr(called, "id", getattr(called, "attr", None)) == "as_completed"


def _looks_up(node: ast.AST, target: ast.expr) -> bool:
    name = target.id if isinstance(target, ast.Name) else None
    return any(isinstance(n, ast.Subscript) and any(isinstance(x, ast.Name) and x.id == name for x in ast.walk(n.slice)) for n in ast.walk(node))


def _joined(scope: ast.AST, name: str) -> bool:
    """Is it put together into one array or table, and never sorted?"""
    joined = False
    for node in ast.walk(scope):
        if not isinstance(node, ast.Call):
            continue
        called = getattr(node.func, "id", getattr(node.func, "attr", None))
        inside = any(isinstance(n, ast.Name) and n.id == name for a in [*node.args, *(k.value for k in node.keywords)] for n in ast.walk(a))
        owner = isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id == name
        if (called == "sorted" and inside) or (called == "sort" and owner) or (called == "dict" and inside):
            return False
        joined |= called in JOINS and inside
    return joined


def install(recorder: Recorder) -> Callable[[], None]:
    """Watch as_completed where it is looked up."""
    patches, orders = Patches(), Orders(recorder)
    if not recorder.wants("completion_order"):
        return patches.undo
    asked = guarded("futures", recorder)(orders.asked)
    for name in ("concurrent.futures", "concurrent.futures._base"):
        if name in sys.modules:
            patches.around(sys.modules[name], "as_completed", asked, None)
    recorder.at_exit(orders.last_words)
    return patches.undo
