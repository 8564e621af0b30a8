"""DuckDB: tables that come out of queries, and the joins within them."""

from __future__ import annotations

import os
import re
import sys
import weakref
from collections.abc import Callable
from typing import Any

from ..capture import queries, summarise, tables
from ..capture.around import Around, Patches, PlainAround
from ..capture.calling import direct
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("duckdb",)
PROVIDES = ("column", "table_read", "table_join")
RUNS = ("sql", "query", "execute")
GIVES = ("df", "fetchdf", "fetch_df", "to_df", "pl", "arrow", "to_arrow_table", "fetch_arrow_table")


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook what runs queries and what gives their tables."""
    patches, guard, duckdb = Patches(), guarded("duckdb", recorder), sys.modules["duckdb"]
    # a query finds tables among the variables of the frame that calls: no frame of ours may come between
    if Around is PlainAround or not recorder.wants("table_join", "table_read"):
        return patches.undo
    held, last = queries.of(recorder), [""]

    def ran(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        bound = bool(args) and isinstance(args[0], duckdb.DuckDBPyConnection)
        text = next((a for a in (*args[bound : bound + 1], kwargs.get("query")) if isinstance(a, str)), None)
        if text is None or not direct():
            return
        last[0] = text
        if len(args) - bound == 1 and recorder.wants("table_join"):  # no parameters
            held.look(args[0] if bound else duckdb.default_connection(), text)

    def gave(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if direct() and summarise.is_frame(result):
            tables.of(recorder).read(result, titled(last[0]), "duckdb")

    def registered(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given = [*args[isinstance(args[0], duckdb.DuckDBPyConnection) :], *kwargs.values()]
        if len(given) == 2 and isinstance(given[0], str) and summarise.is_frame(given[1]):
            held.registered[given[0]] = weakref.ref(given[1])

    for owner in (duckdb, duckdb.DuckDBPyConnection):
        for name in RUNS:
            patches.around(owner, name, None, guard(ran))
        patches.around(owner, "register", None, guard(registered))
    for owner in (duckdb.DuckDBPyConnection, duckdb.DuckDBPyRelation):
        for name in GIVES:
            patches.around(owner, name, None, guard(gave))
    return patches.undo


def titled(query: str) -> str:
    """What the table of a query is called: the file or table that it reads, unless there are several."""
    files = re.findall(r"'([^']*\.(?:csv|tsv|parquet|json|jsonl|ndjson)[^']*)'", query)
    if re.search(r"\bjoin\b", query, re.IGNORECASE) or len(files) > 1:
        return "the result of the query"
    return os.path.basename(files[0]) if files else tables.name_of(query)
