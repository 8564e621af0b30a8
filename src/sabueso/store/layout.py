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

import struct

VERSION = 1
MAGIC = b"SBSOLOG1"
USED = struct.Struct("<Q")
RECORD = struct.Struct("<IHHd")
START = len(MAGIC) + USED.size

DEFINE, POINTS, FACT, PROFILE, OWN_ERROR = 1, 2, 3, 4, 5
STEP = struct.Struct("<q")
POINT = struct.Struct("<Id")

CHUNK = 1024  # points of a series in one row
POINT_BYTES = 16  # i64 step, f64 value

SCHEMA = """
create table meta(key text primary key, value text) without rowid;
create table series(id integer primary key, process integer, name text, place text);
create table chunk(series integer, first integer, last integer, count integer, low real, high real, total real, nonfinite integer, points blob);
create index chunk_series on chunk(series, first);
create table fact(id integer primary key, process integer, time real, name text, place text, value text);
create index fact_name on fact(name);
create table profile(id integer primary key, process integer, time real, name text, place text, value text);
create index profile_name on profile(name);
create table own_error(id integer primary key, process integer, time real, value text);
"""
