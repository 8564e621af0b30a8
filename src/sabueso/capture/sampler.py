"""Where the time goes: the main thread's stack, looked at 20 times a second from a thread of ours, and the memory it takes.

Each look is worth the CPU seconds that the main thread used since the last one (so a busy machine does not distort the shares).
Importing is left out. The thread is no `threading.Thread`, so the program does not meet it when it counts its own; it draws no random
number, takes no lock of the program's and imports nothing.
"""

from __future__ import annotations

import _thread
import os
import threading
import time
from collections import defaultdict
from time import perf_counter, sleep
from types import CodeType, FrameType
from typing import Any, NamedTuple

from . import growth, loops
from .origin import absolute, is_users
from .recorder import Recorder
from .standing import frames_of

EVERY = 0.05  # seconds between two looks
MEMORY_EVERY = 0.5
TELL = 1.0  # seconds after which what is known is told the first time; then each time after twice as long
STALLED = 4.0  # seconds at one place with hardly any CPU time, before it is told; then each time after twice as long
MOST_LINES = 12  # told, by CPU seconds
LOOP_CPU = 0.1  # seconds: a line that took so much, in two looks or more, is asked whether it stands in a loop over single elements
WAITING = frozenset({"threading.py", "selectors.py", "queue.py", "connection.py", "popen_fork.py", "socket.py", "subprocess.py"})
BACKWARD = (os.path.join("torch", "autograd", "graph.py"), os.path.join("torch", "autograd", "__init__.py"))
LOADER = os.path.join("torch", "utils", "data", "dataloader.py")
ROWS = (
    os.path.join("pandas", "core", "apply.py"),
    os.path.join("pandas", "core", "frame.py"),
    os.path.join("pandas", "core", "indexing.py"),
)
ROW_CALLS = frozenset({"iterrows", "apply_series_generator", "series_generator", "wrap_results_for_axis"})


class Line(NamedTuple):
    code: CodeType
    line: int


class Spent:
    """CPU seconds at one line: `own` while it was the innermost of the person's lines, `all` with what it called, `train` in training."""

    __slots__ = ("own", "all", "train", "looks", "rows", "fed")

    def __init__(self) -> None:
        self.own = self.all = self.train = self.rows = self.fed = 0.0
        self.looks = 0

    @property
    def hot(self) -> bool:
        return self.all >= LOOP_CPU and self.looks >= 2


