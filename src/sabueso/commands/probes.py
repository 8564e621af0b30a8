"""Options of `sabueso run` that go into the program: where to stop in the debugger, and on how little to run."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import Any

import click

from ..errors import UsageError
from ..stages import STAGES
from ..stops import compiled

OPTIONS = (
    click.option("--break", "stop", metavar="WHAT", help="Stop in the debugger for a check's name, `error`, or an expression such as 'loss > 10'."),
    click.option("--debugpy", type=click.IntRange(1, 65535), metavar="PORT", help="Let VS Code or PyCharm attach there in place of pdb (needs debugpy)."),
    click.option("--rank", type=click.IntRange(0), help="The rank that stops (default 0)."),
    click.option("--isolate", type=click.Choice(STAGES), help="Run only up to the end of this stage."),
    click.option("--rows", type=click.IntRange(1), metavar="N", help="Run on N rows, evenly spaced, of each table that is read and each loader."),
)
VARIABLES = {"stop": "SABUESO_BREAK", "debugpy": "SABUESO_DEBUGPY", "rank": "SABUESO_BREAK_RANK", "isolate": "SABUESO_ISOLATE", "rows": "SABUESO_ROWS"}


def probe_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def set_probes(given: dict[str, Any]) -> str | None:
    """Hand them to the program through its environment; returns what to say if then no fault shows. Raises UsageError."""
    for name, variable in VARIABLES.items():
        if given.get(name) is not None:
            os.environ[variable] = str(given[name])
    if given.get("debugpy") and importlib.util.find_spec("debugpy") is None:
        raise UsageError("--debugpy: debugpy is not installed: pip install 'sabueso[debug]'")
    if given.get("debugpy") and not given.get("stop"):
        raise UsageError("--debugpy needs --break: say where to stop")
    if given.get("stop"):
        compiled(given["stop"])
    part = [f"on {given['rows']} rows" if given.get("rows") else "", f"up to {given['isolate']}" if given.get("isolate") else ""]
    return f"no fault shows {' and '.join(p for p in part if p)}: it may lie in the rest; run the whole" if any(part) else None
