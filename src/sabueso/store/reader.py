"""Opens a run, also one still being written or left behind by a killed supervisor; joins ranks."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import StoreError, UsageError
from ..events import Fact, Series, Summary
from ..places import Place
from ..runs import Run
from .layout import VERSION
from .writer import Writer

POINTS_DTYPE = np.dtype([("s", "<i8"), ("v", "<f8")])


def read_meta(folder: Path) -> dict[str, Any]:
    """run.json. Raises StoreError where it is missing, damaged, or of a newer layout."""
    try:
        meta = json.loads((folder / "run.json").read_text())
        layout = int(meta["layout"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{folder} holds no readable run ({error}); pick another with `sabueso runs`") from error
    if layout > VERSION:
        raise StoreError(f"{folder} was written by a newer sabueso (layout {layout}, this one reads up to {VERSION}); upgrade sabueso to read it")
    return meta


def open_run(folder: Path) -> Run:
    """All evidence of a run. What a killed supervisor left in logs is drained first. Raises StoreError."""
    meta = read_meta(folder)
    try:
        if any(folder.glob("*.log")) and meta.get("outcome"):
            Writer(folder).close()
        with sqlite3.connect(f"file:{folder / 'run.db'}?mode=ro", uri=True) as db:
            return Run(meta, list(_facts(db)), list(_series(db)), list(_profiles(db)))
    except sqlite3.Error as error:
        raise StoreError(f"{folder / 'run.db'} is damaged ({error}); run the program again under `sabueso run`") from error


def own_errors(folder: Path) -> list[dict[str, Any]]:
    """The errors of ours that the run kept."""
    try:
        with sqlite3.connect(f"file:{folder / 'run.db'}?mode=ro", uri=True) as db:
            return [json.loads(v) for (v,) in db.execute("select value from own_error order by id")]
    except sqlite3.Error:
        return []


def runs_in(home: Path) -> list[Path]:
    """The run folders under a home, newest first."""
    return sorted((p.parent for p in home.glob("*/run.json")), key=lambda p: p.name, reverse=True) if home.is_dir() else []


def find_run(home: Path, name: str | None) -> Path:
    """The newest run, or the one of that name, unique prefix, or path. Raises UsageError."""
    if name and (Path(name) / "run.json").exists():
        return Path(name)
    runs = runs_in(home)
    if not runs:
        raise UsageError(f"no runs in {home}: start one with `sabueso run SCRIPT`")
    fits = [r for r in runs if not name or r.name == name or r.name.startswith(name) or name in r.name]
    if not fits:
        raise UsageError(f"no run named {name!r} in {home}: `sabueso runs` lists them")
    exact = [r for r in fits if r.name == name]
    if name and not exact and len(fits) > 1:
        raise UsageError(f"{name!r} fits {len(fits)} runs, such as {fits[0].name} and {fits[1].name}: give more of the name")
    return (exact or fits)[0]


def _facts(db: sqlite3.Connection) -> Iterator[Fact]:
    rows = db.execute("select process,time,name,place,value from fact order by time,id")
    for order, (process, when, name, place, value) in enumerate(rows):
        yield Fact(name, json.loads(value), Place.of(json.loads(place)), order, process, when)


def _profiles(db: sqlite3.Connection) -> Iterator[Summary]:
    rows = db.execute("select process,name,place,value from profile order by time,id")
    for order, (process, name, place, value) in enumerate(rows):
        yield Summary(name, json.loads(value), Place.of(json.loads(place)), order, process)


def _series(db: sqlite3.Connection) -> Iterator[Series]:
    for number, process, name, place in db.execute("select id,process,name,place from series order by id"):
        blobs = [b for (b,) in db.execute("select points from chunk where series=? order by rowid", (number,))]
        points = np.frombuffer(b"".join(blobs), dtype=POINTS_DTYPE)
        yield Series(name, Place.of(json.loads(place)), points["s"].copy(), points["v"].copy(), process)
