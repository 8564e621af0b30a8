"""Stops: what `--break` and `breakpoint_on` may name, told without loading the checks or the debugger."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path
from types import CodeType

from .errors import UsageError

CHECKS = Path(__file__).parent / "checks"
LIKE_A_NAME = re.compile(r"[a-z]+(-[a-z]+)+")  # `no-such-check` is an expression too: a difference of three names


def names() -> set[str]:
    """The checks' names, by their files."""
    return {p.stem.replace("_", "-") for p in CHECKS.glob("*/*.py") if not p.stem.startswith("_")}


def compiled(text: str) -> CodeType:
    """An expression of the person's. Raises UsageError where it is none, or looks like the name of a check that there is not."""
    if LIKE_A_NAME.fullmatch(text) and text not in (known := names()):
        near = get_close_matches(text, known, 3)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise UsageError(f"--break: no check named {text!r}: {hint}`sabueso checks` lists them")
    try:
        return compile(text, "<break>", "eval")
    except SyntaxError as error:
        raise UsageError(f"--break: {text!r} is no check, no `error` and no expression ({error.msg}); `sabueso checks` lists the checks") from error
