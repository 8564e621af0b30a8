"""The person's line for a hook in a hot path: found by walking frames, made into a path only when it is recorded."""

from __future__ import annotations

import ast
import os
import sys
from types import CodeType
from typing import Any, NamedTuple

from ...capture.operands import parsed
from ...capture.origin import is_users, known

MOST_HELD = 64  # members of a container that are looked through
DRAWS = frozenset({"randn", "rand", "normal", "uniform", "standard_normal", "random", "random_sample", "randn_like", "rand_like"})


class Line(NamedTuple):
    """A line of the person's code, unresolved."""

    code: CodeType
    line: int

    def __hash__(self) -> int:
        """By the line alone: a code object hashes all its constants and names anew each time."""
        return self.line

    @property
    def place(self) -> dict[str, object]:
        """`file` and `line` as parts of a place."""
        return {"file": os.path.abspath(self.code.co_filename), "line": self.line}

    @property
    def told(self) -> list[object]:
        """[file, line] as a fact holds it."""
        return [os.path.abspath(self.code.co_filename), self.line]


def here(skip: int = 1) -> Line | None:
    """The innermost line of the person's code on the stack."""
    frame = sys._getframe(skip)
    while frame is not None:
        name = frame.f_code.co_filename
        mine = known.get(name)
        if mine or mine is None and is_users(name):
            return Line(frame.f_code, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    return None


def lines(most: int = 4, skip: int = 1) -> list[Line]:
    """The innermost lines of the person's code, one a frame."""
    frame, found = sys._getframe(skip), []
    while frame is not None and len(found) < most:
        if is_users(frame.f_code.co_filename):
            found.append(Line(frame.f_code, frame.f_lineno))
        frame = frame.f_back  # type: ignore[assignment]
    return found


def built_at(owner: object) -> Line | None:
    """The person's line that builds `owner`: the innermost one outside of its own (and its bases') methods."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        own = bool(code.co_argcount) and frame.f_locals.get(code.co_varnames[0]) is owner
        if not own and is_users(code.co_filename):
            return Line(code, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    return None


def by_settings(known: dict[int, Any], keyword: str) -> Line | None:
    """The person's line that gave a setting to the framework that is at work between here and the person's code; `known` by the settings' id."""
    frame = sys._getframe(1) if known else None
    while frame is not None and not is_users(frame.f_code.co_filename):
        held = known.get(id(getattr(frame.f_locals.get("self"), "args", None)))
        if held is not None:
            return Line(held.code, held.keywords.get(keyword, held.line))
        frame = frame.f_back  # type: ignore[assignment]
    return None


def freezing() -> list[Any] | None:
    """The one line of the person's files that sets `requires_grad` to False, which tells nobody; None where there are several or none."""
    found = set()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and is_users(file):
            for node in ast.walk(parsed(file) or ast.Module(body=[], type_ignores=[])):
                set_to, name = (node.value, node.targets[0]) if isinstance(node, ast.Assign) else (None, None)
                if isinstance(node, ast.Call) and node.args:
                    set_to, name = node.args[0], node.func
                if isinstance(set_to, ast.Constant) and set_to.value is False and getattr(name, "attr", "").rstrip("_") == "requires_grad":
                    found.add((os.path.abspath(file), node.lineno))
    return list(found.pop()) if len(found) == 1 else None


def named(value: object, most: int = 3) -> str | None:
    """What the person calls an object: a local or global of the frames that run, or an attribute of one of their `self`."""
    frame = sys._getframe(1)
    while frame is not None and most:
        if is_users(frame.f_code.co_filename):
            most -= 1
            for space in (frame.f_locals, frame.f_globals):
                for name, held in list(space.items()):
                    if held is value and name != "self":
                        return name
            owner = frame.f_locals.get("self")
            own = getattr(owner, "__dict__", {})
            for name, held in [*own.items(), *(own.get("_modules") or {}).items()]:
                if held is value:
                    return name
        frame = frame.f_back  # type: ignore[assignment]
    return None


def held_in(value: object, most: int = 3) -> str | None:
    """What an object is called within a list, tuple, dictionary or plain object of the frames that run (W[0], net.w1)."""
    frame = sys._getframe(1)
    while frame is not None and most:
        if is_users(frame.f_code.co_filename):
            most -= 1
            for name, held in [*frame.f_locals.items(), *frame.f_globals.items()]:
                if type(held) in (list, tuple, dict) and len(held) <= MOST_HELD:
                    items = held.items() if type(held) is dict else enumerate(held)
                    key = next((k for k, v in items if v is value), None)
                    if key is not None:
                        return f"{name}[{key!r}]"
                elif (own := plain(held)) and name != "self":
                    key = next((k for k, v in list(own.items()) if v is value), None)
                    if key is not None:
                        return f"{name}.{key}"
        frame = frame.f_back  # type: ignore[assignment]
    return None


def rebound(value: object, most: int = 6) -> Line | None:
    """The one line in a loop of a running function that gives its name, or that of the container that holds it, a new value."""
    frame = sys._getframe(1)
    while frame is not None and most:
        if is_users(frame.f_code.co_filename):
            most -= 1
            names = [n for n, h in list(frame.f_locals.items()) if h is value or type(h) is dict and any(v is value for v in list(h.values())[:MOST_HELD])]
            loops = [n for n in ast.walk(parsed(frame.f_code.co_filename) or ast.Module(body=[], type_ignores=[])) if isinstance(n, (ast.For, ast.While))]
            own = [loop for loop in loops if loop.lineno >= frame.f_code.co_firstlineno and loop.lineno <= frame.f_lineno <= (loop.end_lineno or 0)]
            found = {n.lineno for loop in own for n in ast.walk(loop) if isinstance(n, ast.Assign) and any(getattr(t, "id", None) in names for t in n.targets)}
            if len(found) == 1:
                return Line(frame.f_code, found.pop())
        frame = frame.f_back  # type: ignore[assignment]
    return None


def plain(held: object) -> dict[str, object] | None:
    """The attributes of an object of a class of the person's own."""
    if type(held) in (int, float, str, bool, type(None)) or isinstance(held, type(sys)):
        return None
    module = sys.modules.get(type(held).__module__)
    file = getattr(module, "__file__", None)
    return getattr(held, "__dict__", None) if isinstance(file, str) and is_users(file) else None


def drawing(name: str) -> tuple[str, int] | None:
    """The one line of the person's files, with its file, that gives a name random numbers; None where there are several or none."""
    found: set[tuple[str, int]] = set()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and is_users(file):
            for node in ast.walk(parsed(file) or ast.Module(body=[], type_ignores=[])):
                if isinstance(node, ast.Assign) and any(getattr(t, "id", getattr(t, "attr", None)) == name for t in node.targets):
                    draws = [c for c in ast.walk(node.value) if isinstance(c, ast.Call) and getattr(c.func, "attr", "").rstrip("_") in DRAWS]
                    found |= {(os.path.abspath(file), c.lineno) for c in draws}
    return found.pop() if len(found) == 1 else None
