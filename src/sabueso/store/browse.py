"""Browses a run for a screen: what series there are without reading a point, one of them reduced, facts by the page.

A run that is still going on (or whose supervisor was killed) is read from its logs, into a database in memory that is drained further at
each `look`; its folder is not touched.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from ..curves import BUCKETS, Curve, Heat, heat, marks, reduced, summarised
from ..errors import StoreError
from ..events import Fact, Summary
from ..places import Place
from .layout import LOGS, read_meta
from .reader import POINTS_DTYPE, facts_of, profiles_of, sealed
from .writer import Writer

COARSE = 4  # this many chunks a bucket and more: their summaries are enough
MOST_CLASSED = 64  # chunks with non-finite values that are opened to see which and where
LISTING = """select s.id, s.process, s.name, s.place, coalesce(sum(c.count), 0), min(c.first), max(c.last), min(c.low), max(c.high),
 coalesce(sum(c.nonfinite), 0) from series s left join chunk c on c.series = s.id group by s.id order by s.id"""


@dataclass(frozen=True, slots=True)
class Listed:
    """One series as a list shows it: no point of it was read."""

    number: int
    process: int
    name: str
    place: Place
    count: int
    first: int
    last: int
    low: float | None
    high: float | None
    nonfinite: int


class Browser:
    """The evidence of one run folder. Safe to use from several threads. Raises StoreError where the run can't be read."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._lock = folder, threading.RLock()
        self._writer: Writer | None = None
        self.changes = 0
        self.meta: dict[str, Any] = {}
        self._open()

    def _open(self) -> None:
        self.meta = read_meta(self.folder)
        self.live = any(self.folder.glob(LOGS)) and not sealed(self.folder)
        try:
            if self.live:
                self._writer = Writer(self.folder, ":memory:")
                self._db = self._writer.db
            else:
                self._writer = None
                self._db = sqlite3.connect(f"file:{quote(str(self.folder / 'run.db'))}?mode=ro", uri=True, check_same_thread=False)
            self.look()
            self._db.execute("select 1 from series limit 1")
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{self.folder / 'run.db'} can't be read ({error}); pick another run with `sabueso runs`") from error

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def look(self) -> int:
        """Take in what was recorded since; returns a number that is larger whenever there is something new."""
        with self._lock:
            if self._writer is not None:
                if not any(self.folder.glob(LOGS)):  # sealed in the meantime
                    self._db.close()
                    self._open()
                    self.changes += 1
                else:
                    moved = self._writer.drain()
                    self.changes += bool(moved)
            if "outcome" not in self.meta:
                self.meta = read_meta(self.folder)
                self.changes += "outcome" in self.meta
            return self.changes

    # ---- series

    def listing(self) -> list[Listed]:
        """Every series, from the summaries of its chunks alone."""
        with self._lock:
            return [self._with_tail(Listed(n, p, name, Place.of(json.loads(place)), *rest)) for n, p, name, place, *rest in self._db.execute(LISTING)]

    def curve(self, number: int, buckets: int = BUCKETS, first: int | None = None, last: int | None = None) -> Curve:
        """A series between two steps, reduced: from chunk summaries where a bucket covers whole chunks, else from its points."""
        with self._lock:
            low, high = -(1 << 62) if first is None else first, (1 << 62) if last is None else last
            asked = "from chunk where series = ? and last >= ? and first <= ?"
            chunks = self._db.execute(f"select count(*) {asked}", (number, low, high)).fetchone()[0]
            if chunks >= COARSE * buckets:
                return self._from_summaries(number, asked, (number, low, high), buckets)
            blobs = [b for (b,) in self._db.execute(f"select points {asked} order by rowid", (number, low, high))]
            steps, values = self._joined(blobs, number)
            inside = (steps >= low) & (steps <= high)
            return reduced(steps[inside], values[inside], buckets)

    def points(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """(steps, values) of a whole series, as they were recorded."""
        with self._lock:
            return self._joined([b for (b,) in self._db.execute("select points from chunk where series = ? order by rowid", (number,))], number)

    def heat(self, name: str, rows: list[tuple[int, str]], most_rows: int = 300, most_columns: int = 1000) -> Heat:
        """A heat map of series (number, label); all are read in one query."""
        with self._lock:
            held: dict[int, list[bytes]] = {number: [] for number, _ in rows}
            asked = "select series, points from chunk where series in (select id from series where name = ?) order by rowid"
            for number, points in self._db.execute(asked, (name,)):
                if number in held:
                    held[number].append(points)
            return heat(name, [(label, *self._joined(held[number], number)) for number, label in rows], most_rows, most_columns)

    def _joined(self, blobs: list[bytes], number: int) -> tuple[np.ndarray, np.ndarray]:
        points = np.frombuffer(b"".join(blobs), dtype=POINTS_DTYPE)
        steps, values = points["s"].astype(np.int64), points["v"].astype(float)
        more = self._writer.pending(number) if self._writer is not None else ([], [])
        return (np.append(steps, np.array(more[0], np.int64)), np.append(values, more[1])) if more[0] else (steps, values)

    def _from_summaries(self, number: int, asked: str, values: tuple[int, int, int], buckets: int) -> Curve:
        rows = self._db.execute(f"select first, last, count, low, high, total, nonfinite {asked} order by first", values).fetchall()
        first, _, count, low, high, total, bad = (np.array(c, float) for c in zip(*rows))
        finite = count - bad
        curve = summarised(first, low, high, np.nan_to_num(total), finite, buckets, np.zeros((0, 4)), int(count.sum()))
        spots = [(int(f), int(c)) for f, c in zip(first, bad) if c]
        curve.broken = np.concatenate([np.zeros((0, 4)), *(self._classes(number, f, c) for f, c in spots[:MOST_CLASSED]),
                                       *([[float(f), float(c), 0.0, 0.0]] for f, c in spots[MOST_CLASSED:])])  # fmt: skip
        return curve

    def _classes(self, number: int, first: int, _: int) -> np.ndarray:
        """What is not finite in one chunk, at its first step."""
        blob = self._db.execute("select points from chunk where series = ? and first = ?", (number, first)).fetchone()[0]
        points = np.frombuffer(blob, dtype=POINTS_DTYPE)
        bad = np.flatnonzero(~np.isfinite(points["v"]))
        return marks(points["s"][bad], points["v"][bad], np.zeros(len(bad)))

    def _with_tail(self, listed: Listed) -> Listed:
        steps, values = self._writer.pending(listed.number) if self._writer is not None else ([], [])
        if not steps:
            return listed
        good = [v for v in values if np.isfinite(v)]
        low, high = [x for x in (listed.low, *good) if x is not None], [x for x in (listed.high, *good) if x is not None]
        return Listed(listed.number, listed.process, listed.name, listed.place, listed.count + len(steps), listed.first if listed.count else steps[0],
                      steps[-1], min(low, default=None), max(high, default=None), listed.nonfinite + len(steps) - len(good))  # fmt: skip

    # ---- facts and profiles

    def facts(self, name: str | None = None, start: int = 0, most: int = -1) -> list[Fact]:
        """Facts in the order of time: all or those of a name, from one on."""
        with self._lock:
            return list(facts_of(self._db, name, start, most))

    def profiles(self, name: str | None = None) -> list[Summary]:
        """Profiles as they were recorded."""
        with self._lock:
            return [p for p in profiles_of(self._db) if name in (None, p.name)]

    def fact_counts(self) -> dict[str, int]:
        """How many facts of each name there are."""
        with self._lock:
            return dict(self._db.execute("select name, count(*) from fact group by name order by name"))

    def newest(self) -> float | None:
        """The time of the newest fact, in seconds since the epoch."""
        with self._lock:
            return self._db.execute("select max(time) from fact").fetchone()[0]
