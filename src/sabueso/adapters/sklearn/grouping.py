"""Groups that the person splits by in one place: do they stand on both sides of another evaluation?"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...capture.lineage import sets, sight
from ...capture.lineage.fingerprints import table_of
from ...capture.lineage.known import Known, Source
from ...capture.lineage.registry import shape_of
from ...capture.lineage.uses import Fit, place, unique

MOST = 500_000


def note(lineage: Any, known: Known | None, groups: Any) -> None:
    """Rows were split by these groups: remember the groups of all rows of their source, if some column or array there holds them."""
    shape = shape_of(groups) if groups is not None else None
    if known is None or shape is None or shape[0] != known.rows or known.rows > MOST or not _within(known, known.source):
        return
    table = table_of(groups)
    if table is None or table.width != 1:
        return
    held = lineage.parts.setdefault("groups", {})
    if known.source in held or len(held) > 8:
        return
    found = _whole(lineage, known, table.codes[:, 0])
    if found is not None:
        held[known.source] = (*found, place(sight.origin()))


def _within(known: Known, source: Source) -> bool:
    return bool((known.ids >= source.base).all() and (known.ids < source.base + source.rows).all())


def _whole(lineage: Any, known: Known, codes: np.ndarray) -> tuple[np.ndarray, str | None] | None:
    """(group codes of all rows of the source, the column's name)."""
    rows = known.ids - known.source.base
    if known.rows == known.source.rows and np.array_equal(rows, np.arange(len(rows))):
        return codes, None
    for other in lineage.known:
        if other.source is known.source and other.rows == known.source.rows and other.table is not None:
            for c in range(other.table.width):
                if np.array_equal(other.table.codes[rows, c], codes):
                    return other.table.codes[:, c].copy(), other.names[c] if other.names else None
    for frame in sight.user_frames():
        for name, value in sight.holdings(frame):
            shape = shape_of(value)
            if shape is not None and len(shape) == 1 and shape[0] == known.source.rows:
                table = table_of(value)
                if table is not None and np.array_equal(table.codes[rows, 0], codes):
                    return table.codes[:, 0].copy(), name
    return None


def look(hooks: Any, fit: Fit, call: Any) -> None:
    """Rows judged whose group is in training, where the person split by that group elsewhere."""
    known = call.known
    held = hooks.lineage.parts.get("groups", {}).get(known.source)
    if held is None or not hooks.recorder.wants("groups_shared") or not (_within(known, known.source) and _within(fit.known, known.source)):
        return
    codes, name, noted = held
    train, judged = codes[unique(fit.known) - known.source.base], codes[unique(known) - known.source.base]
    if sets.meet(unique(fit.known), unique(known)):
        return
    shared = np.intersect1d(train, judged)
    rows = np.isin(judged, shared)
    column = name or getattr(getattr(call, "groups", None), "name", None)
    split = hooks.lineage.parts.get("splits")
    part = sight.cut_at(call.x, known.ids - known.source.base)
    value = {
        "column": column, "groups": len(np.unique(judged)), "shared": len(shared), "rows": len(judged), "rows_shared": int(rows.sum()),
        "in_all": len(np.unique(codes)), "model": fit.name, "split_by": noted, "table": known.source.name, "part": part,
        "shared_rows": np.sort(unique(known)[rows] - known.source.base)[:50].tolist(), "splits": len(split or ()),
    }  # fmt: skip
    where = {"file": part["file"], "line": part["line"]} if part else {}
    hooks.recorder.fact("groups_shared", value, stage="evaluate", column=column, estimator=fit.name, **where)
