"""Small programs run watched, each in a process of its own that already has the frameworks loaded."""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import re
import runpy
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of processes would compile everything anew
for _threads in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

PRELOADED = ["sabueso.wiring", "numpy", "pandas", "scipy.stats", "torch", "sklearn.datasets", "sklearn.linear_model", "sklearn.ensemble", "sklearn.pipeline"]
SECONDS = 120
_server = multiprocessing.get_context("forkserver")
_server.set_forkserver_preload(PRELOADED)


def watched(script: Path, seconds: float = SECONDS) -> dict[str, Any]:
    """The diagnosis of a script under `sabueso.watch()`, run in its own folder as `__main__`."""
    return json.loads(_result(_watch, script, seconds))


def forked(script: Path, seconds: float = SECONDS) -> str:
    """What a script prints, run in its own folder as `__main__`; an error's traceback among it."""
    return _result(_run, script, seconds)


def _result(target: Any, script: Path, seconds: float) -> str:
    out = script.with_suffix(".out")
    child = _server.Process(target=target, args=(str(script), str(out)))
    child.start()
    child.join(seconds)
    if child.is_alive():
        child.kill()
        raise TimeoutError(f"{script.name} took more than {seconds} s")
    assert out.exists(), f"{script.name} ended with {child.exitcode} and left nothing"
    return out.read_text()


def _start(script: str) -> io.StringIO:
    os.chdir(os.path.dirname(script))
    sys.argv, sys.path[0] = [script], os.path.dirname(script)
    return io.StringIO()


def _watch(script: str, out: str) -> None:
    import sabueso
    from sabueso.show.json import dumps

    text = _start(script)
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text), contextlib.suppress(BaseException):
        with sabueso.watch(quiet=True) as told:
            runpy.run_path(script, run_name="__main__")
    assert told.diagnosis is not None
    Path(out).write_text(dumps(told.diagnosis))
    os._exit(0)


def _run(script: str, out: str) -> None:
    text = _start(script)
    with contextlib.redirect_stdout(text):
        try:
            runpy.run_path(script, run_name="__main__")
        except BaseException:
            traceback.print_exc(file=text)
    Path(out).write_text(text.getvalue())
    os._exit(0)


def sabueso(*arguments: str, cwd: Path, env: dict[str, str] | None = None, **more: Any) -> subprocess.CompletedProcess[str]:
    """The command, as a person would type it."""
    command = [sys.executable, "-m", "sabueso", *arguments]
    more = {"stdin": subprocess.DEVNULL, **more} if "input" not in more else more
    full = {**os.environ, **(env or {})}
    return subprocess.run(command, cwd=cwd, env=full, capture_output=True, text=True, timeout=SECONDS, **more)


def diagnosed(script: str, cwd: Path, *arguments: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    """The diagnosis of `sabueso run SCRIPT` as data."""
    done = sabueso("run", "--json", "out.json", script, *arguments, cwd=cwd, env=env)
    assert (cwd / "out.json").exists(), done.stderr
    return json.loads((cwd / "out.json").read_text())


def marked(source: str, name: str) -> int | None:
    """The number of the line that ends in `# sabueso: NAME`."""
    lines = [n for n, line in enumerate(source.splitlines(), 1) if re.search(rf"#\s*sabueso:\s*{re.escape(name)}\s*$", line)]
    return lines[0] if lines else None


def told(diagnosis: dict[str, Any]) -> str:
    """The culprits in short, for a failing assertion."""
    said = [f"{c['check']} at {c['place']}: {c['says']}" for c in diagnosis["culprits"]]
    errors = [f"own error in {e['adapter']}: {e['error']}" for e in diagnosis["own_errors"]]
    return "\n".join(said + errors) or "no culprit"
