"""Whose answer stands beside a row? Labels that are the right ones in number, each beside another row's inputs.

The rows of the inputs are known by content, and so are the labels that their table has in these rows. Told at the program's end, and only
where no fit in it had them in step: to fit on shuffled labels beside a real fit is a test that people do on purpose.
"""

from __future__ import annotations

import linecache
import re
from typing import Any

import numpy as np

from . import sight
from .fingerprints import Table, row_hashes, spaced, table_of
from .known import Known, Source
from .registry import shape_of

LEAST = 50  # rows
MOST = 200_000
MOST_UNNAMED = 20_000  # where any column of a table may be that of the labels
LAGGED = 0.3  # share of rows with one and the same distance between label and inputs: a target that lies ahead is meant
ONE_SIDE = 0.85  # share of labels that come from later rows (or from earlier ones): so does "the next of its kind"


class Answers:
    """The labels of whole data sets by their source, and fits that had others. One a recorder, made by `of`."""

    def __init__(self, recorder: Any, lineage: Any) -> None:
        self.recorder, self.lineage = recorder, lineage
        self.own: dict[Source, tuple[Table, np.ndarray, np.ndarray]] = {}  # inputs, their hashes, codes of the labels
        self.right: set[Source] = set()
        self.waiting: dict[Source, dict[str, Any]] = {}
        recorder.at_exit(self.tell)

    def loaded(self, x: Any, y: Any, name: str, file: str | None, line: int | None) -> None:
        """A data set was loaded whole."""
        shape, labels = shape_of(x), table_of(y)
        if shape is None or len(shape) != 2 or not LEAST <= shape[0] <= MOST or labels is None or labels.width != 1 or labels.rows != shape[0]:
            return
        known = self.lineage.register_source(x, name=name, kind="made", file=file, line=line)
        if known is not None and known.table is not None and len(self.own) < 12:
            self.own[known.source] = (known.table, known.hashes, labels.codes[:, 0])

    def look(self, x: Any, y: Any, known: Known) -> None:
        """A fit: are its labels those of its rows, or of others?"""
        source, mine = known.source, table_of(y)
        if not known.exact or not source.whole or not LEAST <= known.rows <= MOST or mine is None or mine.width != 1 or mine.rows != known.rows:
            return
        rows = known.ids - source.base
        kept = (rows >= 0) & (rows < source.rows)
        if kept.mean() > 0.98:
            self._compare(source, rows[kept], mine.codes[kept, 0], x, y, getattr(y, "name", None), known.table and known.table.take(np.flatnonzero(kept)))

    def paired(self, x: Any, y: Any) -> None:
        """Inputs and labels that a network is about to be trained on, maybe divided by a constant."""
        table, mine = table_of(x) if self.own and source_sized(x, self.own) else None, table_of(y) if self.own else None
        if table is None or mine is None or mine.width != 1 or mine.rows != table.rows or table.rows < LEAST:
            return
        for source, (whole, hashes, _) in self.own.items():
            if whole.width == table.width and table.rows <= whole.rows:
                at = positions(table, whole, hashes)
                if (at >= 0).mean() > 0.98:
                    self._compare(source, at[at >= 0], mine.codes[at >= 0, 0], x, y, None)

    def _compare(self, source: Source, rows: np.ndarray, labels: np.ndarray, x: Any, y: Any, name: Any, inputs: Table | None = None) -> None:
        """`inputs` are those of the rows: a column that is one of them is the label's own past, in whatever order."""
        if source in self.right:
            return
        some, few = spaced(len(labels), 500), labels[spaced(len(labels), 8)]
        held = sorted(self._columns(source, name), key=lambda c: not c[2])
        if any(c[2] for c in held):
            held = [c for c in held if c[2]]  # the labels' own column is known
        for column, title, own in held if len(rows) <= MOST_UNNAMED or held and held[0][2] else ():
            if (column[rows[some]] == labels[some]).mean() > 0.5:
                self.right.add(source)
                return
            if not all((column == v).any() for v in few):
                continue
            right = column[rows]
            if inputs is not None and inputs.holds(right):
                continue
            agree = float((right == labels).mean())
            if out_of_step(column, rows, right, labels, agree, own) and source not in self.waiting:
                out = rows[right != labels]
                self.waiting[source] = {"how": "order", "rows": len(rows), "out": len(out), "agree": round(agree, 3), "table": source.name, "column": title,
                                        "out_rows": np.sort(out)[:50].tolist(), "first_input": int(out[0]), "first": int(np.flatnonzero(right != labels)[0]),
                                        **where(x, y)}  # fmt: skip

    def _columns(self, source: Source, name: Any) -> list[tuple[np.ndarray, str | None, bool]]:
        """(codes by row, name, is it the label for sure) of what may be the labels of a source."""
        found = [(self.own[source][2], None, True)] if source in self.own else []
        for known in self.lineage.known:
            table = known.table
            if known.source is not source or table is None or known.rows != source.rows or known.makers or not known.names:
                continue
            if (np.diff(known.ids) < 0).any():
                continue
            for j in range(min(table.width, 60)):
                found.append((table.column(j), table.names[j] if table.names else None, table.names is not None and table.names[j] == name))
        return found

    def tell(self) -> None:
        """What no fit put right."""
        for source, told in self.waiting.items():
            if source not in self.right and self.recorder.wants("row_mismatch") and self.recorder.once("row_mismatch", told["how"], told["line"]):
                self.recorder.fact("row_mismatch", told, stage="preprocess", file=told["file"] or "", line=told["line"])


