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

from .layout import CHUNK, DEFINE, FACT, LOGS, OWN_ERROR, POINT, POINTS, PROFILE, SCHEMA, START, STEP, VERSION
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
    name: str
    steps: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)


class Writer:
    """Call `drain` now and then, and `close` at the end: it drains what is left, marks the run sealed and removes the logs.

    Logs are whole until then, so that a run whose writer died or met a full disk is still read from them (`database=":memory:"`).
    """

    def __init__(self, folder: Path, database: str | None = None) -> None:
        self.folder = folder
        self.db = sqlite3.connect(database or folder / "run.db", isolation_level=None, check_same_thread=False)
        self.db.execute("pragma synchronous=off")
        if not self.db.execute("select 1 from sqlite_master where name='meta'").fetchone():
            self.db.executescript(SCHEMA)
            self.db.execute("insert into meta values('layout', ?)", (str(VERSION),))
        self.whole = True  # False once a draining failed: then the database lacks something that the logs hold
        self._at: dict[Path, int] = {}
        self._met: set[Path] = set()
        self._series: dict[tuple[Path, int], _Open] = {}
        self._by_number: dict[int, _Open] = {}

    def drain(self) -> int:
        """Move what the logs hold by now; returns the number of records. Raises sqlite3.Error or OSError."""
        moved = 0
        try:
            self.db.execute("begin")
            for path in sorted(self.folder.glob(LOGS)):
                self._met.add(path)
                process = int(path.stem.split("-")[0])
                for kind, when, payload, behind in records(path, self._at.get(path, START)):
                    self._at[path] = behind
                    self._take(path, process, kind, when, payload)
                    moved += 1
            self.db.execute("commit")
        except BaseException:
            self.whole = False
            if self.db.in_transaction:
                self.db.execute("rollback")
            raise
        return moved

    def last(self, name: str) -> tuple[int, float] | None:
        """(step, value) of the newest point of a series that is being gathered."""
        held = [s for s in self._series.values() if s.name == name and s.steps]
        return max((s.steps[-1], s.values[-1]) for s in held) if held else None

    def pending(self, number: int) -> tuple[list[int], list[float]]:
        """(steps, values) of a series, by its number in the database, that are not in a chunk yet."""
        held = self._by_number.get(number)
        return (held.steps, held.values) if held is not None else ([], [])

    def seal(self) -> None:
        """Drain the last and write what is gathered of each series."""
        self.drain()
        self.db.execute("begin")
        for held in self._series.values():
            self._seal(held)
        if self.whole:
            self.db.execute("insert or replace into meta values('sealed', '1')")
        self.db.execute("commit")

    def close(self) -> None:
        """Seal the run and remove the logs, unless the database lacks what they hold."""
        try:
            self.seal()
        finally:
            self.db.close()
        if self.whole:
            for path in self._met:
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
            opened = self._series[path, data["s"]] = _Open(int(row.lastrowid or 0), data["n"])
            self._by_number[opened.number] = opened
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
        points = struct.pack("<" + "qd" * len(held.steps), *(x for pair in zip(held.steps, held.values) for x in pair))
        good = [v for v in held.values if math.isfinite(v)]
        low, high, total = (min(good), max(good), sum(good)) if good else (None, None, None)
        count = len(held.steps)
        row = (held.number, held.steps[0], held.steps[-1], count, low, high, total, count - len(good), points)
        self.db.execute("insert into chunk values(?,?,?,?,?,?,?,?,?)", row)
        held.steps, held.values = [], []
