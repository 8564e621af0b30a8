"""Provenance: where the value of a name came from, by the text of the functions that are being run."""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any

from .operands import MISSING, at_instruction, on_line, parsed, rooted, tree_of, value_of
from .origin import absolute, is_users

LOOPS = (ast.For, ast.AsyncFor, ast.While)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
MOST_HOPS = 6


@dataclass(frozen=True, slots=True)
class Made:
    """The line that made a value, its right-hand side, the frame it ran in, and whether it runs anew in each turn of the failing loop."""

    file: str
    line: int
    text: str
    frame: FrameType
    source: ast.expr | None
    each_turn: bool

    def as_dict(self) -> dict[str, Any]:
        return {"file": self.file, "line": self.line, "text": self.text, "each_turn": self.each_turn}


Stops = dict[FrameType, tuple[int, int]]  # (line, instruction) at which each frame of a traceback stands


def stops_of(tb: TracebackType | None) -> Stops:
    """Where the frames of a traceback stood when the exception passed: what the frames say themselves is where they were left."""
    found: Stops = {}
    while tb is not None:
        found[tb.tb_frame] = (tb.tb_lineno, tb.tb_lasti)
        tb = tb.tb_next
    return found


def made(frame: FrameType, name: ast.AST, stops: Stops) -> list[Made]:
    """The lines that a name's value came through, nearest first: the assignment in its function, the caller's where it is a parameter."""
    chain: list[Made] = []
    node: ast.AST | None = name
    here: FrameType | None = frame
    at = stops.get(frame, (frame.f_lineno, 0))[0]
    while node is not None and here is not None and len(chain) < MOST_HOPS:
        step = _assignment(here, node, at)
        if step is not None:
            chain.append(step)
            inner = step.source
            node = inner if inner is not None and rooted(inner) and not _same(inner, node) else None
            at = step.line
            continue
        node, here = _argument(here, node, stops)
        at = stops.get(here, (here.f_lineno, 0))[0] if here is not None else 0
    return chain


def named_in(step: Made) -> list[tuple[str, Any]]:
    """(name, value) of what a line's right-hand side reads, as the values are now."""
    found = []
    for node in ast.walk(step.source) if step.source is not None else ():
        if isinstance(node, (ast.Name, ast.Attribute)) and rooted(node):
            value = value_of(step.frame, node)
            if value is not MISSING:
                found.append((ast.unparse(node), value))
    return found


def function_of(frame: FrameType) -> ast.AST | None:
    """The syntax node of the function (or module) that a frame runs."""
    tree = tree_of(frame.f_code)
    if tree is None or frame.f_code.co_name == "<module>":
        return tree
    first = frame.f_code.co_firstlineno
    for node in on_line(tree, first):
        if isinstance(node, FUNCTIONS) and getattr(node, "name", "<lambda>") == frame.f_code.co_name:
            starts = {node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))}
            if first in starts:
                return node
    return None


def statements(function: ast.AST) -> list[tuple[ast.stmt, tuple[ast.AST, ...]]]:
    """Every statement of a function with the loops that it stands in; inner functions and classes are left out."""
    found: list[tuple[ast.stmt, tuple[ast.AST, ...]]] = []

    def walk(body: list[ast.stmt], loops: tuple[ast.AST, ...]) -> None:
        for s in body:
            found.append((s, loops))
            if isinstance(s, (*FUNCTIONS, ast.ClassDef)):
                continue
            inside = (*loops, s) if isinstance(s, LOOPS) else loops
            for part in ("body", "orelse", "finalbody"):
                walk(getattr(s, part, []) or [], inside)
            for handler in [*getattr(s, "handlers", []), *getattr(s, "cases", [])]:
                walk(handler.body, inside)

    walk(getattr(function, "body", []) if isinstance(getattr(function, "body", None), list) else [], ())
    return found


def loops_at(function: ast.AST, line: int) -> tuple[ast.AST, ...]:
    """The loops round a line, outermost first."""
    best: tuple[ast.AST, ...] = ()
    for s, loops in statements(function):
        if s.lineno <= line <= (s.end_lineno or s.lineno) and len(loops) >= len(best):
            best = loops
    return best


