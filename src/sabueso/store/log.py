"""One process's evidence: an append-only memory-mapped file. What was put survives `kill -9`, since the pages are the kernel's."""

from __future__ import annotations

import json
import mmap
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .layout import MAGIC, POINT, POINTS, RECORD, START, STEP, USED

try:
    from .._native import put_points
except ImportError:
    put_points = None  # type: ignore[assignment]

FIRST, GROW = 1 << 16, 1 << 20  # bytes taken at first and later on: a program may start thousands of short processes


class Log:
    """Appends records to a new file. Raises OSError when it exists, the folder can't be written or the disk is full."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = open(path, "x+b")  # noqa: SIM115 (kept open for the life of the process)
        self._reserve(FIRST)
        self._map = mmap.mmap(self._file.fileno(), FIRST)
        self._size, self._used, self._pid = FIRST, START, os.getpid()
        self._map[: len(MAGIC)] = MAGIC
        self._publish()

    def put(self, kind: int, payload: bytes) -> None:
        """Append one record; a few microseconds."""
        at, length = self._used, RECORD.size + len(payload)
        if at + length > self._size:
            self._grow(max(GROW, length))
        self._map[at + RECORD.size : at + length] = payload
        RECORD.pack_into(self._map, at, length, kind, 0, time.time())
        self._used = at + length
        self._publish()

    def put_points(self, step: int, pairs: list[tuple[int, float]]) -> bool:
        """Append one block of points, if this can be done in one go: no room left, a forked process or no native module are the caller's."""
        at = put_points(self._map, self._used, self._size, self._pid, POINTS, step, pairs) if put_points is not None else 0
        if at > 0:
            self._used = at
        return at > 0

    def close(self) -> None:
        """Give back the room that was not used."""
        self._map.close()
        self._file.truncate(self._used)
        self._file.close()

    def _publish(self) -> None:
        USED.pack_into(self._map, len(MAGIC), self._used)

    def _grow(self, more: int) -> None:
        self._reserve(self._size + more)
        self._size += more
        self._map.resize(self._size)

    def _reserve(self, size: int) -> None:
        """Take the room on disk now: on a full disk a write into a sparse map would be a bus error in the person's program."""
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(self._file.fileno(), 0, size)
        else:
            self._file.truncate(size)


def encode(value: dict[str, Any]) -> bytes:
    """JSON with NaN and infinities, and with NumPy's scalars and arrays as plain numbers and lists."""
    return json.dumps(value, default=plain, separators=(",", ":")).encode("utf-8", "backslashreplace")


def block(step: int, pairs: list[tuple[int, float]]) -> bytes:
    """The payload of a block of points."""
    return STEP.pack(step) + b"".join([POINT.pack(s, v) for s, v in pairs])


def plain(value: Any) -> Any:
    """What JSON does not know, as what it does."""
    for kind in (set, frozenset, tuple):
        if isinstance(value, kind):
            return list(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def records(path: Path, start: int = START) -> Iterator[tuple[int, float, bytes, int]]:
    """(kind, time, payload, offset behind it) of each whole record from `start` on; a torn tail is left for the next reading."""
    with open(path, "rb") as f:
        head = f.read(START)
        if len(head) < START or head[: len(MAGIC)] != MAGIC:
            return
        used = USED.unpack_from(head, len(MAGIC))[0]
        f.seek(start)
        data = f.read(max(0, min(used, os.fstat(f.fileno()).st_size) - start))
    at = 0
    while at + RECORD.size <= len(data):
        try:
            length, kind, _, when = RECORD.unpack_from(data, at)
        except struct.error:
            return
        if length < RECORD.size or at + length > len(data):
            return
        yield kind, when, data[at + RECORD.size : at + length], start + at + length
        at += length
