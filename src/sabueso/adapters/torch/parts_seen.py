"""Parts seen: tables in sight at an evaluation, one of which is judged and the other trained on, told by the labels made of them.

For programs that turn the rows of two tables into tensors by themselves (texts, graphs), so that no loader and no array leads back to them:
the label tensors still follow the tables' label columns, class for class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ...capture import lineage
from ...capture.lineage import sight, uses
from ...capture.lineage.fingerprints import Table, table_of
from ...capture.lineage.registry import shape_of
from .watch import Watch

PART = "parts_seen"
LEAST = 30  # rows of a part: shorter runs of labels may agree by chance
MOST_ROWS = 200_000
TRIES = 4


class PartsSeen:
    """Looks at the first evaluations only."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.lineage = lineage.of(watch.recorder)
        self.uses = uses.of(watch.recorder, self.lineage)
        self.tries = 0

    def on_evaluation(self, root: Any, inputs: Any, outputs: Any) -> None:
        """A model answered without learning: is it for the rows of a table in sight?"""
        out = outputs[0] if isinstance(outputs, (tuple, list)) and outputs else outputs
        if self.tries >= TRIES or not torch.is_tensor(out) or not out.dim() or not LEAST <= len(out) <= MOST_ROWS:
            return
        if not self.watch.step or not any(s.kind == "file" for s in self.lineage.sources):
            return
        self.tries += 1
        tables, labels = [], []
        for frame in sight.user_frames():
            for name, value in sight.holdings(frame):
                shape = shape_of(value)
                if shape is None or not LEAST <= shape[0] <= MOST_ROWS:
                    continue
                if hasattr(value, "columns") and len(shape) == 2 and shape[1] <= 60:
                    tables.append((name, value))
                elif len(shape) == 1:
                    labels.append((name, value))
        judged = [t for t in tables if shape_of(t[1])[0] == len(out)]  # type: ignore[index]
        if judged and len(tables) > 1 and len(tables) <= 8:
            self.compare(root, judged[0], [t for t in tables if t[1] is not judged[0][1]], labels)

    def compare(self, root: Any, judged: tuple[str, Any], others: list[tuple[str, Any]], labels: list[tuple[str, Any]]) -> None:
        """A pair for the first other table of the same source whose labels are in sight too."""
        known = self.lineage.known_of(judged[1], create=False)
        if known is None or known.source.kind != "file" or not self.labelled(judged[1], labels):
            return
        for name, value in others:
            other = self.lineage.known_of(value, create=False)
            if other is None or other.source is not known.source or other.rows == other.source.rows or not self.labelled(value, labels):
                continue
            origin = sight.origin()
            fit = uses.Fit(20_000, type(root).__name__, other, uses.unique(other), [], True)
            for frame in sight.user_frames():
                if name in frame.f_locals:
                    fit.origin = [(frame.f_code.co_filename, sight.assigned(frame, name)[0] or frame.f_lineno, "", 0)]
            self.uses.evaluated(fit, known, judged[1], origin, "parts")
            self.tries = TRIES
            return

    def labelled(self, frame: Any, labels: list[tuple[str, Any]]) -> bool:
        """Is there an array whose classes follow a column of the table, one to one?"""
        rows = shape_of(frame)[0]  # type: ignore[index]
        table = table_of(frame)
        return table is not None and any(follows(table, t) for _, v in labels if shape_of(v)[0] == rows and (t := table_of(v)) is not None)  # type: ignore[index]


def follows(table: Table, labels: Table) -> bool:
    """Do the labels name the levels of one of the columns?"""
    mine = numbered(labels.codes[:, 0])
    if not 2 <= mine.max() + 1 <= len(mine) // 3:
        return False
    return any(np.array_equal(numbered(table.codes[:, j]), mine) for j in range(table.width))


def numbered(codes: np.ndarray) -> np.ndarray:
    """Levels numbered in the order in which they first appear."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def install(watch: Watch) -> None:
    """Hang on evaluations."""
    if not watch.recorder.wants("row_use"):
        return
    seen = PartsSeen(watch)
    watch.parts[PART] = seen
    watch.hang("on_evaluation", PART, seen.on_evaluation)
