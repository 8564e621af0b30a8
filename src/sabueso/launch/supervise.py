"""The parent: starts the person's program as a child, drains what it records, and outlives it however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from ..store.writer import Writer
from .usage import Usage

HOOK = Path(__file__).parent / "hook"
EVERY = 0.25  # seconds between two drainings; what the child put is safe in the page cache before
FORWARDED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGCONT")


@dataclass
class Ended:
    """How the child ended: `status` as the shell would see it, `signal` where one killed it."""

    status: int
    signal: int | None
    seconds: float

    @property
    def outcome(self) -> str:
        """succeeded, failed, killed or interrupted."""
        if self.signal == signal.SIGINT or self.status == 130:
            return "interrupted"
        if self.signal is not None:
            return "killed"
        return "succeeded" if self.status == 0 else "failed"


def environment(folder: Path | None, extra: dict[str, str]) -> dict[str, str]:
    """The child's environment: ours, with the start-up hook first on PYTHONPATH when there is a run folder to record into."""
    env = dict(os.environ)
    if folder is None:
        return env
    path = env.get("PYTHONPATH")
    env["PYTHONPATH"] = str(HOOK) + (os.pathsep + path if path else "")
    env["SABUESO_RUN"] = str(folder.resolve())
    env.update(extra)
    return env


def supervise(command: list[str], folder: Path | None, extra: dict[str, str], look: Callable[[Writer], Any] | None = None) -> Ended:
    """Run the command to its end; its stdin, stdout, stderr and signals are the terminal's own.

    `look` is called after each draining, for the live line, and first as soon as the program runs. Raises OSError if the command can't
    be started.
    """
    began = time.monotonic()
    child = subprocess.Popen(command, env=environment(folder, extra), close_fds=False)  # as `train.py <(zcat rows.gz)` needs
    held = _forward(child)
    try:
        writer = _quietly(lambda: Writer(folder)) if folder is not None else None
        usage = _quietly(lambda: Usage(child.pid, folder, _wanted(extra))) if folder is not None and writer is not None else None
        while True:
            if writer is not None and look is not None:
                _quietly(lambda: look(writer))
            if _over(child, EVERY if writer else None):
                break
            if usage is not None:
                _quietly(usage.look)
            if writer is not None:
                _quietly(writer.drain)
        if usage is not None:
            _quietly(lambda: usage.end(child.returncode))
        if writer is not None:
            _quietly(writer.close)
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
    code = child.returncode
    return Ended(code if code >= 0 else 128 - code, -code if code < 0 else None, time.monotonic() - began)


def _wanted(extra: dict[str, str]) -> frozenset[str] | None:
    """The evidence that the child is asked for, as it is told it."""
    return frozenset(extra["SABUESO_WANTED"].split(",")) if "SABUESO_WANTED" in extra else None


def _over(child: subprocess.Popen[bytes], seconds: float | None) -> bool:
    try:
        child.wait(seconds)
        return True
    except subprocess.TimeoutExpired:
        return False


def end_like(ended: Ended) -> None:
    """End this process as the child did: the same exit status, or the same signal (without a core of ours)."""
    sys.stdout.flush()
    sys.stderr.flush()
    if ended.signal is not None:
        try:
            import resource

            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        except (ImportError, ValueError, OSError):
            pass
        if ended.signal not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(ended.signal, signal.SIG_DFL)
        os.kill(os.getpid(), ended.signal)
    os._exit(ended.status)


def _forward(child: subprocess.Popen[bytes]) -> dict[int, Any]:
    """Pass signals sent to us alone on to the child. Ctrl-C on our terminal reaches both, so we only wait for the child then."""

    def hand_on(number: int, frame: FrameType | None) -> None:
        if child.poll() is None and not (number == signal.SIGINT and _in_foreground()):
            child.send_signal(number)

    numbers = [getattr(signal, name, None) for name in FORWARDED]
    return {n: signal.signal(n, hand_on) for n in numbers if n is not None}


def _in_foreground() -> bool:
    """Are we in the foreground of a terminal, which then sends its signals to the child as well?"""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _quietly(call: Callable[[], Any]) -> Any:
    """Draining may fail (a full disk): the program goes on, and what is missing is told at the end."""
    try:
        return call()
    except Exception as error:
        if os.environ.get("SABUESO_DEBUG"):
            print(f"sabueso: {error}", file=sys.stderr)
        return None
