"""A crash is evidence: the exception taken apart, with the operands of the failing line and where each came from."""

from __future__ import annotations

import ast
import linecache
import re
from types import FrameType, TracebackType
from typing import Any

from . import features, layers
from .operands import MISSING, describe, failing, holds_data, is_module, operands
from .origin import absolute, is_users
from .provenance import Made, Stops, made, named_in, stops_of
from .recorder import Recorder

MOST_FRAMES = 8
TRACED = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')


def tell(recorder: Recorder, error: BaseException, **more: Any) -> None:
    """Record an uncaught exception; never fails."""
    if isinstance(error, (SystemExit, KeyboardInterrupt, GeneratorExit)):
        return
    busy, recorder.busy.on = getattr(recorder.busy, "on", False), True
    try:
        told = {**taken_apart(error), **more}
        for witness in recorder.at_crash:
            told.update(_asked(recorder, witness, error, told))
        at = told["frames"][0] if told["frames"] else (None, None)
        recorder.fact("crash", told, file=at[0], line=at[1])
    except Exception as ours:
        recorder.own_error("crash", ours)
        recorder.fact("crash", {"type": type(error).__name__, "message": str(error)[:2000], "frames": []})
    finally:
        recorder.busy.on = busy


def _asked(recorder: Recorder, witness: Any, error: BaseException, told: dict[str, Any]) -> dict[str, Any]:
    try:
        return witness(error, told) or {}
    except Exception as ours:
        recorder.own_error("crash", ours, turn_off=False)
        return {}


def taken_apart(error: BaseException) -> dict[str, Any]:
    """Type, message, the person's frames, the failing expression, its operands and their lines, and the layer that was at work."""
    first = origin_of(error)
    stops = stops_of(first.__traceback__)
    told: dict[str, Any] = {"type": type(first).__name__, "message": str(first)[:4000], "library": raised_in(stops)}
    if first is not error:
        told["raised"] = {"type": type(error).__name__, "message": str(error)[:4000]}  # what the person saw last
    users = [f for f in stops if is_users(f.f_code.co_filename)]
    told["frames"] = [[absolute(f.f_code), stops[f][0], f.f_code.co_name] for f in reversed(users)][:MOST_FRAMES] or traced(str(first))
    if users:
        told.update(expression(first.__traceback__, users[-1], stops))
    told["inner"] = inner(stops)
    layer = layers.failing(stops)
    if layer is not None:
        told["layer"] = layer
    expected = features.told(stops)
    if expected is not None:
        told["features"] = expected
    return told


def origin_of(error: BaseException) -> BaseException:
    """The exception that began it: the explicit cause, where it has a frame of the person's."""
    seen = {id(error)}
    while (
        error.__cause__ is not None and id(error.__cause__) not in seen and any(is_users(f.f_code.co_filename) for f in stops_of(error.__cause__.__traceback__))
    ):
        error = error.__cause__
        seen.add(id(error))
    return error


def raised_in(stops: Stops) -> str:
    """The top-level package of the frame that raised: '' for the person's own code."""
    last = next(reversed(stops), None)
    if last is None or is_users(last.f_code.co_filename):
        return ""
    return str(last.f_globals.get("__name__", "")).partition(".")[0]


def traced(message: str) -> list[list[Any]]:
    """The person's frames of a traceback that another process sent as text, innermost first."""
    found = [[file, int(line), function] for file, line, function in TRACED.findall(message) if is_users(file)]
    return found[::-1][:MOST_FRAMES]


def expression(tb: TracebackType | None, frame: FrameType, stops: Stops) -> dict[str, Any]:
    """The failing expression of the person's innermost frame with its operands."""
    while tb is not None and tb.tb_frame is not frame:
        tb = tb.tb_next
    node = failing(tb) if tb is not None else None
    if node is None:
        return {"text": linecache.getline(frame.f_code.co_filename, stops[frame][0]).strip()}
    text = ast.unparse(node) if isinstance(node, ast.expr) else linecache.getline(frame.f_code.co_filename, node.lineno).strip()
    return {"text": text[:400], "operands": [told(frame, name, value, stops) for name, value in operands(frame, node)]}


def told(frame: FrameType, name: str, value: Any, stops: Stops) -> dict[str, Any]:
    """An operand, the lines that it came through, and the tables and arrays that those lines read."""
    steps = made(frame, ast.parse(name, mode="eval").body, stops)
    result = {**describe(name, value), "made": [s.as_dict() for s in steps]}
    sources = sourced(steps)
    if sources:
        result["from"] = [describe(n, v) for n, v in sources]
    return result


def sourced(steps: list[Made], most: int = 4) -> list[tuple[str, Any]]:
    """The data that a value was made of, as far as it is still there by name."""
    found: dict[str, Any] = {}
    for step in steps:
        for name, value in named_in(step):
            if holds_data(value) and not is_module(value):
                found.setdefault(name, value)
    return list(found.items())[:most]


def inner(stops: Stops) -> dict[str, Any]:
    """The function of the library that raised and the arrays it was given."""
    frames = [f for f in stops if not is_users(f.f_code.co_filename)]
    if not frames:
        return {}
    frame = frames[-1]
    count = frame.f_code.co_argcount + frame.f_code.co_kwonlyargcount
    given = [(n, frame.f_locals.get(n, MISSING)) for n in frame.f_code.co_varnames[:count]]
    return {"function": frame.f_code.co_name, "given": [describe(n, v) for n, v in given if holds_data(v)][:4]}
