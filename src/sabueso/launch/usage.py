"""Usage: what the program and the processes that it starts take of the machine, seen from the parent; and whether the kernel killed it for memory."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import psutil

from ..capture.recorder import Recorder
from ..places import Place

EVERY = 1.0  # seconds between two looks
SHARE = 0.01  # of one processor that looking may take: with hundreds of processes it becomes rarer
EVENTS = ("memory.events", "memory.oom_control")  # of control groups, second and first version
NO_LINE = Place(file="")


class Usage:
    """Call `look` now and then while the program runs, and `end` once it has ended."""

    def __init__(self, pid: int, folder: Path, wanted: frozenset[str] | None) -> None:
        self.recorder = Recorder(folder, wanted)
        self.root = psutil.Process(pid)
        self.began = time.monotonic()
        self.due = 0.0
        self.peak, self.room, self.most = 0, psutil.virtual_memory().total, 1
        self.seconds: dict[int, float] = {}  # CPU seconds by process, as last seen
        self.then = self.began
        self.kills = oom_kills()

    def look(self) -> None:
        """Resident memory and processors in use, once a second."""
        now = time.monotonic()
        if now < self.due:
            return
        memory, used, count = 0, 0.0, 0
        for process in [self.root, *self.root.children(recursive=True)]:
            try:
                with process.oneshot():
                    memory += process.memory_info().rss
                    spent = sum(process.cpu_times()[:2])
            except psutil.Error:  # it ended meanwhile
                continue
            used += max(spent - self.seconds.get(process.pid, 0.0), 0.0)
            self.seconds[process.pid] = spent
            count += 1
        self.peak, self.most = max(self.peak, memory), max(self.most, count)
        self.room = min(self.room, psutil.virtual_memory().available)
        self.put(int(now - self.began), memory, used / max(now - self.then, 1e-3))
        self.then, self.due = now, now + max(EVERY, (time.monotonic() - now) / SHARE)

    def put(self, second: int, memory: int, processors: float) -> None:
        """One point of either series."""
        for name, value in (("resident_memory", float(memory)), ("processors_used", processors)):
            number = self.recorder.series(name, NO_LINE)
            if number is not None:
                self.recorder.points(second, [(number, value)])

    def end(self, code: int) -> None:
        """The fact program_end. `code` is as `subprocess` returns it: minus the signal where one killed it."""
        name = signal.Signals(-code).name if code < 0 else None
        value = {"signal": name, "status": code, "peak": self.peak, "room": self.room, "total": psutil.virtual_memory().total,
                 "oom_kills": oom_kills() - self.kills, "processes": self.most, "seconds": round(time.monotonic() - self.began, 2)}  # fmt: skip
        self.recorder.fact("program_end", value, NO_LINE)
        self.recorder.at_exit()


def oom_kills() -> int:
    """How many processes of our control group the kernel has killed for memory so far; 0 where that can't be read."""
    try:
        paths = [line.rpartition(":")[2].strip().lstrip("/") for line in Path("/proc/self/cgroup").read_text().splitlines()]
    except OSError:
        return 0
    most = 0
    for top in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/memory")):
        for file in [top / part / name for part in {"", *paths} for name in EVENTS]:
            try:
                words = file.read_text().split()
            except OSError:
                continue
            most = max([most, *(int(n) for word, n in zip(words, words[1:]) if word == "oom_kill" and n.isdigit())])
    return most
