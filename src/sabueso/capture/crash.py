"""A crash is evidence: the exception taken apart, with the operands of the failing line."""

from __future__ import annotations

from .recorder import Recorder


def tell(recorder: Recorder, error: BaseException) -> None:
    """Record an uncaught exception; never fails."""
    if isinstance(error, (SystemExit, KeyboardInterrupt)):
        return
    try:
        recorder.fact("crash", {"type": type(error).__name__, "message": str(error)[:2000]})
    except Exception as ours:
        recorder.own_error("crash", ours)
