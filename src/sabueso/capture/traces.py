"""Tracebacks as they would have been: without frames of ours."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from .origin import OWN


def strip(error: BaseException, seen: set[int] | None = None) -> None:
    """Take our frames out of an exception's traceback, its causes and contexts included."""
    seen = set() if seen is None else seen
    if id(error) in seen:
        return
    seen.add(id(error))
    error.__traceback__ = _without(error.__traceback__)
    for other in (error.__cause__, error.__context__, *getattr(error, "exceptions", ())):
        if isinstance(other, BaseException):
            strip(other, seen)


def _without(tb: TracebackType | None) -> TracebackType | None:
    kept = []
    while tb is not None:
        if not tb.tb_frame.f_code.co_filename.startswith(OWN):
            kept.append(tb)
        tb = tb.tb_next
    for here, following in zip(kept, [*kept[1:], None]):
        here.tb_next = following
    return kept[0] if kept else None


def watch_exceptions(tell: Callable[[BaseException], Any]) -> None:
    """Have `tell` see each uncaught exception before it is printed as ever.

    The `sys.excepthook` in place now is still the one that prints. One that the person sets later replaces ours: then the exception is
    told at the end (`sys.last_value`).
    """
    theirs, thread_theirs = sys.excepthook, threading.excepthook

    def hook(kind: type[BaseException], error: BaseException, tb: TracebackType | None) -> None:
        with contextlib.suppress(Exception):  # whatever fails here, the person sees the traceback
            tell(error)
            strip(error)
        theirs(kind, error, error.__traceback__)

    def thread_hook(args: Any) -> None:
        if args.exc_value is not None:
            strip(args.exc_value)
            args = threading.ExceptHookArgs((args.exc_type, args.exc_value, args.exc_value.__traceback__, args.thread))
        thread_theirs(args)

    sys.excepthook, threading.excepthook = hook, thread_hook
