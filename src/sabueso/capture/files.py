"""Files: which files of arrays the program has read and on which line; read again only when a row is looked for after trouble."""

from __future__ import annotations

import json
import os
import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .origin import user_line
from .recorder import Recorder

MOST_FILES = 400  # whose names are kept
MOST_BYTES = 300_000_000  # of a file that is read again
MOST_SECONDS = 2.0


@dataclass(slots=True)
class Stored:
    """One array of a file: the file, its key there, the values, and the person's line that read the file."""

    path: str
    key: str
    values: np.ndarray
    file: str | None
    line: int | None


class Files:
    """What was read, newest last. One a recorder: see `of`."""

    def __init__(self) -> None:
        self.read: OrderedDict[str, tuple[str | None, int | None]] = OrderedDict()

    def note(self, path: Any) -> None:
        """A file was read on the person's present line."""
        try:
            name = os.path.abspath(os.fspath(path))
        except TypeError:  # a stream
            return
        self.read.pop(name, None)
        self.read[name] = user_line()
        while len(self.read) > MOST_FILES:
            self.read.popitem(last=False)

    def stored(self) -> Iterator[Stored]:
        """The arrays of the files read, newest first, within a bounded time. Nothing that runs code is opened."""
        ends = time.monotonic() + MOST_SECONDS
        for path, (file, line) in reversed(self.read.items()):
            if time.monotonic() > ends:
                return
            try:
                if os.path.getsize(path) <= MOST_BYTES:
                    yield from (Stored(path, key, values, file, line) for key, values in arrays(path))
            except (OSError, ValueError, KeyError):
                continue


def arrays(path: str) -> Iterator[tuple[str, np.ndarray]]:
    """(key, values) of the numbers in a file of arrays; pickled ones are left alone."""
    if path.endswith(".npy"):
        yield "", np.load(path, mmap_mode="r", allow_pickle=False)
    elif path.endswith(".npz"):
        with np.load(path, allow_pickle=False) as archive:
            for key in archive.files:
                try:
                    yield key, archive[key]
                except ValueError:  # an array of objects
                    continue
    elif path.endswith(".safetensors"):
        yield from safetensors(path)


def safetensors(path: str) -> Iterator[tuple[str, np.ndarray]]:
    """The format is a length, a JSON header and plain bytes: read without the library."""
    kinds = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1", "U8": "<u1"}
    with open(path, "rb") as f:
        size = int.from_bytes(f.read(8), "little")
        head = json.loads(f.read(size))
    for key, entry in head.items():
        if key != "__metadata__" and entry["dtype"] in kinds and all(entry["shape"]):
            begin, _ = entry["data_offsets"]
            yield key, np.memmap(path, kinds[entry["dtype"]], "r", 8 + size + begin, tuple(entry["shape"]))


def of(recorder: Recorder) -> Files:
    """The files of a recorder, made at the first call."""
    return recorder.shared.setdefault("files", Files())