class Sampler:
    """`start()` it once a process; `tell()` records what is known so far (cumulative: the last of a process counts)."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.main = threading.main_thread().ident or 0
        self.stopped = False
        self.lines: dict[Line, Spent] = defaultdict(Spent)
        self.loops: dict[Line, dict[str, Any]] = {}
        self.asked: dict[CodeType, int] = {}
        self.cpu = self.importing = self.train = self.loader = self.loader_wait = self.waiting = self.backward = 0.0
        self.looks = 0
        self.cost = 0.0
        self.growth = growth.Growth(recorder)
        self._kinds: dict[CodeType, str] = {}
        self._clock = _cpu_clock(self.main)
        self._began = self._last_wall = perf_counter()
        self._last_cpu = self._clock()
        self._still: tuple[Any, float, float, float] = (None, 0.0, 0.0, STALLED)  # where, since when, CPU then, when to tell
        self._next_tell, self._next_memory = TELL, 0.0

    def start(self) -> None:
        _thread.start_new_thread(self._run, ())
        self.recorder.at_exit(self.stop)

    def stop(self) -> None:
        """The program ends: the last words."""
        if not self.stopped:
            self.stopped = True
            self.tell()

    def _run(self) -> None:
        while not self.stopped and not self.recorder.failed:
            sleep(EVERY)
            began = perf_counter()
            self.recorder.busy.on = True  # of this thread: nothing that we touch is evidence
            try:
                if self.stopped:
                    return
                self.look()
                if began - self._began > self._next_tell:
                    self._next_tell *= 2
                    self.tell()
                if began - self._began > self._next_memory:
                    self._next_memory = began - self._began + min(MEMORY_EVERY, (began - self._began) / 100)
                    self.growth.look(self.cpu)
            except Exception as error:
                self.recorder.own_error("sampler", error)
                return
            self.cost = time.thread_time()

    def look(self) -> None:
        """One look at the main thread."""
        now, frames = self._clock(), frames_of(self.main)
        spent, self._last_cpu = now - self._last_cpu, now
        if not frames:
            return
        marks, users, fed = self._walk(frames)
        self._stands(frames, users, now)
        if "import" in marks:
            self.importing += spent
            return
        self.looks += 1
        self.cpu += spent
        training = self.recorder.stage == "train" and bool(self.recorder.step)
        if training:
            self.train += spent
        wall = perf_counter()
        idle, self._last_wall = max(0.0, wall - self._last_wall - spent), wall
        if "wait" in marks:
            self.waiting += idle
        if "backward" in marks:
            self.backward += spent
        if "loader" in marks:
            self.loader += spent
            self.loader_wait += idle if "wait" in marks else 0.0
        for n, line in enumerate(users):
            held = self.lines[line]
            held.looks += 1
            held.all += spent
            held.own += spent if n == 0 else 0.0
            held.train += spent if training else 0.0
            held.rows += spent if "rows" in marks else 0.0
        if fed is not None:
            self.lines[fed].fed += spent
        if users:
            self._ask(frames, users)

    def _stands(self, frames: list[FrameType], users: list[Line], cpu: float) -> None:
        """Tell it when the main thread waits at one place and nothing happens."""
        frame = frames[0]
        here, now = (tuple(users), frame.f_code, frame.f_lasti), perf_counter()
        where, since, before, after = self._still
        if here != where or cpu - before > 0.1 * (now - since) + 0.05:
            self._still = (here, now, cpu, STALLED)
        elif now - since > after and users:
            self._still = (where, since, before, 2 * after)
            names = [c for c in map(_short, frames) if c][:8]
            value = {
                "seconds": round(now - since, 1),
                "function": frame.f_code.co_qualname,
                "stack": names,
                "steps": self.recorder.step or 0,
            }
            self.recorder.fact("stalled", value, file=absolute(users[0].code), line=users[0].line)

    def _walk(self, frames: list[FrameType]) -> tuple[set[str], list[Line], Line | None]:
        """The kinds of frames on the stack, the person's lines (innermost first), and the outermost line that a loader called."""
        marks: set[str] = set()
        users: dict[Line, None] = {}
        fed, last, leaf = None, None, True
        for frame in frames:
            code = frame.f_code
            kind = self._kinds.get(code)
            if kind is None:
                kind = self._kinds[code] = _kind(code)
            if kind == "user":
                last = Line(code, frame.f_lineno)
                users[last] = None
            elif kind == "loader":
                marks.add(kind)
                fed = last
            elif kind and (kind != "wait" or leaf):
                marks.add(kind)
            leaf = leaf and kind == "wait"
        return marks, list(users), fed

    def _ask(self, frames: list[FrameType], users: list[Line]) -> None:
        """Once a line has taken its time: does it stand in a loop that handles one element at a time?"""
        hot = [x for x in users[:3] if x not in self.loops and self.lines[x].hot and self.asked.get(x.code, 0) < 40]
        for frame, back in zip(frames, [*frames[1:], None]):
            if not hot:
                return
            here = Line(frame.f_code, frame.f_lineno)
            if here in hot:
                self.asked[here.code] = self.asked.get(here.code, 0) + 1
                found = loops.element_loop(frame, back)
                if found is not None:
                    self.loops[here] = found
                hot.remove(here)

    def tell(self) -> None:
        """Record what is known so far."""
        met = list(self.lines.items())  # at the program's end this is the main thread, and the other may be at its last look
        shown = sorted(met, key=lambda x: -x[1].all)[:MOST_LINES]
        shown += [x for x in sorted(met, key=lambda x: -x[1].own)[:MOST_LINES] if x not in shown]
        shown += [x for x in met if (x[1].fed or x[0] in self.loops) and x not in shown][:MOST_LINES]
        lines = [
            {"file": absolute(k.code), "line": k.line, "function": k.code.co_name, "own": round(s.own, 3), "all": round(s.all, 3),
             "train": round(s.train, 3), "rows": round(s.rows, 3), "fed": round(s.fed, 3), "looks": s.looks, "loop": self.loops.get(k)}
            for k, s in shown
        ]  # fmt: skip
        value = {
            "cpu": round(self.cpu, 3), "importing": round(self.importing, 3), "train": round(self.train, 3), "looks": self.looks,
            "loader": round(self.loader, 3), "loader_wait": round(self.loader_wait, 3),
            "backward": round(self.backward, 3), "waiting": round(self.waiting, 3),
            "wall": round(perf_counter() - self._began, 3), "steps": self.recorder.step or 0, "cost": round(self.cost, 3), "lines": lines,
            "pid": os.getpid(),
        }  # fmt: skip
        self.recorder.fact("hot_lines", value, file="", line=None)
        self.growth.tell()


def _short(frame: FrameType) -> str:
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_code.co_name}"


def _kind(code: CodeType) -> str:
    name = code.co_filename
    if is_users(name):
        return "user"
    if name.startswith("<frozen importlib"):
        return "import"
    if name.endswith(LOADER):
        return "loader" if code.co_name in ("__next__", "_next_data", "_get_data", "_try_get_data") else ""
    if name.endswith(BACKWARD):
        return "backward" if "backward" in code.co_name else ""
    if os.path.basename(name) in WAITING:
        return "wait"
    return "rows" if name.endswith(ROWS) and (code.co_name in ROW_CALLS or code.co_name == "__getitem__") else ""


def _cpu_clock(thread: int) -> Any:
    """CPU seconds of a thread of ours, where the system tells; else the clock on the wall."""
    try:
        number = time.pthread_getcpuclockid(thread)
        time.clock_gettime(number)
    except (AttributeError, OSError):
        return perf_counter
    return lambda: time.clock_gettime(number)
