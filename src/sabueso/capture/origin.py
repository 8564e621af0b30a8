"""The person's own file and line for a call: the innermost frame outside installed packages, the standard library and us."""

from __future__ import annotations

import os
import sys
import sysconfig
from inspect import CO_OPTIMIZED
from types import CodeType, FrameType
from typing import Any

from .standing import locals_of

OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_paths = {sysconfig.get_paths()[k] for k in ("stdlib", "platstdlib", "purelib", "platlib")} | {os.path.dirname(os.__file__)}
INSTALLED = tuple(p + os.sep for p in sorted(_paths | {os.path.realpath(p) for p in _paths}))
known: dict[str, bool] = {}  # what `is_users` has answered; hot paths look here first


def is_users(filename: str) -> bool:
    """Is that file the person's own?"""
    answer = known.get(filename)
    if answer is None:
        name = filename if os.path.isabs(filename) else os.path.abspath(filename)
        answer = known[filename] = not (
            filename.startswith("<")
            or name.startswith(OWN)
            or name.startswith(INSTALLED)
            or f"{os.sep}site-packages{os.sep}" in name
            or f"{os.sep}dist-packages{os.sep}" in name
        )
    return answer


def user_frame(frame: FrameType | None = None) -> FrameType | None:
    """The innermost frame that runs the person's code."""
    f = frame if frame is not None else sys._getframe(1)
    while f is not None and not is_users(f.f_code.co_filename):
        f = f.f_back
    return f


def user_line(frame: FrameType | None = None) -> tuple[str | None, int | None]:
    """(absolute file, line) of the person's call; (None, None) outside of any."""
    f = user_frame(frame if frame is not None else sys._getframe(1))
    return (absolute(f.f_code), f.f_lineno) if f is not None else (None, None)


def absolute(code: CodeType) -> str:
    """A code object's file as an absolute path."""
    return os.path.abspath(code.co_filename)


def names_in(frame: FrameType) -> dict[str, Any]:
    """A copy of the local names of a frame that goes on running.

    Asking a function's frame for `f_locals` leaves a dictionary in it that keeps every local alive until the function returns; so it is
    emptied again, unless the program holds it itself (`locals()`). Proxies (flask.request) are left out: asked for anything, even their
    class, they fail outside of a request.
    """
    held = locals_of(frame)
    names = {k: v for k, v in held.items() if type(v).__name__ != "LocalProxy"}
    if frame.f_code.co_flags & CO_OPTIMIZED and sys.version_info < (3, 13) and sys.getrefcount(held) <= 3:
        held.clear()
    return names
