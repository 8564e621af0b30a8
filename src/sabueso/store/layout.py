"""What lies on disk, its version, and what each version changed.

A run is a folder `<time>-<name>/`:
  run.json        identity: id, command, cwd, started, version of the layout; completed with outcome and exit status at the end
  <pid>-<n>.log   one append-only memory-mapped log a watched process (removed once it is drained)
  run.db          SQLite: series in chunks, facts, profiles, the diagnosis; the parent is its only writer
  tensors/        tensors kept as evidence, safetensors

Log file: 8 bytes magic, u64 bytes used, then records: u32 length (header included), u16 kind, u16 spare, f64 time, payload.
Little endian. No pickle is ever read.

Versions: 1 the first.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from ..errors import StoreError, UsageError

VERSION = 1
LOGS = "[0-9]*-[0-9]*.log"
MAGIC = b"SBSOLOG1"
USED = struct.Struct("<Q")
RECORD = struct.Struct("<IHHd")
START = len(MAGIC) + USED.size

DEFINE, POINTS, FACT, PROFILE, OWN_ERROR = 1, 2, 3, 4, 5
STEP = struct.Struct("<q")
POINT = struct.Struct("<Id")

CHUNK = 1024  # points of a series in one row

SCHEMA = """
create table meta(key text primary key, value text) without rowid;
create table series(id integer primary key, process integer, name text, place text);
create table chunk(
  series integer, first integer, last integer, count integer, low real, high real, total real, nonfinite integer, points blob);
create index chunk_series on chunk(series, first);
create table fact(id integer primary key, process integer, time real, name text, place text, value text);
create index fact_name on fact(name);
create table profile(id integer primary key, process integer, time real, name text, place text, value text);
create index profile_name on profile(name);
create table own_error(id integer primary key, process integer, time real, value text);
"""


def read_meta(folder: Path) -> dict[str, Any]:
    """run.json. Raises StoreError where it is missing, damaged, or of a newer layout."""
    try:
        meta = json.loads((folder / "run.json").read_text())
        layout = int(meta["layout"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{folder} holds no readable run ({error}); pick another with `sabueso runs`") from error
    if layout > VERSION:
        raise StoreError(f"{folder} was written by a newer sabueso (layout {layout}, this one reads up to {VERSION}); upgrade sabueso to read it")
    return dict(meta)


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
