"""dataclasses: the first tuples made of records, by which the columns of an array of them are known by name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..capture.around import Patches
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("dataclasses",)
PROVIDES = ("inputs",)
MOST, MOST_CLASSES = 64, 20


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook astuple; what it made is kept in `recorder.shared["tuples"]` by class: names of the fields, tuples."""
    patches, kept = Patches(), recorder.shared.setdefault("tuples", {})

    @guarded("dataclasses", recorder)
    def made(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        cls = type(args[0]) if args else None
        if cls not in kept:
            if len(kept) >= MOST_CLASSES or not isinstance(result, tuple):
                return
            kept[cls] = list(getattr(cls, "__dataclass_fields__", ())), []
        rows = kept[cls][1]
        if len(rows) < MOST and all(isinstance(v, (int, float)) for v in result):
            rows.append(result)

    if recorder.wants("inputs"):
        patches.around(sys.modules["dataclasses"], "astuple", None, made)
    return patches.undo
