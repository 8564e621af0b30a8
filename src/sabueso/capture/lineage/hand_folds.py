"""Folds cut by hand: `for train, test in KFold(3).split(X): ..`, each fold's rows by what is fitted and what is then judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import order, sight
from .known import Known
from .registry import shape_of
from .uses import Fit, place

MOST_ROWS = 200_000
MOST_FOLDS = 64
SAME = 0.98  # share of training labels that a whole column in sight must have in the fit's rows


@dataclass(slots=True)
class Loop:
    """The folds met so far on one line."""

    values: np.ndarray
    name: str | None
    column: str | None  # of the labels
    origin: list[Any]
    folds: dict[int, tuple[int, float, list[int]]] = field(default_factory=dict)  # by first row judged: rows, share lacking, rows


class HandFolds:
    """One a recorder, made by `of`; told at the program's end."""

    def __init__(self, recorder: Any, lineage: Any) -> None:
        self.recorder, self.lineage = recorder, lineage
        self.loops: dict[Any, Loop] = {}
        self.cuts: list[tuple[str, sight.Origin]] = lineage.parts.setdefault("cuts", [])
        recorder.at_exit(self.tell)

    def judged(self, fit: Fit, known: Known, origin: sight.Origin) -> None:
        """Is the judged part one stretch of a table, and was the rest of it fitted on, labels sorted along it?"""
        source, mine = known.source, fit.known
        n = source.rows
        if mine.source is not source or not source.as_read or mine.rows + known.rows != n or n > MOST_ROWS or known.rows < 8 or fit.y is None:
            return
        test, train = known.ids - source.base, mine.ids - source.base
        first = int(np.bincount(np.clip(test - np.arange(len(test)), 0, n)).argmax())
        if (test == first + np.arange(len(test))).mean() < 0.9 or train.min() < 0 or train.max() >= n:  # equal rows have the first one's id
            return
        key = (tuple(place(origin)), id(source))
        loop = self.loops.get(key)
        if loop is None and len(self.loops) < 20:
            held = self.sorted_labels(fit, train, n)
            if held is None:
                return
            cut = next((o for name, o in self.cuts[::-1] if o and any(o[0][3] == f for *_, f in origin)), None)
            loop = self.loops[key] = Loop(*held, place(cut or fit.origin))
        if loop is not None and len(loop.folds) < MOST_FOLDS:
            rows = np.arange(first, first + len(test))
            rest = np.delete(loop.values, rows)
            loop.folds[first] = len(rows), order.lacking(rest, loop.values[rows], loop.values, True), rows[:50].tolist()

    def sorted_labels(self, fit: Fit, train: np.ndarray, n: int) -> tuple[np.ndarray, str | None, str | None] | None:
        """A whole column of labels in sight that the fit's labels were taken from, if classes stand sorted in it."""
        for frame in sight.user_frames():
            for name, value in sight.holdings(frame):
                shape = shape_of(value)
                if shape is None or shape[0] != n:
                    continue
                wide = hasattr(value, "columns") and len(shape) == 2
                parts = [value[c] for c in value.columns if c == fit.extra.get("label")] if wide else [value]
                for y in parts:
                    held = order.codes_of(y)
                    if held is None or not held[1] or fit.y is None or (held[0][train] == fit.y).mean() < SAME:
                        continue
                    return (held[0], name, own if isinstance(own := getattr(y, "name", None), str) else None) if order.is_sorted(*held) else None
        return None

    def tell(self) -> None:
        """A fact for each loop of two folds or more that cover most of the table."""
        for loop in self.loops.values():
            rows = np.array([r for r, *_ in loop.folds.values()])
            lacking = np.array([share for _, share, _ in loop.folds.values()])
            whole = len(loop.values)
            if len(rows) < 2 or rows.sum() < 0.9 * whole or self.one_class_each(loop):
                continue
            worst = max(loop.folds.values(), key=lambda f: f[1])
            levels = len(np.unique(loop.values))
            told = {"how": "folds", "sorted": True, "lacking": round(float(np.dot(lacking, rows) / rows.sum()), 4), "folds": len(rows),
                    "runs": order.runs(loop.values), "levels": levels, "levels_train": levels, "judged": int(rows.sum()),
                    "name": loop.name, "column": loop.column, "rows": worst[2],
                    "remedy": f"Shuffle the folds: KFold({len(rows)}, shuffle=True, random_state=0), or StratifiedKFold."}  # fmt: skip
            self.recorder.fact("label_order", told, stage="preprocess", file=loop.origin[0], line=loop.origin[1])

    def one_class_each(self, loop: Loop) -> bool:
        """Folds that are the classes themselves and that no splitter cut: leaving one class out may be meant."""
        if any(o and list(o[0][:2]) == list(loop.origin) for _, o in self.cuts):
            return False
        levels, counts = np.unique(loop.values, return_counts=True)
        return sorted(counts.tolist()) == sorted(r for r, *_ in loop.folds.values())


def of(recorder: Any, lineage: Any) -> HandFolds:
    """The recorder's, made at the first call."""
    held = lineage.parts.get("hand_folds")
    if held is None:
        held = lineage.parts["hand_folds"] = HandFolds(recorder, lineage)
    return held
