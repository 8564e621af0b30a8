"""Recorder, adapters, store, checks and diagnosis put together round a person's program."""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import __version__, config
from .catalogue import Check
from .checks import broken, catalogue
from .diagnose import diagnose
from .diagnoses import Diagnosis
from .launch import child
from .launch.supervise import EVERY, Ended, supervise
from .launch.target import Target
from .places import Place
from .runs import Run
from .show.ignores import silenced
from .show.text import tell
from .store.reader import find_run, open_run, own_errors, read_meta
from .store.writer import Writer, create_folder, write_meta


def begin(target_command: list[str], name: str, settings: config.Config) -> tuple[Path | None, str | None]:
    """A run folder to record into. If none can be written: one in the temporary directory, or none at all, and what to say of it."""
    meta = {"command": target_command, "cwd": os.getcwd(), "started": time.time(), "sabueso": __version__}
    try:
        return create_folder(settings.home(), name, meta), None
    except OSError as error:
        why = f"{settings.home()} can't be written ({error.strerror or error}): nothing of this run is kept; use --dir for another place"
    try:
        return create_folder(Path(tempfile.mkdtemp(prefix="sabueso-")) / "runs", name, meta), why
    except OSError:
        return None, why


def watch_program(target: Target, settings: config.Config, chosen: dict[str, Check], look: Callable[[Writer], Any] | None = None
                  ) -> tuple[Ended, Path | None, str | None]:  # fmt: skip
    """Run the person's program watched. Returns how it ended, the run folder, and what to say where nothing could be kept."""
    folder, trouble = begin(target.command, target.name, settings)
    extra = {"SABUESO_BUDGET": str(settings.budget)}
    if settings.select or settings.ignore:
        extra["SABUESO_WANTED"] = ",".join(sorted({n for c in chosen.values() for n in c.needs + c.uses} | {"crash", "not_captured"}))
    ended = supervise(target.command, folder, extra, look)
    if folder is not None:
        finish(folder, ended.outcome, ended.status, ended.seconds, ended.signal)
    return ended, folder, trouble


def finish(folder: Path, outcome: str, status: int, seconds: float, signal: int | None = None) -> None:
    """Write how the run ended into run.json."""
    meta = read_meta(folder)
    write_meta(folder, {**meta, "outcome": outcome, "exit_status": status, "signal": signal, "seconds": round(seconds, 3)})


def diagnose_run(folder: Path, chosen: dict[str, Check], settings: config.Config) -> Diagnosis:
    """Ask the checks of a stored run, by today's rules. Raises StoreError."""
    run = open_run(folder)
    return conclude(run, chosen, settings, own_errors(folder))


def conclude(run: Run, chosen: dict[str, Check], settings: config.Config, errors: list[dict[str, Any]]) -> Diagnosis:
    """The diagnosis of evidence at hand, with files told relative to where the program ran."""
    stages = [s for s in dict.fromkeys(f["stage"] for f in run.facts("stage_seen"))]
    run.meta.setdefault("stages", stages)
    overhead = run.facts("overhead")
    result = diagnose(run, chosen, settings.checks)
    lost = [{"adapter": f"check {n}", "error": e} for n, e in broken.items()]
    result.own_errors = [*errors, *lost, *result.own_errors]
    cwd = run.meta.get("cwd") or os.getcwd()
    keys = ("id", "command", "outcome", "exit_status", "seconds", "stages")
    result.run = {k: run.meta.get(k) for k in keys} | {"overhead": overhead[-1]["share"] if overhead else None}
    silenced(result)
    for finding in result.findings:
        finding.place = relative(finding.place, cwd)
    return result


def relative(place: Place, cwd: str) -> Place:
    """The file relative to the working directory where it lies under it."""
    if place.file and os.path.isabs(place.file):
        for base in (cwd, os.path.realpath(cwd)):
            if place.file.startswith(base.rstrip(os.sep) + os.sep):
                return place.but(file=os.path.relpath(place.file, base))
    return place


@dataclass
class Watched:
    """What `watch()` gives: the diagnosis once the block ends."""

    folder: Path
    diagnosis: Diagnosis | None = None


@contextmanager
def watch(*, dir: str | None = None, quiet: bool = False) -> Iterator[Watched]:
    """Watch the enclosed code in this very process, for notebooks and tests.

    On leaving the block the diagnosis is in `.diagnosis` and, unless `quiet`, told on stderr. Raises RuntimeError if this process is
    watched already (under `sabueso run` there is no need for it).
    """
    if child.active is not None:
        raise RuntimeError("this process is watched already: leave out sabueso.watch() under `sabueso run`, and don't nest it")
    settings = config.load()
    settings.dir = dir or settings.dir
    chosen = settings.chosen(catalogue())
    folder, trouble = begin(sys.argv, Path(sys.argv[0] or "watch").stem or "watch", settings)
    if folder is None:
        raise RuntimeError(trouble)
    told, began, outcome = Watched(folder), time.monotonic(), "succeeded"
    stop = _drain_beside(folder)
    waker = child.start(str(folder), settings.budget)
    try:
        yield told
    except BaseException as error:
        outcome = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        child.told(error)
        raise
    finally:
        child.stop(waker)
        stop()
        finish(folder, outcome, 0 if outcome == "succeeded" else 1, time.monotonic() - began)
        told.diagnosis = diagnose_run(folder, chosen, settings)
        if not quiet:
            tell(told.diagnosis, sys.stderr)


def _drain_beside(folder: Path) -> Callable[[], None]:
    """Drain on a thread until told to stop."""
    writer, over = Writer(folder), threading.Event()

    def work() -> None:
        while not over.wait(EVERY):
            try:
                writer.drain()
            except Exception:
                return

    thread = threading.Thread(target=work, name="sabueso-drain", daemon=True)
    thread.start()

    def stop() -> None:
        over.set()
        thread.join()
        writer.close()
        atexit.unregister(stop)

    atexit.register(stop)
    return stop


def open(name: str | None = None, dir: str | None = None) -> Run:  # noqa: A001 (the public name is sabueso.open)
    """The evidence of a stored run: the newest, or the one of that name or path. Raises UsageError or StoreError."""
    settings = config.load()
    settings.dir = dir or settings.dir
    return open_run(find_run(settings.home(), name))
