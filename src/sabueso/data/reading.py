"""What a person gives as a table: a path, a query on SQLite, a frame, arrays. DuckDB reads where it is installed, NumPy else."""

from __future__ import annotations

import csv
import glob
import os
import shutil
import sqlite3
import tempfile
import weakref
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..capture import summarise
from ..errors import UsageError
from .by_duckdb import Scan, connect, literal, quote, said
from .by_numpy import Arrays

Table = Arrays | Scan
CELLS = 4_000_000  # a frame in memory with more is counted by DuckDB where it is there: texts are slow as Python objects
TEXT, PARQUET, ARROW, JSON = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz"), (".parquet", ".pq"), (".arrow", ".feather", ".ipc"), (".json", ".jsonl", ".ndjson")
SQLITE = (".db", ".sqlite", ".sqlite3")


class Reader:
    """Opens tables, all of one check by the same engine, so that their rows can be told alike."""

    def __init__(self, sources: list[Any], memory: str | None = None) -> None:
        there = find_spec("duckdb") is not None
        self.connection = None
        if there and any(map(_wants_engine, sources)):
            folder = tempfile.mkdtemp(prefix="sabueso-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)  # what spilled is gone with the reader
            self.connection = connect(_duckdb(), folder, memory)
        self._count = 0

    def tables(self, given: dict[str, Any]) -> dict[str, Table]:
        """All tables of a check; where all are small they are taken into memory."""
        opened = {role: self.open(source, role) for role, source in given.items()}
        if all(t.rows * len(t.names) <= CELLS for t in opened.values()):
            return {r: t.in_memory() if isinstance(t, Scan) else t for r, t in opened.items()}
        return opened

    def open(self, source: Any, name: str) -> Table:
        """A table by path, query or frame. Raises UsageError with one line that says what is wrong."""
        if isinstance(source, (str, os.PathLike)):
            table = self._path(os.fspath(source))
        else:
            table = self._frame(source, name)
        if not table.names:
            raise UsageError(f"{table.name} has no columns; is it a table?")
        if not table.rows:
            raise UsageError(f"{table.name} has no rows: there is nothing to check")
        return table

    # ---- files

    def _path(self, path: str) -> Table:
        path, _, query = path.partition("::")
        files = [path] if os.path.exists(path) else sorted(glob.glob(path))
        if not files:
            raise UsageError(f"{path}: there is no such file")
        if os.path.isdir(path):
            path = os.path.join(path, "**", "*.parquet")
            if not glob.glob(path, recursive=True):
                raise UsageError(f"{os.path.dirname(os.path.dirname(path))} holds no Parquet file")
        elif os.path.getsize(files[0]) == 0:
            raise UsageError(f"{path} is empty")
        name, lower = os.path.basename(path), path.lower()
        if lower.endswith(SQLITE):
            return self._sqlite(path, query)
        if self.connection is None:
            return _file_by_hand(path, name)
        if lower.endswith(PARQUET):
            return Scan(self.connection, f"read_parquet({literal(path)})", name, path)
        if lower.endswith(TEXT):
            with open(files[0], "rb") as held:
                if held.read(2) in (b"\xff\xfe", b"\xfe\xff"):
                    raise UsageError(f"{name} is written in UTF-16; save it as UTF-8")
            return self._text(path, name)
        if lower.endswith(JSON):
            return self._kept(f"read_json_auto({literal(path)})", name, path)
        return self._frame(_arrow(path), name, path)

    def _text(self, path: str, name: str) -> Table:
        """A text file is parsed once, into a table that spills to disk; lines that do not fit are kept apart and told."""
        try:
            table = self._parsed(path, name, {})
        except UsageError as error:
            if "sniff" not in str(error).lower():
                raise  # no common shape in the first lines
            return self._kept(f"read_csv({literal(path)}, header = true, all_varchar = true, null_padding = true, strict_mode = false)", name, path)
        mixed = self._mistaken(len(table.names))
        if mixed:  # a cell of another type is no reason to lose its row
            table = self._parsed(path, name, dict.fromkeys(mixed, "VARCHAR"))
        lost = self._lost("SELECT line, any_value(error_type), any_value(csv_line) FROM {} GROUP BY line ORDER BY line LIMIT 50")
        if lost:
            count = self._lost("SELECT count(DISTINCT line) FROM {}")[0][0]
            fields = [r for r in lost if "CAST" not in str(r[1])] or lost
            why = str(fields[0][1]).lower().replace("cast", "another number of fields")
            table.lost = {"count": int(count), "lines": [int(r[0]) for r in lost], "why": why, "example": str(lost[0][2])[:120]}
        return table

    def _parsed(self, path: str, name: str, types: dict[str, str]) -> Scan:
        self._rejects = f"lost_{self._count}"
        more = f"store_rejects = true, rejects_table = '{self._rejects}', rejects_scan = '{self._rejects}_scan', sample_size = 20480"
        more += f", types = {{{', '.join(f'{literal(c)}: {literal(t)}' for c, t in types.items())}}}" if types else ""
        return self._kept(f"read_csv({literal(path)}, {more})", name, path)

    def _lost(self, sql: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql.format(self._rejects)).fetchall()

    def _mistaken(self, width: int) -> list[str]:
        """Columns of which a whole line has a cell of another type than the first lines let expect."""
        delimiter = self._lost("SELECT delimiter FROM {}_scan LIMIT 1")
        rows = self._lost("SELECT column_name, csv_line FROM {} WHERE error_type = 'CAST' LIMIT 2000") if delimiter else []
        whole = (c for c, line in rows if line and len(next(csv.reader([line], delimiter=delimiter[0][0]), [])) == width)
        return list(dict.fromkeys(whole))

    def _kept(self, source: str, name: str, path: str) -> Scan:
        self._count += 1
        kept = f"kept_{self._count}"
        try:
            self.connection.execute(f"CREATE TEMP TABLE {kept} AS SELECT * FROM {source}")
        except Exception as error:
            raise UsageError(f"{name} can't be read: {said(error)}") from error
        return Scan(self.connection, kept, name, path)

    def _sqlite(self, path: str, query: str) -> Table:
        """A table or query of a SQLite file, read by the standard library."""
        try:
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as held:
                tables = [r[0] for r in held.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
                if not query and len(tables) != 1:
                    raise UsageError(f"{path} holds {len(tables)} tables; say which, as in {path}::{tables[0] if tables else 'TABLE'} or {path}::'SELECT ..'")
                query = query or tables[0]
                cursor = held.execute(query if " " in query.strip() else f'SELECT * FROM "{query}"')
                names, rows = [d[0] for d in cursor.description], cursor.fetchall()
        except sqlite3.Error as error:
            raise UsageError(f"{path} can't be read: {error}") from error
        columns = list(zip(*rows)) if rows else [()] * len(names)
        word = query.split()
        at = [w.lower() for w in word]
        name = word[at.index("from") + 1].strip('"`;') if "from" in at[:-1] else query
        return _arrays(name, {n: _objects(list(c)) for n, c in zip(unrepeated(names), columns)}, file=path)

    # ---- frames and arrays

    def _frame(self, x: Any, name: str, file: str | None = None) -> Table:
        lib = summarise.library(x)
        if type(x).__name__ == "LazyFrame" and hasattr(x, "collect"):
            x, lib = x.collect(), "polars"
        if summarise.is_frame(x):
            seen = self._seen(x, lib) if self.connection is not None and summarise.height(x) else None
            if seen is not None:
                return Scan(self.connection, seen, name, file)
            return _arrays(name, dict(zip(unrepeated(summarise.columns_of(x)), _columns(x, lib))), file)
        if isinstance(x, dict):
            return _arrays(name, {str(k): _array(np.asarray(v)) for k, v in x.items()}, file)
        held = x.detach().cpu().numpy() if lib == "torch" else np.asarray(x) if lib in ("numpy", "") and hasattr(x, "__len__") else None
        if held is None or held.ndim not in (1, 2) or held.dtype.kind not in "iufbOUSmM":
            raise UsageError(f"{name}: a {type(x).__name__} is no table; give a path, a frame, a dictionary of columns or a two-dimensional array")
        if not held.size:
            raise UsageError(f"{name} has no rows: there is nothing to check")
        held = held.reshape(len(held), -1)
        return _arrays(name, {f"column {j}": _array(held[:, j]) for j in range(held.shape[1])}, file)

    def _seen(self, x: Any, lib: str) -> str | None:
        """A frame registered with DuckDB as it lies in memory; None where it can't be."""
        self._count += 1
        names = summarise.columns_of(x)
        if len({n.lower() for n in names}) < len(names):
            if lib != "pandas":
                return None
            x = x.set_axis(unrepeated(names), axis=1)
        try:
            self.connection.register(f"frame_{self._count}", x.to_arrow() if lib == "polars" else x)
            doubtful = [quote(c) for c in x.columns if getattr(x[c].dtype, "kind", "") in "OM"] if lib == "pandas" else []
            self.connection.execute(f"SELECT {', '.join(f'max({c})' for c in doubtful) or '1'} FROM frame_{self._count}").fetchall()
        except Exception:  # a column of mixed objects, a type that it does not know
            return None
        return f"frame_{self._count}"


def _duckdb() -> Any:
    import duckdb

    return duckdb


def _wants_engine(source: Any) -> bool:
    """Files, and frames of so many cells that Python objects would be slow."""
    if isinstance(source, (str, os.PathLike)):
        return True
    shape = getattr(source, "shape", None)
    return summarise.is_frame(source) and shape is not None and len(shape) == 2 and shape[0] * shape[1] > CELLS


def unrepeated(names: list[str]) -> list[str]:
    """Names made distinct (without regard to case, as SQL does): a, a_1, a_2."""
    met: dict[str, int] = {}
    made = []
    for name in map(str, names):
        times = met.get(name.lower(), 0)
        met[name.lower()] = times + 1
        made.append(name if not times else f"{name}_{times}")
    return made


def _columns(x: Any, lib: str) -> list[np.ndarray]:
    if lib == "pandas":
        return [_array(x.iloc[:, j]) for j in range(x.shape[1])]
    return [_array(c) for c in (x.columns if lib == "pyarrow" else x.get_columns())]


def _array(x: Any) -> np.ndarray:
    """A column as NumPy, its times kept as such until their kind is known."""
    dtype = str(getattr(x, "dtype", getattr(x, "type", "")))
    if dtype.startswith(("datetime", "Datetime", "timestamp", "date", "Date")) and hasattr(x, "to_numpy"):
        held = np.asarray(x.to_numpy(zero_copy_only=False) if dtype.startswith(("timestamp", "date32")) and not hasattr(x, "chunks") else x.to_numpy())
        return held if held.dtype.kind == "M" else _objects(held.tolist())
    if dtype.lower().startswith("decimal"):
        return _objects(x.to_list() if hasattr(x, "to_list") else x.to_pylist())
    if getattr(getattr(x, "dtype", None), "kind", "") == "O":
        return _objects(list(x))
    return np.asarray(x) if isinstance(x, np.ndarray) and x.dtype.kind in "mM" else summarise.values(x)


def _objects(found: list[Any]) -> np.ndarray:
    """Python objects as a column: numbers (decimals too) as float64, times as datetime64, all else as text."""
    held = [None if v is None or v != v or type(v).__name__ in ("NAType", "NaTType") else v for v in map(_bare, found)]
    kinds = {type(v).__name__ for v in held if v is not None}
    if kinds <= {"int", "float", "bool", "Decimal", "Fraction"} or all(isinstance(v, (int, float, np.number)) for v in held if v is not None):
        return np.array([np.nan if v is None else float(v) for v in held], np.float64)
    if kinds <= {"date", "datetime", "Timestamp"}:
        return np.array([None if v is None else v.replace(tzinfo=None) if hasattr(v, "tzinfo") else v for v in held], "datetime64[us]")
    return np.array([None if v is None else v if isinstance(v, str) else str(v) for v in held], object)


def _bare(v: Any) -> Any:
    """An array as its text: it can't be compared with itself."""
    return str(v) if isinstance(v, (np.ndarray, list, tuple, dict, set)) else v


def _arrays(name: str, columns: dict[str, np.ndarray], file: str | None = None) -> Arrays:
    kinds = {n: {"O": "text", "b": "bool", "M": "time", "m": "time"}.get(c.dtype.kind, "number") for n, c in columns.items()}
    return Arrays(name, {n: _seconds(c) if c.dtype.kind in "mM" else c for n, c in columns.items()}, kinds, file)


def _seconds(x: np.ndarray) -> np.ndarray:
    """Times as float64 seconds; in microseconds, so that dates before 1678 are told too."""
    whole = x.astype("datetime64[us]" if x.dtype.kind == "M" else "timedelta64[us]").astype(np.int64)
    return np.where(np.isnat(x), np.nan, whole / 1e6)


def _arrow(path: str) -> Any:
    try:
        from pyarrow import feather

        return feather.read_table(path)
    except ImportError as error:
        raise UsageError(f"{path}: what it holds is told by pyarrow, which is not installed; save it as Parquet or CSV") from error
    except Exception as error:
        raise UsageError(f"{path} is no table that can be read: {said(error)}") from error


def _file_by_hand(path: str, name: str) -> Arrays:
    """A file without DuckDB: text by the standard library, Parquet by pyarrow where it is there."""
    if path.lower().endswith(TEXT) and not path.lower().endswith(".gz"):
        return _csv(path, name)
    if path.lower().endswith(PARQUET) and find_spec("pyarrow") is not None:
        from pyarrow import parquet

        try:
            table = parquet.read_table(path)
        except Exception as error:
            raise UsageError(f"{name} can't be read: {said(error)}") from error
        return _arrays(name, dict(zip(unrepeated(table.column_names), _columns(table, "pyarrow"))), path)
    raise UsageError(f"{name} is read by DuckDB, which is not installed: pip install 'sabueso[data]'")


def _csv(path: str, name: str) -> Arrays:
    with open(path, encoding="utf-8", errors="replace", newline="") as held:
        head = held.read(20_000)
        held.seek(0)
        try:
            dialect: Any = csv.Sniffer().sniff(head, ",;\t|")
        except csv.Error:
            dialect = csv.excel
        rows = [r for r in csv.reader((line.replace("\0", "") for line in held), dialect) if r]
    width, header = len(rows[0]) if rows else 0, rows[0] if rows else []
    fit = [r for r in rows[1:] if len(r) == width]
    made = _arrays(name, {n: _typed([r[j] for r in fit]) for j, n in enumerate(unrepeated(header))}, path)
    if len(fit) < len(rows) - 1:
        odd = [i + 1 for i, r in enumerate(rows) if len(r) != width]
        made.lost = {"count": len(odd), "lines": odd[:50], "why": "another number of fields", "example": ",".join(rows[odd[0] - 1])[:120]}
    return made


def _typed(texts: list[str]) -> np.ndarray:
    held = [None if t == "" else t for t in texts]
    try:
        return np.array([np.nan if v is None else float(v) for v in held], np.float64)
    except ValueError:
        return np.array(held, object)