def source_sized(x: Any, own: dict[Source, Any]) -> bool:
    """Worth a look: two axes and as wide as one of the data sets loaded."""
    shape = shape_of(x)
    return shape is not None and len(shape) == 2 and shape[0] <= MOST and any(shape[1] == t.width for t, *_ in own.values())


def positions(table: Table, whole: Table, hashes: np.ndarray) -> np.ndarray:
    """Where each row stands in the whole, as it is or, of whole numbers, divided by one constant; -1 where it does not."""
    at = _found(row_hashes(table), hashes)
    if (at >= 0).mean() > 0.5:
        return at
    mine, theirs = table.floats(), whole.floats(spaced(whole.rows, 200))
    if not whole.numeric.all() or not np.isfinite(theirs).all() or (theirs != np.round(theirs)).any() or not np.abs(mine).max():
        return at
    times = np.round(np.abs(whole.floats()).max() / np.abs(mine).max())
    made = table_of(np.rint(mine * times).astype(np.float32))
    return _found(row_hashes(made), hashes) if made is not None else at


def _found(mine: np.ndarray, hashes: np.ndarray) -> np.ndarray:
    order = np.argsort(hashes, kind="stable")
    at = np.minimum(np.searchsorted(hashes[order], mine), len(order) - 1)
    return np.where(hashes[order][at] == mine, order[at], -1)


def out_of_step(column: np.ndarray, rows: np.ndarray, right: np.ndarray, labels: np.ndarray, agree: float, own: bool) -> bool:
    """Are the labels those of other rows of the column, in no order that a target ahead would have?"""
    levels, counts = np.unique(labels, return_counts=True)
    if len(levels) > 0.5 * len(labels):
        order = np.argsort(column, kind="stable")
        off = order[np.minimum(np.searchsorted(column[order], labels), len(order) - 1)] - rows
        if np.unique(off, return_counts=True)[1].max() > LAGGED * len(off) or not np.isin(labels, column).all():
            return False
        return agree < 0.1 and 1 - ONE_SIDE < (off > 0).mean() < ONE_SIDE
    if not own or len(levels) < 2 or len(levels) > 60:
        return False
    theirs = np.array([(right == v).sum() for v in levels])
    chance = float((counts / counts.sum() * theirs / len(right)).sum())
    apart = 0.5 * np.abs(counts - theirs).sum() / len(labels)
    return apart < 0.03 + len(levels) ** 0.5 / len(labels) ** 0.5 and agree < chance + 0.15 * (1 - chance)


def where(x: Any, y: Any) -> dict[str, Any]:
    """The line that shuffled one of both by itself, else the one that gave either its value last; and their names."""
    inputs, labels = sight.name_of_root(x), sight.name_of_root(y)
    for name, file, _ in (inputs, labels):
        for number, text in enumerate(linecache.getlines(file) if file and name else (), 1):
            if re.search(rf"\bshuffle\(\s*{re.escape(name or '')}\s*\)", text):
                return {"name": labels[0], "inputs": inputs[0], "file": file, "line": number}
    _, file, line = max((inputs, labels), key=lambda h: h[2] or 0)
    return {"name": labels[0], "inputs": inputs[0], "file": file, "line": line}


def of(recorder: Any, lineage: Any) -> Answers:
    """The recorder's, made at the first call."""
    held = lineage.parts.get("answers")
    if held is None:
        held = lineage.parts["answers"] = Answers(recorder, lineage)
    return held
