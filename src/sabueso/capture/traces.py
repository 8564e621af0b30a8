"""Tracebacks as they would have been: without frames of ours."""

from __future__ import annotations

import contextlib
import dis
import linecache
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
    kept: list[TracebackType] = []
    again = None  # code of a function of torch that was asked for through a mode of ours and then runs itself
    while tb is not None:
        code = tb.tb_frame.f_code
        if code.co_filename.startswith(OWN):
            if kept and kept[-1].tb_frame.f_code.co_name == "handle_torch_function":
                kept.pop()
                again = kept.pop() if kept else None
        else:
            if again is not None and again.tb_frame.f_code is not code:
                kept.append(again)
            again = None
            kept.append(tb)
        tb = tb.tb_next
    kept = _called_plainly([*kept, again] if again is not None else kept)
    for here, following in zip(kept, [*kept[1:], None]):
        here.tb_next = following
    return kept[0] if kept else None


def _called_plainly(kept: list[TracebackType]) -> list[TracebackType]:
    """Torch calls a module by a longer way while anybody hooks modules; where nobody but us does, the short one is told."""
    told: list[TracebackType] = []
    for tb in kept:
        before = told[-1] if told else None
        if before is not None and tb.tb_frame.f_code.co_name == "inner" and before.tb_frame.f_code.co_name == "_call_impl":
            told[-1] = _short_way(before) or before
            if told[-1] is not before:
                continue
        told.append(tb)
    return told


def _short_way(tb: TracebackType) -> TracebackType | None:
    """The call of `forward` that stands first in torch's `_call_impl`; None where a hook of the person asks for the long way."""
    frame = tb.tb_frame
    held = [h for n, h in frame.f_globals.items() if n.startswith("_global_") and n.endswith("_hooks") and isinstance(h, dict)]
    held += [getattr(frame.f_locals.get("self"), n, {}) for n in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")]
    if any(not getattr(getattr(hook, "__code__", None), "co_filename", "").startswith(OWN) for hooks in held for hook in hooks.values()):
        return None
    for at in dis.get_instructions(frame.f_code):
        line = at.positions.lineno if at.positions else None
        if at.opname == "CALL_FUNCTION_EX" and line:
            plain = "return forward_call(" in linecache.getline(frame.f_code.co_filename, line)
            return TracebackType(None, frame, at.offset, line) if plain else None
    return None


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
