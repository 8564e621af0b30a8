"""Recorder, adapters, store, checks and diagnosis put together round a person's program."""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import config
from .catalogue import Check
from .checks import broken, catalogue
from .diagnose import diagnose
from .diagnoses import Diagnosis
from .errors import SabuesoError
from .launch import child
from .launch.cells import cells_of_shell, in_cell, keep_cells, read_cells
from .launch.program import begin, finish
from .launch.supervise import EVERY
from .places import Place
from .runs import Run
from .show import json as as_json
from .show.ignores import silenced
from .show.notebook import tell_in_place
from .stages import rank_of
from .store.layout import find_run, read_meta
from .store.reader import open_run, own_errors
from .store.writer import Writer, write_meta

if TYPE_CHECKING:
    from .battery.answers import Examination

LOGGED = {"logged", "logged_histogram", "logged_parameter", "column", "correlation", "resident_memory", "processors_used"}
# what the report, the live line and `diff` read themselves
ALWAYS = frozenset({"crash", "not_captured", "stage_seen", "overhead", "train_loss", "torch_settings", *LOGGED})


def wanted(chosen: dict[str, Check]) -> frozenset[str]:
    """The evidence names that these checks and the report ask for."""
    return frozenset(n for c in chosen.values() for n in c.needs + c.uses) | ALWAYS


def diagnose_run(folder: Path, chosen: dict[str, Check], settings: config.Config) -> Diagnosis:
    """Ask the checks of a stored run, by today's rules. Raises StoreError."""
    run = open_run(folder)
    run.meta["cells"] = read_cells(folder)
    return conclude(run, chosen, settings, own_errors(folder))


IMPLIED = {"table_read": "ingest", "table_join": "preprocess", "rows_dropped": "preprocess", "metric": "evaluate"}


def stages_met(run: Run) -> set[str]:
    """The stages that were entered: as they were told, and as evidence implies that is only put together at the end."""
    met = {f["stage"] for f in run.facts("stage_seen")} | {stage for name, stage in IMPLIED.items() if run.facts(name)}
    methods = {f.get("method") for f in run.facts("inputs")}
    return met | ({"preprocess"} if "transform" in methods else set()) | ({"train"} if methods & {"predict", "predict_proba", "score"} else set())


def conclude(run: Run, chosen: dict[str, Check], settings: config.Config, errors: list[dict[str, Any]]) -> Diagnosis:
    """The diagnosis of evidence at hand, with files told relative to where the program ran."""
    run.meta.setdefault("stages", sorted(stages_met(run), key=rank_of))
    result = diagnose(run, chosen, settings.checks)
    lost = [{"adapter": f"check {n}", "error": e} for n, e in broken.items()]
    result.own_errors = [*errors, *lost, *result.own_errors]
    silenced(result)
    cwd, cells = run.meta.get("cwd") or os.getcwd(), run.meta.get("cells") or {}
    for finding in result.findings:
        finding.place = relative(in_cell(finding.place, cells), cwd)
    overhead = run.facts("overhead")
    keys = ("id", "command", "cwd", "outcome", "exit_status", "signal", "seconds", "stages")
    result.run = {k: run.meta.get(k) for k in keys} | {"overhead": overhead[-1]["share"] if overhead else None}
    if cells:
        result.run["cells"] = cells
    crashes = run.facts("crash") if run.meta.get("outcome") == "failed" else []
    if crashes:
        spot = relative(in_cell(crashes[0].place, cells), cwd)
        raised = crashes[0].get("raised") or crashes[0].value
        result.run["crash"] = {k: raised[k] for k in ("type", "message")} | {"stage": spot.stage, "file": spot.file, "line": spot.line}
    return result


def relative(place: Place, cwd: str) -> Place:
    """The file relative to the working directory where it lies under it."""
    if place.file and os.path.isabs(place.file):
        for base in (cwd, os.path.realpath(cwd)):
            if place.file.startswith(base.rstrip(os.sep) + os.sep):
                return place.but(file=os.path.relpath(place.file, base))
    return place


