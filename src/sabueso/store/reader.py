"""Opens a run, also one still being written or left behind by a killed supervisor; joins ranks."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from ..errors import StoreError
from ..events import Fact, Series, Summary
from ..places import Place
from ..runs import Run
from .layout import LOGS, read_meta
from .writer import Writer

POINTS_DTYPE = np.dtype([("s", "<i8"), ("v", "<f8")])


def open_run(folder: Path) -> Run:
    """All evidence of a run, also of one still being written or whose writer was killed. Raises StoreError."""
    meta = read_meta(folder)
    try:
        with closing(_connect(folder)) as db:
            return Run(meta, list(facts_of(db)), list(_series(db)), list(profiles_of(db)))
    except (sqlite3.Error, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{folder / 'run.db'} is damaged ({error}); run the program again under `sabueso run`") from error


def own_errors(folder: Path) -> list[dict[str, Any]]:
    """The errors of ours that the run kept."""
    try:
        with closing(_connect(folder)) as db:
            return [json.loads(v) for (v,) in db.execute("select value from own_error order by id")]
    except (sqlite3.Error, ValueError):
        return []


def _connect(folder: Path) -> sqlite3.Connection:
    """The sealed database; where it is not sealed the logs are still whole, and are read into memory without touching the folder."""
    if not any(folder.glob(LOGS)) or sealed(folder):
        return sqlite3.connect(f"file:{quote(str(folder / 'run.db'))}?mode=ro", uri=True)
    writer = Writer(folder, ":memory:")
    writer.seal()
    return writer.db


def sealed(folder: Path) -> bool:
    """Does the database hold all that the logs held?"""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(folder / 'run.db'))}?mode=ro", uri=True)) as db:
            return db.execute("select 1 from meta where key='sealed'").fetchone() is not None
    except sqlite3.Error:
        return False


def facts_of(db: sqlite3.Connection, named: str | None = None, start: int = 0, most: int = -1) -> Iterator[Fact]:
    """Facts in the order of time: all or those of a name; `most` of them from the one at `start` on."""
    only = " where name = ?" if named else ""
    rows = db.execute(f"select process,time,name,place,value from fact{only} order by time,id limit ? offset ?", (*([named] if named else []), most, start))
    for order, (process, when, name, place, value) in enumerate(rows, start):
        yield Fact(name, json.loads(value), Place.of(json.loads(place)), order, process, when)


def profiles_of(db: sqlite3.Connection) -> Iterator[Summary]:
    """Profiles in the order of time."""
    rows = db.execute("select process,name,place,value from profile order by time,id")
    for order, (process, name, place, value) in enumerate(rows):
        yield Summary(name, json.loads(value), Place.of(json.loads(place)), order, process)


def _series(db: sqlite3.Connection) -> Iterator[Series]:
    for number, process, name, place in db.execute("select id,process,name,place from series order by id"):
        blobs = [b for (b,) in db.execute("select points from chunk where series=? order by rowid", (number,))]
        points = np.frombuffer(b"".join(blobs), dtype=POINTS_DTYPE)
        yield Series(name, Place.of(json.loads(place)), points["s"].copy(), points["v"].copy(), process)
