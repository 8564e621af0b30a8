"""Break: stop in the debugger, in the person's frame, when a check finds something, an expression holds, or an exception ends the program.

A check is asked again as evidence for it comes in; what it needs is kept here besides. An expression (`loss > 10`) is looked at after each line of the
person's own code whose names it has. Both stop once. In several processes only the rank asked for stops.
"""

from __future__ import annotations

import os
import pdb
import sys
from collections import defaultdict
from types import CodeType, FrameType, TracebackType
from typing import Any

import numpy as np

from ..capture.origin import is_users, user_frame
from ..capture.recorder import Recorder
from ..catalogue import Check
from ..checks import catalogue
from ..events import Fact, Series
from ..places import NOWHERE, Place
from ..runs import Run
from ..stops import compiled

ERROR = "error"
BREAK, PORT, RANK = "SABUESO_BREAK", "SABUESO_DEBUGPY", "SABUESO_BREAK_RANK"
DENSE = 64  # points up to which a check is asked again at each; later at every power of two


class Breaking:
    """What stops one process: `wanted` are names of checks, `error`, or an expression."""

    def __init__(self, recorder: Recorder, port: int | None = None) -> None:
        self.recorder, self.port = recorder, port
        self.checks: dict[str, Check] = {}
        self.expression: CodeType | None = None
        self.text = ""
        self.facts: list[Fact] = []
        self.numbers: dict[int, tuple[str, Place]] = {}
        self.values: dict[int, tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
        self.asking = self.done = False

    # ---- what is asked for

    def on(self, wanted: str) -> None:
        """Stop for a check's name, `error`, or an expression. Raises UsageError where it is none of these."""
        if wanted == ERROR:
            self.on_error()
        elif wanted in (known := catalogue()):
            if not self.checks:
                self.listen()
            self.checks[wanted] = known[wanted]
        else:
            self.expression, self.text = compiled(wanted), wanted
            sys.settrace(self.called)
            frame = sys._getframe(1)
            while frame is not None:
                frame.f_trace = self.traced if is_users(frame.f_code.co_filename) else None
                frame = frame.f_back  # type: ignore[assignment]

    def listen(self) -> None:
        """Hear what the recorder is told."""
        recorder = self.recorder
        fact, series, points = recorder.fact, recorder.series, recorder.points

        def told(name: str, value: dict[str, Any], place: Place | None = None, **parts: Any) -> None:
            fact(name, value, place, **parts)
            self.facts.append(Fact(name, value, recorder.here(place, **parts), len(self.facts), os.getpid()))
            self.ask(name)

        def defined(name: str, place: Place = NOWHERE) -> int | None:
            number = series(name, place)
            if number is not None:
                self.numbers[number] = name, place
            return number

        def put(step: int, pairs: list[tuple[int, float]]) -> None:
            points(step, pairs)
            for number, value in pairs:
                self.values[number][0].append(step)
                self.values[number][1].append(value)
                count = len(self.values[number][0])
                if number in self.numbers and (value != value or count <= DENSE or count & (count - 1) == 0):
                    self.ask(self.numbers[number][0])

        recorder.fact, recorder.series, recorder.points = told, defined, put  # type: ignore[method-assign]

    def on_error(self) -> None:
        """After the traceback of an exception that ends the program."""
        before = sys.excepthook

        def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
            before(kind, error, trace)
            if not isinstance(error, KeyboardInterrupt) and trace is not None and self.mine():
                self.after_error(error, upto_users(trace))

        sys.excepthook = hook

    # ---- when to stop

    def mine(self) -> bool:
        """Is this the process that stops?"""
        return os.environ.get("RANK", "0") == os.environ.get(RANK, "0") and not self.done

    def ask(self, name: str) -> None:
        """A check that needs this evidence is asked again."""
        if self.asking or not self.mine():
            return
        self.asking = True
        try:
            run = Run({}, self.facts, [self.kept(n) for n in self.numbers if n in self.values])
            for check in self.checks.values():
                if name in check.needs + check.uses and not check.missing(run):
                    found = [f for f in check.ask(run) if f.severity != "note"]
                    if found:
                        self.stop(user_frame(sys._getframe(1)), f"{check.name}: {found[0].says}")
                        return
        except Exception as error:
            self.recorder.own_error("break", error)
        finally:
            self.asking = False

    def kept(self, number: int) -> Series:
        (name, place), (steps, values) = self.numbers[number], self.values[number]
        return Series(name, place, np.array(steps), np.array(values), os.getpid())

    def called(self, frame: FrameType, event: str, _: Any) -> Any:
        """A function is entered: the person's own are looked at line by line."""
        return self.traced if not self.done and is_users(frame.f_code.co_filename) else None

    def traced(self, frame: FrameType, event: str, _: Any) -> Any:
        """A line of the person's is about to run: does the expression hold?"""
        if self.done or self.expression is None or not self.mine():
            return None
        known = frame.f_locals
        if event == "line" and all(n in known or n in frame.f_globals or n in BUILTINS for n in self.expression.co_names):
            try:
                holds = bool(eval(self.expression, frame.f_globals, known))  # the person's own words, in their own frame
            except Exception:
                holds = False
            if holds:
                debugger = self.stop(frame, self.text)
                return debugger.trace_dispatch(frame, event, None) if debugger is not None else frame.f_trace  # at this very line
        return self.traced

    # ---- the stop itself

    def stop(self, frame: FrameType | None, why: str) -> pdb.Pdb | None:
        """The debugger at the next line of that frame; pdb is given back."""
        if frame is None:
            return None
        self.done = True
        sys.stderr.write(f"sabueso: stopped at {os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno} for {why}\n")
        sys.stderr.flush()
        if self.port is not None:
            attach(self.port, frame)
            return None
        debugger, held = pdb.Pdb(nosigint=True), frame
        debugger.reset()
        while held is not None:
            held.f_trace = debugger.trace_dispatch
            debugger.botframe = held
            held = held.f_back  # type: ignore[assignment]
        debugger.set_next(frame)
        sys.settrace(debugger.trace_dispatch)
        return debugger

    def after_error(self, error: BaseException, trace: TracebackType) -> None:
        """Post mortem, in the person's frame."""
        self.done = True
        sys.stderr.write(f"sabueso: stopped for {type(error).__name__}\n")
        if self.port is not None:
            attach(self.port, trace.tb_frame)
            return
        debugger = pdb.Pdb(nosigint=True)
        debugger.reset()
        debugger.interaction(None, trace)


def attach(port: int, frame: FrameType) -> None:
    """Wait for VS Code or PyCharm on the loopback, and stop in that frame."""
    import debugpy

    kept = {n: os.environ.pop(n) for n in (BREAK, "SABUESO_RUN") if n in os.environ}  # debugpy's own process is none of the program's
    debugpy.listen(("127.0.0.1", port))
    os.environ.update(kept)
    sys.stderr.write(f"sabueso: waiting for a debugger on 127.0.0.1:{port}\n")
    sys.stderr.flush()
    debugpy.wait_for_client()
    import pydevd  # debugpy's own; it brings it on the path

    pydevd.settrace(suspend=True, trace_only_current_thread=True, patch_multiprocessing=False, stop_at_frame=frame)


BUILTINS = frozenset(dir(__builtins__) if not isinstance(__builtins__, dict) else __builtins__)


def upto_users(trace: TracebackType) -> TracebackType:
    """A traceback that ends with the person's innermost frame."""
    chain: list[TracebackType] = []
    held: TracebackType | None = trace
    while held is not None:
        chain.append(held)
        held = held.tb_next
    last = max((i for i, t in enumerate(chain) if is_users(t.tb_frame.f_code.co_filename)), default=len(chain) - 1)
    kept: TracebackType | None = None
    for t in reversed(chain[: last + 1]):
        kept = TracebackType(kept, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return kept or trace


def of(recorder: Recorder) -> Breaking:
    """The recorder's, made at the first call."""
    held = recorder.shared.get("breaking")
    if held is None:
        port = os.environ.get(PORT)
        held = recorder.shared["breaking"] = Breaking(recorder, int(port) if port else None)
    return held  # type: ignore[no-any-return]
