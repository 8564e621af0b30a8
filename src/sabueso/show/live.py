"""The live line: stage, step, loss and findings so far on the terminal's last row while the program runs above it.

The program writes to the same terminal itself, so the line stands outside the part that scrolls (the way apt shows its progress): nothing
that the program prints is overwritten, and all is put back at the end. Never where stderr is no terminal.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

from .columns import cut
from .phrases import number

AFTER = 1.5  # seconds; a short program ends without the line having been there
EVERY = 0.5
LEAST_ROWS = 8
FIRST_ASKED, TIMES = 10.0, 3.0  # seconds after which the checks are asked of what there is, and how much later each next time
LONGEST = 2.0  # seconds that asking may take; after that it is left to the end
STAGE = "select value from fact where name = 'stage_seen' order by id desc limit 1"


class Live:
    """Call `look` now and then, and `end` once the program has ended; both do nothing where there is no terminal."""

    def __init__(self, out: TextIO, found: Callable[[Path], list[str]] | None = None) -> None:
        """`found` gives the names of what is proven by now, for a run folder."""
        self._out, self._began, self._drawn = out, time.monotonic(), 0.0
        self._found, self._ask = found, FIRST_ASKED
        self._names: list[str] = []
        self._size: os.terminal_size | None = None
        self.on = _is_terminal(out) and os.environ.get("TERM", "dumb") != "dumb" and not os.environ.get("CI")

    def look(self, writer: Any) -> None:
        """Draw the line if it is time to."""
        now = time.monotonic()
        if not self.on or now - self._began < AFTER or now - self._drawn < EVERY:
            return
        self._drawn = now
        if self._found is not None and now - self._began > self._ask:
            self._names = self._found(writer.folder)
            self._ask *= TIMES
            if time.monotonic() - now > LONGEST:
                self._found = None
        self._draw(line(writer, now - self._began, self._names))

    def end(self) -> None:
        """Take the line away and let the whole terminal scroll again."""
        if self._size is not None:
            self._write(f"\x1b7\x1b[{self._size.lines};1H\x1b[2K\x1b[r\x1b8")
            self._size = None

    def _draw(self, text: str) -> None:
        size = os.get_terminal_size(self._out.fileno())
        if size.lines < LEAST_ROWS:
            return
        if size != self._size:  # first, or the window was resized: leave the last row out of what scrolls
            self.end()
            self._write(f"\x1bD\x1b[1A\x1b7\x1b[1;{size.lines - 1}r\x1b8")
            self._size = size
        self._write(f"\x1b7\x1b[{size.lines};1H\x1b[2K\x1b[7m{cut(text, size.columns - 1)}\x1b[0m\x1b8")

    def _write(self, text: str) -> None:
        try:
            self._out.write(text)
            self._out.flush()
        except (OSError, ValueError):
            self.on = False


def line(writer: Any, seconds: float, names: Sequence[str] = ()) -> str:
    """What is known by now, from what the writer drained."""
    parts = ["sabueso", f"{int(seconds) // 60}:{int(seconds) % 60:02d}"]
    stage = writer.db.execute(STAGE).fetchone()
    if stage:
        parts.append(str(json.loads(stage[0]).get("stage", "")))
    loss = writer.last("train_loss")
    if loss:
        parts.append(f"step {number(loss[0])}  loss {number(loss[1])}")
    if names:
        parts.append(f"found {', '.join(names)}")
    return "  ".join(parts)


def _is_terminal(out: Any) -> bool:
    try:
        return bool(out.isatty()) and bool(sys.stdin is None or os.getpgrp() == os.tcgetpgrp(out.fileno()))
    except (OSError, ValueError, AttributeError):
        return False
