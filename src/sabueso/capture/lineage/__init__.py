"""Row lineage: which rows, as read, an array or frame holds, found by content, whatever library sliced it.

lineage = lineage.of(recorder)             one registry for all adapters of a recorder
known = lineage.register_source(frame, name="loans.csv", kind="file")     at a reader: its rows get ids
known = lineage.known_of(x)                a Known for any array, frame, tensor or list; ids are global row ids, -1 where unknown
lineage.link(out, known.ids[kept], known)  at an operation whose row mapping is known (a filter, a join, a sort, a transform)
lineage.rows_as_read(ids)                  {source: sorted 0-based rows}, for `row` of a place
"""

from __future__ import annotations

from typing import Any

from .known import Known, Source
from .registry import Lineage
from .sight import candidates, name_of

__all__ = ["Known", "Lineage", "Source", "of"]


def of(recorder: Any) -> Lineage:
    """The recorder's registry, made at the first call."""
    held = recorder.shared.get("lineage")
    if held is None:
        held = recorder.shared["lineage"] = Lineage()
        held.in_sight, held.name_of = candidates, name_of
    return held