def _assignment(frame: FrameType, node: ast.AST, line: int) -> Made | None:
    """The last statement before a line that binds the name in the frame's function, its module, or, for an attribute of self, its class."""
    if not is_users(frame.f_code.co_filename):
        return None
    scope = function_of(frame)
    if isinstance(node, ast.Attribute):
        owner = value_of(frame, node.value)
        return _last(frame, _class_of(frame, owner), node, None) or (_last(frame, scope, node, line) if scope is not None else None)
    root: ast.AST = node
    while isinstance(root, (ast.Subscript, ast.Attribute)):
        root = root.value
    if scope is None or not isinstance(root, ast.Name):
        return None
    found = _last(frame, scope, node, line) or (_last(frame, scope, root, line) if root is not node else None)
    if found is None and root.id not in frame.f_locals and frame.f_code.co_name != "<module>":
        tree = parsed(frame.f_code.co_filename)
        return _last(frame, tree, root, None) if tree is not None else None
    return found


def _last(frame: FrameType, scope: ast.AST | None, node: ast.AST, line: int | None) -> Made | None:
    if scope is None:
        return None
    text, best = ast.unparse(node), None
    for s, loops in statements(scope) if not isinstance(scope, ast.ClassDef) else _methods(scope):
        running = line is not None and (s.end_lineno or s.lineno) >= line and not hasattr(s, "body")  # the failing statement has bound nothing
        if line is not None and (s.lineno > line or running):
            continue
        source = _binds(s, text)
        if source is not MISSING:
            best = (s, source, loops + ((s,) if isinstance(s, LOOPS) else ()))
    if best is None:
        return None
    s, source, loops = best
    around = loops_at(scope, line) if line is not None else ()
    text = linecache.getline(frame.f_code.co_filename, s.lineno).strip()
    return Made(absolute(frame.f_code), s.lineno, text, frame, source, bool(around) and around[-1] in loops)


def _methods(scope: ast.ClassDef) -> list[tuple[ast.stmt, tuple[ast.AST, ...]]]:
    return [pair for f in scope.body if isinstance(f, FUNCTIONS) for pair in statements(f)]


def _class_of(frame: FrameType, owner: Any) -> ast.AST | None:
    """The class statement of an object in the frame's file."""
    tree = parsed(frame.f_code.co_filename)
    names = {c.__name__ for c in type(owner).__mro__} if owner is not MISSING else set()
    return next((n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name in names), None) if tree is not None else None


def _binds(s: ast.stmt, text: str) -> Any:
    """The expression that a statement binds to a name; MISSING if it doesn't bind it."""
    if isinstance(s, ast.Assign):
        for target in s.targets:
            if _bound(target, text):
                return _paired(target, s.value, text)
    elif isinstance(s, (ast.AnnAssign, ast.AugAssign)) and _bound(s.target, text) and s.value is not None:
        return s.value
    elif isinstance(s, (ast.For, ast.AsyncFor)) and _bound(s.target, text):
        return s.iter
    elif isinstance(s, (ast.With, ast.AsyncWith)):
        for i in s.items:
            if i.optional_vars is not None and _bound(i.optional_vars, text):
                return i.context_expr
    return MISSING


def _bound(target: ast.AST, text: str) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return any(_bound(t, text) for t in target.elts)
    if isinstance(target, ast.Starred):
        return _bound(target.value, text)
    return ast.unparse(target) == text


def _paired(target: ast.AST, value: ast.expr, text: str) -> ast.expr:
    """In `a, b = f(x), g(y)` the one expression that belongs to the name."""
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)) and len(target.elts) == len(value.elts):
        return next((v for t, v in zip(target.elts, value.elts) if _bound(t, text)), value)
    return value


def _argument(frame: FrameType, node: ast.AST, stops: Stops) -> tuple[ast.AST | None, FrameType | None]:
    """A parameter's expression in the call that made the frame, and the caller's frame."""
    root, caller = node, frame.f_back
    while isinstance(root, (ast.Attribute, ast.Subscript)):
        root = root.value
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    while caller is not None and not is_users(caller.f_code.co_filename):
        caller = caller.f_back  # a library between the two: model(x) -> forward(x)
    if not isinstance(root, ast.Name) or root.id not in names or caller is None:
        return None, None
    call = at_instruction(caller, stops.get(caller, (0, caller.f_lasti))[1])
    if not isinstance(call, ast.Call):
        return None, None
    given: ast.AST | None = next((k.value for k in call.keywords if k.arg == root.id), None)
    place = names.index(root.id) - (1 if names and names[0] in ("self", "cls") else 0)
    if given is None and 0 <= place < len(call.args):
        given = call.args[place]
    return (given, caller) if given is not None and rooted(given) else (None, None)


def _same(a: ast.AST, b: ast.AST) -> bool:
    return ast.unparse(a) == ast.unparse(b)
