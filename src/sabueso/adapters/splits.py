"""Splits of scikit-learn by function: where each row of the parts came from."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..capture import lineage
from ..capture.around import Patches
from ..capture.calling import direct
from ..capture.lineage import keyed, labelled, sight
from ..capture.lineage.known import Known
from ..capture.lineage.registry import note_labels, shape_of
from ..capture.recorder import Recorder, guarded
from .sklearn import grouping

LIBRARIES = ("sklearn.model_selection._split",)
PROVIDES = ("row_use",)
MOST_PARTS = 40


class Splits:
    """What a split makes of the tables that it is given."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder, self.registry = recorder, lineage.of(recorder)
        self.rows: list[Any] = []  # that were taken since the last split began

    def before(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.rows.clear()
        if not direct():
            return None
        known = [self.registry.known_of(a) if wide(a) else None for a in args]
        for k in known:
            if k is not None and not k.source.whole and k.rows == k.source.rows:
                k.source.kind = "made"  # what is split is the whole, so that rows which stand in it twice were there twice
        whole = next((k for k in known if k is not None and k.hashes is not None), None)
        self.rows.clear()
        if len(args) == 2 and whole is known[0] and self.recorder.wants("row_mismatch"):
            self.in_step(args[0], args[1], whole)
        return whole, known

    def took(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Rows are taken out of an array."""
        if len(self.rows) < MOST_PARTS and len(args) > 1:
            self.rows.append(args[1])

    def in_step(self, x: Any, y: Any, known: Any) -> None:
        told = labelled.look(x, y, self.registry) or keyed.look(x, y, known)
        if told is not None and self.recorder.once("row_mismatch", told["how"], told["line"]):
            told.pop("right", None)
            where = {"file": told["file"], "line": told["line"]} if told["line"] else {}
            self.recorder.fact("row_mismatch", told, stage="preprocess", **where)

    def after(self, token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if token is None or token[0] is None:
            return
        whole, known = token
        first = known.index(whole)
        rows = self.rows if len(self.rows) == len(result) else [None] * len(result)
        parts = [_part(self.registry, result[2 * first + side], whole, rows[2 * first + side]) for side in (0, 1)]
        for i in range(len(args)):
            if i != first:
                for side in (0, 1):
                    _beside(self.registry, result[2 * i + side], known[i] or whole, parts[side])
        self.rows.clear()
        held = self.registry.parts.setdefault("splits", [])
        if all(parts) and len(held) < 200:
            held.append((*parts, sight.origin()))

    def cut(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        groups = args[3] if len(args) > 3 else kwargs.get("groups")
        cuts = self.registry.parts.setdefault("cuts", [])
        if type(args[0]).__name__ == "KFold" and not args[0].shuffle and len(cuts) < 100 and direct():
            cuts.append(("KFold", sight.origin()))
        if groups is not None and len(args) > 1 and direct():
            grouping.note(self.registry, self.registry.known_of(args[1]), groups)


def install(recorder: Recorder) -> Callable[[], None]:
    """Watch train_test_split and the splitters; returns the undo."""
    patches, guard, splits = Patches(), guarded("splits", recorder), Splits(recorder)
    if recorder.wants(*PROVIDES):
        for cls in list(vars(sys.modules["sklearn.model_selection._split"]).values()):
            if isinstance(cls, type) and "split" in vars(cls) and cls.__module__ == "sklearn.model_selection._split":
                patches.around(cls, "split", guard(splits.cut))
        for name in ("sklearn.model_selection._split", "sklearn.model_selection"):
            module = sys.modules.get(name)
            if module is not None and hasattr(module, "train_test_split"):
                patches.around(module, "train_test_split", guard(splits.before), guard(splits.after))
        patches.around(sys.modules["sklearn.model_selection._split"], "_safe_indexing", guard(splits.took))
    return patches.undo


def wide(x: Any) -> bool:
    """Has it more than one column?"""
    shape = shape_of(x)
    return shape is not None and len(shape) > 1 and shape[1] > 1


def _part(registry: Any, part: Any, whole: Known, rows: Any) -> Known | None:
    """The rows of a part are those that were taken, else found in the whole; they keep what was learnt on the way to it."""
    linked = registry.taken(part, rows, whole) if isinstance(rows, np.ndarray) and rows.dtype.kind in "iu" else None
    shape = shape_of(part)
    if linked is None and shape is not None and (linked := registry.link(part, np.full(shape[0], -1), whole)) is not None:
        at = whole.find(linked.hashes)
        linked.ids = whole.ids_at(at)
        linked.made = None if whole.made is None else np.where(at >= 0, whole.made[at], False)
    if linked is not None:
        linked.notes["split"] = True
        note_labels(part, linked)
    return linked


def _beside(registry: Any, part: Any, whole: Known, rows: Known | None) -> None:
    """Another array that was split alongside: its part holds the same rows."""
    if rows is not None and (shape_of(part) or (0,))[0] == rows.rows:
        registry.link(part, rows.ids, whole, findable=wide(part))
