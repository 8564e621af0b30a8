"""The person's line for a hook in a hot path: found by walking frames, made into a path only when it is recorded."""

from __future__ import annotations

import os
import sys
from types import CodeType
from typing import NamedTuple

from ...capture.origin import is_users, known


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
            for name, held in list(getattr(owner, "__dict__", {}).items()):
                if held is value:
                    return name
        frame = frame.f_back  # type: ignore[assignment]
    return None
