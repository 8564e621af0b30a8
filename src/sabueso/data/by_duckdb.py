"""Tables of any size by DuckDB: one scan for all columns, out of core, counted on the same edges as in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import UsageError
from ..profiles import LENGTHS, Profile
from .by_numpy import Arrays
from .plans import SAMPLE, Plan, settled

MEMORY = "3GB"  # before it spills to disk
AT_ONCE = 100  # columns of one query
NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL")
TEXTS = ("VARCHAR", "ENUM", "UUID", "TIME", "INTERVAL")


def kind_of(dtype: str) -> str:
    """number, bool, time, text or other of a type of DuckDB's."""
    if dtype.endswith("]") or dtype.startswith(("STRUCT", "MAP", "UNION")):
        return "other"
    if dtype.startswith(("DATE", "TIMESTAMP")):
        return "time"
    base = dtype.partition("(")[0]
    return "number" if base in NUMBERS else "bool" if base == "BOOLEAN" else "text" if base.startswith(TEXTS) else "other"


class Scan:
    """A table that a connection to DuckDB sees as `source` (a view, a registered frame, a function that reads files)."""

    engine = "duckdb"

    def __init__(self, connection: Any, source: str, name: str, file: str | None = None) -> None:
        self.connection, self.source, self.name, self.file = connection, source, name, file
        described = self._all(f"DESCRIBE SELECT * FROM {source}")
        self.types = {str(row[0]): str(row[1]) for row in described}
        self.kinds = {n: kind_of(t) for n, t in self.types.items()}
        self.names = list(self.types)
        self.rows = int(self._all(f"SELECT count(*) FROM {source}")[0][0])
        self.lost: dict[str, Any] | None = None

    def _all(self, sql: str, given: list[Any] | None = None) -> list[tuple[Any, ...]]:
        return self._run(sql, given).fetchall()

    def _run(self, sql: str, given: list[Any] | None = None) -> Any:
        try:
            return self.connection.execute(sql, given or [])
        except Exception as error:  # any error of DuckDB's: a truncated file, a value that its type can't hold
            raise UsageError(f"{self.name} can't be read: {said(error)}") from error

    def read(self, name: str) -> str:
        """A column as an expression: numbers as DOUBLE, times as seconds, texts as VARCHAR."""
        quoted, kind = quote(name), self.kinds[name]
        if kind in ("number", "bool"):
            return quoted if self.types[name] == "DOUBLE" else f"CAST({quoted} AS DOUBLE)"
        if kind == "time":
            return f"epoch(CAST({quoted} AS TIMESTAMP))" if self.types[name].startswith("TIMESTAMP_") else f"epoch({quoted})"
        return f"CAST({quoted} AS VARCHAR)" if kind == "text" else f"CASE WHEN {quoted} IS NULL THEN NULL ELSE 'value' END"

    def _every(self) -> int:
        return max(1, -(-self.rows // SAMPLE))

    def rows_of_sample(self) -> np.ndarray:
        """Positions of evenly spread rows."""
        return np.arange(0, self.rows, self._every())

    def sample(self) -> dict[str, np.ndarray]:
        """Evenly spread rows, in order."""
        made: dict[str, np.ndarray] = {}
        for names in batches(self.names, 10 * AT_ONCE):
            columns = ", ".join(f"{self.read(n)} AS {quote(n)}" for n in names)
            where = f" WHERE sabueso_row % {self._every()} = 0" if self._every() > 1 else ""
            source = f"(SELECT *, row_number() OVER () - 1 AS sabueso_row FROM {self.source})" if where else self.source
            made |= self._arrays(f"SELECT {columns} FROM {source}{where}", names)
        return made

    def in_memory(self) -> Arrays:
        """The same table as arrays: a small one is counted faster so."""
        columns: dict[str, np.ndarray] = {}
        for names in batches(self.names, 10 * AT_ONCE):
            columns |= self._arrays(f"SELECT {', '.join(f'{self.read(n)} AS {quote(n)}' for n in names)} FROM {self.source}", names)
        made = Arrays(self.name, columns, self.kinds, self.file)
        made.lost = self.lost
        return made

    def column(self, name: str) -> np.ndarray:
        """All of one column."""
        return self._arrays(f"SELECT {self.read(name)} AS {quote(name)} FROM {self.source}", [name])[name]

    def at(self, names: list[str], rows: list[int]) -> dict[str, np.ndarray]:
        """Some rows of some columns."""
        columns = ", ".join(f"{self.read(n)} AS {quote(n)}" for n in names)
        source = f"(SELECT *, row_number() OVER () - 1 AS sabueso_row FROM {self.source})"
        return self._arrays(f"SELECT {columns} FROM {source} WHERE sabueso_row IN ({', '.join(map(str, rows))}) ORDER BY sabueso_row", names)

    def _arrays(self, sql: str, names: list[str]) -> dict[str, np.ndarray]:
        got = self._run(sql).fetchnumpy()
        return {n: plain(got[n], self.kinds[n]) for n in names}

    def profiles(self, plans: dict[str, Plan], chunks: tuple[str, list[float]] | None = None) -> dict[str, list[Profile]]:
        """The profile of each planned column, a part for each stretch between the boundaries of the column named in `chunks`."""
        part = " + ".join(f"coalesce(CAST({self.read(chunks[0])} >= {b!r} AS INTEGER), 1)" for b in chunks[1]) if chunks and chunks[1] else "0"
        made: dict[str, list[Profile]] = {n: [] for n in plans}
        for names in batches(list(plans), AT_ONCE):
            asked = [self._asked(f"c{i}", n, plans[n]) for i, n in enumerate(names)]
            edges = [list(plans[n].edges) for n in names if plans[n].edges]  # as parameters: thousands of literals are slow to parse
            inner = ", ".join(self._shown(f"c{i}", n) for i, n in enumerate(names))
            source = f"(SELECT {part} AS part, {inner} FROM {self.source})"
            for row in self._all(f"SELECT part, count(*), {', '.join(asked)} FROM {source} GROUP BY part ORDER BY part", edges):
                found = iter(row[2:])
                for n in names:
                    made[n].append(self._told(n, plans[n], row[1], found))
        return made

    def _shown(self, alias: str, name: str) -> str:
        """A column in the inner query: as it is and, of numbers that may be none, the finite ones."""
        raw = self.read(name)
        if not self._odd(name):
            return f"{raw} AS {alias}"
        return f"{raw} AS raw_{alias}, CASE WHEN isfinite({raw}) THEN {raw} END AS {alias}"

    def _asked(self, c: str, name: str, plan: Plan) -> str:
        """The aggregates of one column, in the order in which `_told` reads them."""
        if plan.kind == "other":
            return f"count({c})"
        if plan.kind == "text":
            counted = f"histogram({c})" if plan.by_value else f"histogram(CAST(length({c}) AS DOUBLE), ?)"
            return f"count({c}), {counted}"
        counted = f"histogram({c})" if plan.by_value else f"histogram({c}, ?)" if plan.edges else "NULL"
        odd = f"count_if(isnan(raw_{c})), count_if(isinf(raw_{c}))" if self._odd(name) else "0, 0"
        whole = f"bool_and({c} = trunc({c}))" if plan.whole else "false"
        return f"count({c}), {odd}, min({c}), max({c}), avg({c}), stddev_pop({c}), count_if({c} = 0), {whole}, {counted}"

    def _told(self, name: str, plan: Plan, rows: int, found: Iterator[Any]) -> Profile:
        made = Profile(name, self.types[name], plan.kind, count=rows, sampled=rows)
        made.missing = rows - next(found)
        if plan.kind == "other":
            return made
        if plan.kind == "text":
            return settled(_counted(made, next(found), plan.by_value, LENGTHS))
        made.nonfinite = [next(found) for _ in range(2)][1] or 0
        made.missing -= made.nonfinite
        made.min, made.max, made.mean, made.sd, made.zeros, made.whole = (next(found) for _ in range(6))
        made.whole, made.zeros = bool(made.whole), made.zeros or 0
        return settled(_counted(made, next(found), plan.by_value, plan.edges))

    def _odd(self, name: str) -> bool:
        """May it hold NaN and infinities?"""
        return self.types[name] in ("DOUBLE", "FLOAT")

    def hashes(self, names: list[str]) -> np.ndarray:
        """One number a row of the values of these columns."""
        columns = ", ".join(f"{self.read(n)}" for n in names)
        return np.asarray(self._run(f"SELECT hash({columns}) AS h FROM {self.source}").fetchnumpy()["h"])

    def first(self, name: str, how: str, *given: Any, most: int = 50) -> list[int]:
        """The first rows of a column that are missing, equal to one of the values given, or outside the two given."""
        if how == "missing":
            test, values = "value IS NULL" + (" OR isnan(value)" if self.kinds[name] == "number" else ""), []
        elif how == "outside":
            test, values = "value < ? OR value > ?", list(given)
        else:
            test, values = "list_contains(?, value)", [list(given[0])]
        inner = f"SELECT {self.read(name)} AS value, row_number() OVER () - 1 AS sabueso_row FROM {self.source}"
        return [int(r[0]) for r in self._all(f"SELECT sabueso_row FROM ({inner}) WHERE {test} ORDER BY sabueso_row LIMIT {most}", values)]


def _counted(made: Profile, counted: dict[Any, int] | None, by_value: bool, edges: tuple[float, ...]) -> Profile:
    if by_value:
        made.levels = list((counted or {}).items())
    elif edges:
        made.edges, times = list(edges), list((counted or {}).values())
        made.counts = [int(n) for n in times] + [0] * (len(edges) + 1 - len(times))
    return made


def plain(values: Any, kind: str) -> np.ndarray:
    """A result's column as in memory: NaN for a missing number, None for a missing text."""
    if kind in ("number", "bool", "time"):
        return np.ma.filled(np.ma.asarray(values, np.float64), np.nan)
    held = np.asarray(np.ma.getdata(values), object)
    mask = np.ma.getmaskarray(values)
    return np.where(mask, None, held) if mask.any() else held


def quote(name: str) -> str:
    """A name as SQL takes it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL takes it."""
    return "'" + text.replace("'", "''") + "'"


def batches(names: list[str], size: int) -> Iterator[list[str]]:
    """So many at a time."""
    yield from (names[i : i + size] for i in range(0, len(names), size))


def said(error: BaseException) -> str:
    """The first line of an error's message, without its class."""
    text = " ".join(str(error).split("\n")[0].split())
    return text.split("Error: ", 1)[-1][:300]


def connect(duckdb: Any, folder: str, memory: str | None = None) -> Any:
    """A database in memory that spills to a folder."""
    held = duckdb.connect(":memory:")
    held.execute(f"SET temp_directory = {literal(folder)}")
    held.execute("SET preserve_insertion_order = true")
    held.execute("SET enable_progress_bar = false")
    try:
        held.execute(f"SET memory_limit = {literal(memory or MEMORY)}")
    except Exception as error:
        raise UsageError(f"--memory: {memory!r} is no size; write it as 4GB or 500MB") from error
    if os.environ.get("OMP_NUM_THREADS", "").isdigit():
        held.execute(f"SET threads = {max(1, int(os.environ['OMP_NUM_THREADS']))}")
    return held
