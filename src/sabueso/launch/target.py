"""What the person asked to run, as the command that is started in its place."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError


@dataclass(frozen=True)
class Target:
    """`command` is what is started; `name` is what the run is called; `notebook` is set where cells are to be executed."""

    command: list[str]
    name: str
    notebook: Path | None = None


def target(arguments: list[str]) -> Target:
    """Script with arguments, `-m module`, `-c code`, a notebook, or any command that starts Python. Raises UsageError in one clear line."""
    if not arguments:
        raise UsageError("nothing to run: give a script, as in `sabueso run train.py --epochs 3`")
    first, rest = arguments[0], arguments[1:]
    if first in ("-m", "-c"):
        if not rest:
            raise UsageError(f"{first} needs a {'module' if first == '-m' else 'line of code'}, as in `sabueso run {first} ...`")
        return Target([sys.executable, first, *rest], rest[0].split(".")[-1] if first == "-m" else "code")
    path = Path(first)
    if first.endswith(".ipynb"):
        if not path.is_file():
            raise UsageError(f"no notebook {first}: check the path (now in {os.getcwd()})")
        return Target([sys.executable, "-m", "sabueso.launch.notebook", first, *rest], path.stem, path)
    if first.endswith(".py") or (path.is_file() and not os.access(path, os.X_OK)):
        if not path.exists():
            raise UsageError(f"no script {first}: check the path (now in {os.getcwd()})")
        return Target([sys.executable, first, *rest], path.stem)
    if path.is_dir() and (path / "__main__.py").is_file():
        return Target([sys.executable, first, *rest], path.resolve().name)
    return _command(first, rest)


def _command(first: str, rest: list[str]) -> Target:
    found = shutil.which(first) or shutil.which(first, path=os.path.dirname(sys.executable))
    if found is None:
        raise UsageError(f"no script, module or command {first!r}: check the path, or use `sabueso run -m {first}` for a module")
    if not starts_python(Path(found)):
        raise UsageError(f"{first} does not start Python, so there is nothing to watch: run it without sabueso, or give the Python script that it starts")
    return Target([found, *rest], Path(first).name)


def starts_python(path: Path) -> bool:
    """Is the command a Python interpreter or a text file whose first lines hand over to one?"""
    if path.name.startswith(("python", "pypy")):
        return True
    try:
        head = path.read_bytes()[:256]
    except OSError:
        return False
    return head.startswith(b"#!") and (b"python" in head or b"sh" in head.split(b"\n")[0])
