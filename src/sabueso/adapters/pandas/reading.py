"""Tables read by pandas, and lines of a text file that a reader left out."""

from __future__ import annotations

import sys
from typing import Any

from ...capture import badlines, ordering, spelling, sqlite_joins, stored_scales, summarise, tables
from ...capture.around import Patches
from ...capture.recorder import Recorder, guarded

READERS = (
    "read_csv", "read_table", "read_fwf", "read_parquet", "read_json", "read_sql", "read_sql_query", "read_sql_table", "read_excel",
    "read_feather", "read_orc", "read_pickle", "read_hdf", "read_xml", "read_stata", "read_spss", "read_sas",
)  # fmt: skip


def install(recorder: Recorder, patches: Patches) -> None:
    """Watch the readers of pandas."""
    pandas = sys.modules["pandas"]
    for name in READERS:
        patches.around(pandas, name, after=guarded("pandas", recorder)(_read(recorder, name)))


def _read(recorder: Recorder, how: str) -> Any:
    def read(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not summarise.is_frame(result):
            return
        origin = args[0] if args else next(iter(kwargs.values()), None)
        name = tables.name_of(origin)
        spelling.look(recorder, result, tables.of(recorder).read(result, name, how))
        if how in ("read_csv", "read_table") and kwargs.get("on_bad_lines", "error") not in ("error", "warn") or kwargs.get("on_bad_lines") == "warn":
            badlines.look(recorder, origin, result, kwargs)
        ordering.look(recorder, result, name, "as read")
        if how in ("read_sql", "read_sql_query"):
            sqlite_joins.look(recorder, origin, args[1] if len(args) > 1 else kwargs.get("con"))
        stored_scales.of(recorder).met(result)

    return read
