"""Runs a program watched in a process that has the frameworks loaded already: the diagnosis and the program's own last line."""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

for _threads in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

LOADED = ["sabueso.wiring", "numpy", "pandas", "scipy.stats", "torch", "sklearn.datasets", "sklearn.linear_model", "sklearn.ensemble", "sklearn.pipeline"]
SECONDS = 300
FILE = "program.py"
_server = multiprocessing.get_context("forkserver")
_server.set_forkserver_preload(LOADED)


def diagnosis_of(source: str) -> tuple[dict[str, Any], str]:
    """What is said of a program that runs in a folder of its own, and what it printed last."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / FILE).write_text(source)
        child = _server.Process(target=_watch, args=(folder,))
        child.start()
        child.join(SECONDS)
        if child.is_alive():
            child.kill()
            raise TimeoutError(f"more than {SECONDS} s")
        told, said = json.loads((Path(folder) / "told.json").read_text()), (Path(folder) / "said.txt").read_text().strip().splitlines()
    return told, said[-1] if said else "(no output)"


def _watch(folder: str) -> None:
    import sabueso
    from sabueso.show.json import dumps

    os.chdir(folder)
    script, text = os.path.join(folder, FILE), io.StringIO()
    sys.argv, sys.path[0] = [script], folder
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(io.StringIO()):
        try:
            with sabueso.watch(quiet=True) as told:
                runpy.run_path(script, run_name="__main__")
        except BaseException as error:
            text.write(f"\nraised {type(error).__name__}: {error}".replace("\n", " ")[:300])
    Path("said.txt").write_text(text.getvalue())
    assert told.diagnosis is not None
    Path("told.json").write_text(dumps(told.diagnosis))
    os._exit(0)
