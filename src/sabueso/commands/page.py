"""The page beside a run: `sabueso run --ui` starts it as a process of its own, so that nothing of it is in the way of the program."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from ..errors import UsageError

NEEDED = ("jinja2", "starlette", "uvicorn")
IDLE = 900  # seconds after which a page that nobody looks at ends by itself


def can_serve() -> None:
    """Known before the program runs. Raises UsageError."""
    lacking = [n for n in NEEDED if importlib.util.find_spec(n) is None]
    if lacking:
        raise UsageError(f"--ui: {lacking[0]} is not installed: pip install 'sabueso[ui]' brings what pages need")


def open_page(folder: Path) -> str:
    """Start the page of a run folder and say where it is. It outlives us, and ends once nobody has looked for a while."""
    import socket  # what a run without a page does not need is not loaded for it

    token = os.urandom(16).hex()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "sabueso", "ui", "--dir", str(folder.parent), "--port", str(port), "--idle", str(IDLE)]
    env = {**os.environ, "SABUESO_TOKEN": token}
    env.pop("SABUESO_HOME", None)  # --dir is where this very run lies
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.Popen(command, env=env, start_new_session=True, **quiet)  # type: ignore[call-overload]
    return f"http://127.0.0.1:{port}/r/{folder.name}?token={token}"
