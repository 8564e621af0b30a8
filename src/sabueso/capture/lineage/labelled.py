"""Are inputs and labels that went out of pandas in step? By the index that the frame and the series of the same values still carry."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import sight
from .fingerprints import table_of
from .registry import shape_of

LEAST = 20  # rows
MOST = 200_000


def look(x: Any, y: Any, lineage: Any) -> dict[str, Any] | None:
    """What is out of step: the two indexes hold the same labels in different orders. None where they agree or can't be told."""
    shape = shape_of(x)
    if "pandas" not in sys.modules or y is None or shape is None or not LEAST <= shape[0] <= MOST or shape_of(y) != (shape[0],):
        return None
    labels = carriers(y, lineage)
    if not labels:
        return None
    inputs = carriers(x, lineage)
    if not inputs or any(same(a[1], b[1]) for a in inputs for b in labels):
        return None
    mine, theirs = inputs[0], labels[0]
    if not mine[1].is_unique or not theirs[1].is_unique or plain(mine[1]) or plain(theirs[1]):
        return None  # an index in plain order may have been made anew, after the rows were put into another order
    at = theirs[1].get_indexer(mine[1])
    if (at < 0).any():
        return None
    out = np.flatnonzero(at != np.arange(len(at)))
    if len(out) < 0.02 * len(at) + 3:
        return None
    values = table_of(y)
    right = values.floats()[at, 0] if values is not None and values.numeric[0] else None
    later = max((c for c in (mine, theirs)), key=lambda c: c[3] or 0)
    rows = [mine[1][i] for i in out[:50]]
    return {
        "how": "index", "rows": len(at), "out": len(out), "name": theirs[0], "inputs": mine[0], "file": later[2], "line": later[3], "at": int(out[0]),
        "first_input": str(mine[1][out[0]]), "first_label": str(theirs[1][out[0]]), "right": right,
        "out_rows": [int(r) for r in rows] if mine[1].dtype.kind in "iu" else [],
    }  # fmt: skip


def carriers(x: Any, lineage: Any) -> list[tuple[str | None, Any, str | None, int | None]]:
    """(name, index, file, line) of the frames or series in sight that hold just these rows."""
    if hasattr(x, "index") and hasattr(x, "iloc"):
        return [(*(held := sight.name_of(x))[:1], x.index, *held[1:])]
    mine, known, found = None, lineage.recall(x), []
    for frame in sight.user_frames():
        for name, value in sight.holdings(frame):
            if not hasattr(value, "iloc") or shape_of(value) != shape_of(x) and (getattr(x, "ndim", 1) == 1 or shape_of(value)[0] != shape_of(x)[0]):  # type: ignore[index]
                continue
            held = lineage.recall(value) if known is not None else None
            if held is None or known is None or not np.array_equal(held.ids, known.ids):
                mine = table_of(x) if mine is None else mine
                other = table_of(value)
                if mine is None or other is None or other.codes.shape != mine.codes.shape or not np.array_equal(other.codes, mine.codes):
                    continue
            found.append((name, value.index, frame.f_code.co_filename, sight.assigned(frame, name)[0]))
    return found


def same(a: Any, b: Any) -> bool:
    return bool(a is b or a.equals(b))


def plain(index: Any) -> bool:
    """In rising order."""
    return type(index).__name__ == "RangeIndex" or bool(index.is_monotonic_increasing)
