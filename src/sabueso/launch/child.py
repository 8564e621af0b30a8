"""In the watched program: capture wakes before its first line runs."""

from __future__ import annotations

import atexit
import os
import sys

from ..adapters import Waker
from ..capture import crash, traces
from ..capture.recorder import Recorder
from ..capture.sampler import Sampler
from ..replay.zoom import Zoom

active: Recorder | None = None  # the recorder of this process, for `sabueso.watch` and the pytest plugin


def wake(folder: str, root: str) -> None:
    """Record into the run folder for the life of this process. `root` is where our package lies, for the imports that come later."""
    global active
    if active is not None:
        return
    wanted = os.environ.get("SABUESO_WANTED")
    recorder = Recorder(folder, frozenset(wanted.split(",")) if wanted else None, float(os.environ.get("SABUESO_BUDGET", "0.01")))
    if recorder.failed:
        return
    active = recorder
    if root not in sys.path and not _installed(root):
        sys.path.append(root)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=recorder.forked)
    recorder.shared["zoom"] = Zoom(recorder)
    traces.watch_exceptions(lambda error: uncaught(recorder, error))
    recorder.at_exit(lambda: uncaught(recorder, getattr(sys, "last_value", None)))
    waker(recorder).start()
    Sampler(recorder).start()
    atexit.register(recorder.at_exit)
    if any(name in os.environ for name in ("SABUESO_BREAK", "SABUESO_ISOLATE")):
        probe(recorder)


def probe(recorder: Recorder) -> None:
    """What a person asked for besides: to stop in the debugger, or to end behind a stage."""
    if "SABUESO_ISOLATE" in os.environ:
        from .slicing import end_behind

        end_behind(recorder, os.environ["SABUESO_ISOLATE"])
    if "SABUESO_BREAK" in os.environ:
        from . import breaking

        breaking.of(recorder).on(os.environ["SABUESO_BREAK"])


def breakpoint_on(name: str) -> None:
    """Stop in the debugger when a check finds something, an expression such as "loss > 10" holds, or (`error`) an exception ends the program.

    Under `sabueso run` or `sabueso.watch()`; without them it does nothing. Raises UsageError for what is none of these.
    """
    if active is not None:
        from . import breaking

        breaking.of(active).on(name)


def waker(recorder: Recorder) -> Waker:
    """What wakes adapters; in a run of `sabueso confirm` it changes one thing besides."""
    if "SABUESO_CHANGE" not in os.environ and "SABUESO_ROWS" not in os.environ:
        return Waker(recorder)
    from ..replay.change import asked
    from .changing import Changing

    change = asked(str(recorder.folder))
    return Changing(recorder, change) if change is not None else Waker(recorder)


def uncaught(recorder: Recorder, error: BaseException | None) -> None:
    """Tell an exception that ended the program, once."""
    if error is not None and recorder.once("uncaught", id(error)):
        crash.tell(recorder, error)


def start(folder: str, budget: float) -> Waker:
    """Record in this process until `stop` (for `sabueso.watch`)."""
    global active
    active = Recorder(folder, None, budget)
    active.shared["zoom"] = Zoom(active)
    waker = Waker(active)
    waker.start()
    Sampler(active).start()
    return waker


def told(error: BaseException) -> None:
    """An exception leaves a watched block."""
    if active is not None:
        crash.tell(active, error)


def stop(waker: Waker) -> None:
    """Say the last words and take every hook out."""
    global active
    if active is not None:
        active.at_exit()
    waker.undo()
    active = None


def _installed(root: str) -> bool:
    """Could `import sabueso` be answered without us?"""
    return any(os.path.isdir(os.path.join(p, "sabueso")) for p in sys.path if p) or os.path.basename(root) == "site-packages"
