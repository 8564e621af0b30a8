"""The person's program watched: a run folder, the child, and how it ended. Imports little, so that the program starts at once."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import __version__
from ..config import Config
from ..errors import StoreError, UsageError
from ..store.layout import read_meta
from ..store.writer import Writer, create_folder, write_meta
from .supervise import Ended, supervise
from .target import Target

# variables that decide how numbers come out; nothing else of the environment is kept
NUMERIC = ("PYTHONHASHSEED", "CUDA_VISIBLE_DEVICES", "CUBLAS_WORKSPACE_CONFIG", "NVIDIA_TF32_OVERRIDE")
NUMERIC_PREFIXES = ("OMP_NUM", "MKL_NUM", "OPENBLAS_NUM", "TORCH_DETERMINISTIC", "TF_DETERMINISTIC", "TF_ENABLE_ONEDNN", "XLA_FLAGS")
MOST_SOURCE = 300_000  # bytes


def keep_source(folder: Path, command: list[str]) -> None:
    """The script as it ran, so that a later run can be held against it."""
    script = next((Path(w) for w in command[:3] if w.endswith(".py")), None)
    if script is not None and script.is_file() and script.stat().st_size < MOST_SOURCE:
        (folder / "sources.json").write_text(json.dumps({script.name: script.read_text(errors="replace")}))


def begin(target_command: list[str], name: str, settings: Config) -> tuple[Path | None, str | None]:
    """A run folder to record into. If none can be written: one in the temporary directory, or none at all, and what to say of it."""
    meta = {"command": target_command, "cwd": os.getcwd(), "started": time.time(), "sabueso": __version__}
    meta["environment"] = {k: v for k, v in sorted(os.environ.items()) if k in NUMERIC or k.startswith(NUMERIC_PREFIXES)}
    meta |= {"python": sys.version.split()[0], "machine": f"{sys.platform}, {os.cpu_count()} processors"}
    try:
        folder = create_folder(settings.home(), name, meta)
        keep_source(folder, target_command)
        return folder, None
    except OSError as error:
        why = f"{settings.home()} can't be written ({error.strerror or error}): nothing of this run is kept; use --dir for another place"
    try:
        return create_folder(Path(tempfile.mkdtemp(prefix="sabueso-")) / "runs", name, meta), why
    except OSError:
        return None, why


def watch_program(
    target: Target, settings: Config, wanted: frozenset[str] | None = None, look: Callable[[Writer], Any] | None = None
) -> tuple[Ended, Path | None, str | None]:
    """Run the person's program watched. Returns how it ended, the run folder, and what to say where nothing could be kept.

    `wanted` are the evidence names to capture, None for all. Raises UsageError if the program can't be started.
    """
    folder, trouble = begin(target.command, target.name, settings)
    extra = {"SABUESO_BUDGET": str(settings.budget)}
    if wanted is not None:
        extra["SABUESO_WANTED"] = ",".join(sorted(wanted))
    try:
        ended = supervise(target.command, folder, extra, look)
    except OSError as error:
        raise UsageError(f"{target.command[0]} can't be started ({error.strerror or error}): check that it is a program you may run") from error
    if folder is not None:
        trouble = finish(folder, ended.outcome, ended.status, ended.seconds, ended.signal) or trouble
    return ended, folder, trouble


def finish(folder: Path, outcome: str, status: int, seconds: float, signal: int | None = None) -> str | None:
    """Write how the run ended into run.json; returns what to say where that fails."""
    try:
        meta = read_meta(folder)
        write_meta(folder, {**meta, "outcome": outcome, "exit_status": status, "signal": signal, "seconds": round(seconds, 3)})
    except (OSError, StoreError) as error:
        why = getattr(error, "strerror", None) or error
        return f"{folder} can't be written any more ({why}): what was captured last may be missing; make room there"
    return None
