"""pandas: what was read, joined, dropped, filled and sorted."""

from __future__ import annotations

from collections.abc import Callable

from ...capture import content
from ...capture.around import Patches
from ...capture.recorder import Recorder
from . import aligning, cleaning, dates, dtypes, joining, means, reading

LIBRARIES = ("pandas",)
PROVIDES = (
    "column", "correlation",
    "aligned_away", "table_read", "bad_lines", "table_join", "join_reduced", "rows_dropped", "fill_lost", "text_order", "order_used", "nonfinite_found",
    "broken_rows", "coerced", "part_cut", "spelling", "table_used", "text_encoded", "text_overlooked", "label_twins", "label_offset", "label_agreement",
)  # fmt: skip


def install(recorder: Recorder) -> Callable[[], None]:
    """Hooks in; the undo takes them out."""
    patches = Patches()
    content.install(recorder)
    for part in (reading, joining, cleaning, dates, dtypes, means, aligning):
        part.install(recorder, patches)
    return patches.undo