def keep(diagnosis: Diagnosis, folder: Path) -> str | None:
    """Write the diagnosis into the run folder; returns what to say where that fails."""
    try:
        (folder / "diagnosis.json").write_text(as_json.dumps(diagnosis))
        write_meta(folder, {**read_meta(folder), "verdict": [c.check for c in diagnosis.culprits]})  # a list of runs reads no more than this
    except (OSError, SabuesoError) as error:
        return f"{folder} can't be written ({getattr(error, 'strerror', None) or error}): the diagnosis below is not kept"
    return None


def kept(folder: Path) -> Diagnosis | None:
    """The diagnosis as it was told at the end of the run; None where there is none that can be read."""
    try:
        return Diagnosis.of(json.loads((folder / "diagnosis.json").read_text()))
    except (OSError, ValueError, KeyError, TypeError):
        return None


@dataclass
class Watched:
    """What `watch()` gives: the diagnosis once the block ends; None where nothing could be recorded, or where an outer watch tells it."""

    folder: Path | None = None
    diagnosis: Diagnosis | None = None


@contextmanager
def watch(*, dir: str | None = None, quiet: bool = False) -> Iterator[Watched]:
    """Watch the enclosed code in this very process, for notebooks and tests.

    On leaving the block the diagnosis is in `.diagnosis` and, unless `quiet`, told below the cell or on stderr. Under `sabueso run` or
    within another `watch()` the block is part of what is watched already. Raises ConfigError for a section that can't be used.
    """
    if child.active is not None:
        yield Watched(child.active.folder)
        return
    settings = config.load()
    settings.dir = dir or settings.dir
    chosen = settings.chosen(catalogue())
    folder, trouble = begin(sys.argv, Path(sys.argv[0] or "watch").stem or "watch", settings)
    if trouble:
        sys.stderr.write(f"sabueso: {trouble}\n")
    if folder is None:
        yield Watched()
        return
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
        told.diagnosis = _conclude_in_place(folder, chosen, settings, quiet)


def _conclude_in_place(folder: Path, chosen: dict[str, Check], settings: config.Config, quiet: bool) -> Diagnosis | None:
    """The diagnosis of a watched block; what fails here is said and leaves the person's own exception alone."""
    try:
        keep_cells(folder, cells_of_shell())
        diagnosis = diagnose_run(folder, chosen, settings)
    except SabuesoError as error:
        sys.stderr.write(f"sabueso: {error}\n")
        return None
    keep(diagnosis, folder)
    if not quiet:
        tell_in_place(diagnosis)
    return diagnosis


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
        with suppress(Exception):  # a full disk: the run is read from its logs
            writer.close()
        atexit.unregister(stop)

    atexit.register(stop)
    return stop


def examine(model: Any, loss: Any, batch: Any, *, optimizer: Any = None, seconds: float = 2.0) -> Examination:
    """Put a model to the sanity battery, with no training script: is one batch learnt, does a gradient reach every parameter, ..

    `batch` is (inputs, .., target), a dictionary with `labels`, or one tensor that is both; `loss(output, target)` returns a scalar. For an estimator of
    scikit-learn give `loss=None` and `(X, y)`. Model, optimizer, batch and random streams stay as they were. Raises UsageError for anything else.
    """
    from . import battery  # of no use to a run: it is loaded when it is asked

    busy = child.active.busy if child.active is not None else None
    was = getattr(busy, "on", False)
    try:
        if busy is not None:
            busy.on = True  # what the battery does is no part of a run that is watched
        found = battery.examine(model, loss, batch, optimizer, seconds)
    finally:
        if busy is not None:
            busy.on = was
    for finding in found.findings:
        finding.place = relative(finding.place, os.getcwd())
    return found


def open(name: str | None = None, dir: str | None = None) -> Run:  # noqa: A001 (the public name is sabueso.open)
    """The evidence of a stored run: the newest, or the one of that name or path. Raises UsageError or StoreError."""
    settings = config.load()
    settings.dir = dir or settings.dir
    return open_run(find_run(settings.home(), name))
