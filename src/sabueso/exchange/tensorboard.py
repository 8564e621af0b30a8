"""TensorBoard's event files, read and written without it: TFRecord frames (u64 length, masked CRC-32C, bytes, masked CRC-32C) of Event messages.

Of the protocol buffers only what scalars need is known: Event{1 wall_time, 2 step, 3 file_version, 5 summary}, Summary{1 value},
Value{1 tag, 2 simple_value, 8 tensor}, TensorProto{1 dtype, 4 tensor_content, 5 float_val, 6 double_val}.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import StoreError, UsageError

POLYNOMIAL = 0x82F63B78  # Castagnoli, reflected
DOUBLE, FLOAT, LARGEST = 2, 1, 3.4028235e38


def _table() -> tuple[int, ...]:
    made = []
    for n in range(256):
        for _ in range(8):
            n = (n >> 1) ^ POLYNOMIAL if n & 1 else n >> 1
        made.append(n)
    return tuple(made)


TABLE = _table()


def masked(data: bytes) -> int:
    """CRC-32C as event files hold it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


# ---- writing


def write(folder: Path, curves: Iterable[tuple[str, Iterable[tuple[int, float]]]], wall: float | None = None) -> Path:
    """One event file of (tag, [(step, value)]) curves in a folder that is made. Raises UsageError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.getpid()}.sabueso"
        with open(path, "wb") as f:
            when = struct.pack("<d", wall if wall is not None else time.time())
            f.write(frame(b"\x09" + when + _field(3, b"brain.Event:2")))
            for tag, points in curves:
                for step, value in points:
                    f.write(frame(b"\x09" + when + b"\x10" + _varint(step) + _field(5, _field(1, _value(tag, value)))))
    except OSError as error:
        raise UsageError(f"{folder} can't be written ({error.strerror or error}); write elsewhere with -o") from error
    return path


def frame(data: bytes) -> bytes:
    """One record."""
    head = struct.pack("<Q", len(data))
    return head + struct.pack("<I", masked(head)) + data + struct.pack("<I", masked(data))


def _value(tag: str, value: float) -> bytes:
    """A scalar as everybody writes it; a finite number that float32 would turn into infinity goes as a double."""
    if abs(value) <= LARGEST or value != value or value in (float("inf"), float("-inf")):
        return _field(1, tag.encode()) + b"\x15" + struct.pack("<f", value)
    plugin = _field(9, _field(1, _field(1, b"scalars")))
    return _field(1, tag.encode()) + plugin + _field(8, b"\x08\x02\x12\x00" + _field(4, struct.pack("<d", value)))


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])


# ---- reading


def read(source: Path) -> dict[Path, dict[str, list[tuple[int, float]]]]:
    """By folder below `source`: by tag, the (step, value) of all its event files, sorted by step. Raises UsageError, StoreError."""
    files = [source] if source.is_file() else sorted(source.rglob("*tfevents*"))
    if not files:
        raise UsageError(f"there is no event file of TensorBoard in {source}: name the folder that `tensorboard --logdir` is given")
    found: dict[Path, dict[str, list[tuple[int, float]]]] = defaultdict(lambda: defaultdict(list))
    for path in files:
        for event in events(path):
            step, scalars = scalars_of(event)
            for tag, value in scalars:
                found[path.parent][tag].append((step, value))
    return {folder: {tag: sorted(points, key=lambda p: p[0]) for tag, points in curves.items()} for folder, curves in found.items()}


def events(path: Path) -> Iterator[bytes]:
    """The records of a file; a torn tail ends it. Raises StoreError where the file is of another kind or damaged."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} can't be read ({error.strerror or error})") from error
    at = 0
    while at + 12 <= len(data):
        length, check = struct.unpack_from("<QI", data, at)
        if masked(data[at : at + 8]) != check:
            raise StoreError(f"{path} is damaged at byte {at}, or no event file of TensorBoard")
        if at + 16 + length > len(data):
            return
        yield data[at + 12 : at + 12 + length]
        at += 16 + length


def scalars_of(event: bytes) -> tuple[int, list[tuple[str, float]]]:
    """(step, [(tag, value)]) of one Event."""
    step, found = 0, []
    for number, held in fields(event):
        if number == 2 and isinstance(held, int):
            step = held - (1 << 64) if held >> 63 else held
        elif number == 5 and isinstance(held, bytes):
            found += [scalar for n, value in fields(held) if n == 1 and isinstance(value, bytes) and (scalar := _scalar(value)) is not None]
    return step, found


def _scalar(value: bytes) -> tuple[str, float] | None:
    held = dict(fields(value))
    tag = held.get(1, b"").decode("utf-8", "replace")
    if 2 in held:
        return tag, struct.unpack("<f", held[2])[0]
    if 8 not in held or b"scalars" not in held.get(9, b"scalars"):
        return None
    tensor = dict(fields(held[8]))
    kind, raw = tensor.get(1), tensor.get(4) or tensor.get(5 if tensor.get(1) == FLOAT else 6)
    if kind not in (FLOAT, DOUBLE) or not isinstance(raw, bytes):
        return None
    found = np.frombuffer(raw, "<f4" if kind == FLOAT else "<f8")
    return (tag, float(found[0])) if len(found) == 1 else None


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """(number, value) of the fields of a protocol buffer: an int, or the bytes of what has a length or a fixed size."""
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        kind = key & 7
        if kind == 0:
            held, at = _read_varint(message, at)
        else:
            length, at = (8, at) if kind == 1 else (4, at) if kind == 5 else _read_varint(message, at)
            held, at = message[at : at + length], at + length
        yield key >> 3, held


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message):
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    return value, at
