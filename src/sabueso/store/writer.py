"""Drains the processes' logs into the run's one SQLite file, of which this is the only writer."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import struct
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .layout import CHUNK, DEFINE, FACT, OWN_ERROR, POINT, POINT_BYTES, POINTS, PROFILE, SCHEMA, START, STEP, VERSION
from .log import records


def create_folder(home: Path, name: str, meta: dict[str, Any]) -> Path:
    """Make a run folder `<time>-<name>` under `home` with its own .gitignore. Raises OSError if it can't be written."""
    home.mkdir(parents=True, exist_ok=True)
    ignore = home.parent / ".gitignore" if home.name == "runs" else home / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")
    stem = time.strftime("%Y%m%d-%H%M%S") + "-" + "".join(c if c.isalnum() or c in "-_." else "-" for c in name)[:40]
    for n in range(1000):
        folder = home / (stem if n == 0 else f"{stem}-{n}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        write_meta(folder, {"layout": VERSION, "id": folder.name, **meta})
        return folder
    raise OSError(f"no free run folder name for {stem} in {home}")


def write_meta(folder: Path, meta: dict[str, Any]) -> None:
    """Replace run.json in one move, so that a reader never sees half of it."""
    part = folder / "run.json.part"
    part.write_text(json.dumps(meta, indent=1, default=str))
    os.replace(part, folder / "run.json")


@dataclass
class _Open:
    """One series being gathered into its next chunk."""

    number: int
    steps: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)


class Writer:
    """Call `drain` now and then, and `close` at the end (it drains what is left and removes the logs)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.db = sqlite3.connect(folder / "run.db", isolation_level=None, check_same_thread=False)
        self.db.execute("pragma synchronous=off")
        if not self.db.execute("select 1 from sqlite_master where name='meta'").fetchone():
            self.db.executescript(SCHEMA)
            self.db.execute("insert into meta values('layout', ?)", (str(VERSION),))
        self._at: dict[Path, int] = {}
        self._series: dict[tuple[Path, int], _Open] = {}

    def drain(self) -> int:
        """Move what the logs hold by now; returns the number of records."""
        moved = 0
        self.db.execute("begin")
        try:
            for path in sorted(self.folder.glob("*.log")):
                process = int(path.stem.split("-")[0])
                for kind, when, payload, behind in records(path, self._at.get(path, START)):
                    self._at[path] = behind
                    self._take(path, process, kind, when, payload)
                    moved += 1
        finally:
            self.db.execute("commit")
        return moved

    def close(self) -> None:
        self.drain()
        self.db.execute("begin")
        for held in self._series.values():
            self._seal(held)
        self.db.execute("commit")
        self.db.close()
        for path in self._at:
            path.unlink(missing_ok=True)

    def _take(self, path: Path, process: int, kind: int, when: float, payload: bytes) -> None:
        if kind == POINTS:
            self._points(path, payload)
            return
        try:
            data = json.loads(payload)
        except ValueError:
            return
        if kind == DEFINE:
            row = self.db.execute("insert into series(process,name,place) values(?,?,?)", (process, data["n"], json.dumps(data["p"])))
            self._series[path, data["s"]] = _Open(int(row.lastrowid or 0))
        elif kind in (FACT, PROFILE):
            table = "fact" if kind == FACT else "profile"
            row_values = (process, when, data["n"], json.dumps(data["p"]), json.dumps(data["v"]))
            self.db.execute(f"insert into {table}(process,time,name,place,value) values(?,?,?,?,?)", row_values)
        elif kind == OWN_ERROR:
            self.db.execute("insert into own_error(process,time,value) values(?,?,?)", (process, when, json.dumps(data)))

    def _points(self, path: Path, payload: bytes) -> None:
        try:
            step = STEP.unpack_from(payload)[0]
            pairs = list(POINT.iter_unpack(payload[STEP.size :]))
        except struct.error:
            return
        for number, value in pairs:
            held = self._series.get((path, number))
            if held is not None:
                held.steps.append(step)
                held.values.append(value)
                if len(held.steps) >= CHUNK:
                    self._seal(held)

    def _seal(self, held: _Open) -> None:
        if not held.steps:
            return
        points = np.empty(len(held.steps), dtype=[("s", "<i8"), ("v", "<f8")])
        points["s"], points["v"] = held.steps, held.values
        good = points["v"][np.isfinite(points["v"])]
        low, high, total = (float(good.min()), float(good.max()), math.fsum(good)) if len(good) else (None, None, None)
        row = (held.number, held.steps[0], held.steps[-1], len(points), low, high, total, len(points) - len(good), points.tobytes())
        self.db.execute("insert into chunk values(?,?,?,?,?,?,?,?,?)", row)
        held.steps, held.values = [], []


assert POINT_BYTES == np.dtype([("s", "<i8"), ("v", "<f8")]).itemsize
