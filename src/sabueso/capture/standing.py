"""Standing: the frames in which another thread stands, innermost first.

Read in one native call that collects no garbage: making a frame's object may collect in Python 3.11, what is collected (a tensor) may let go of
the interpreter, and the other thread then leaves the very frame that is being looked at. Without the native module nothing is looked at there.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

try:
    from .._native import locals_of, stack_of
except ImportError:
    stack_of = None  # type: ignore[assignment]

    def locals_of(frame: FrameType) -> Any:
        """The frame's own dictionary of its locals."""
        return frame.f_locals


def frames_of(thread: int) -> list[FrameType]:
    """The frames of a thread by its identifier; empty if there is no such thread."""
    if stack_of is not None:
        return stack_of(thread)
    frame = sys._current_frames().get(thread) if sys.version_info >= (3, 12) else None  # since then it collects between two operations only
    found = []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found
