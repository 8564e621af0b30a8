"""A model's answers beside what should have been answered, where no metric is given both whole: a table grouped by time, parts judged one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import summarise
from .columns import positions
from .flow import Flow
from .outputs import Output
from .recorder import Recorder

LEAST = 100  # rows
DISTINCT = 0.9  # share of an answer's values that are different: less and rows can't be known by them
NEAR = 2e-6  # scores computed by two libraries
MOST_LOOKS, MOST_MISSES = 200, 12
COVERED = 0.5  # share of the rows that have been judged


def table(recorder: Recorder, frame: Any) -> None:
    """A table is grouped: does it hold a model's answers beside the column that the model was fitted to?"""
    flow: Flow | None = recorder.shared.get("flow")
    n = summarise.height(frame)
    if flow is None or n < LEAST or n not in flow.outputs.lengths:
        return
    names = summarise.columns_of(frame)
    for name in [c for c, d in zip(names, frame.dtypes) if getattr(d, "kind", "") == "f"][:40]:
        output = flow.outputs.find(None, summarise.column(frame, name))
        target = output.stream.model.target if output is not None and output.stream is not None else None
        if output is not None and target is not None and target.name in names and target.name != name:
            true = summarise.column(frame, target.name)
            if true.dtype.kind in "iufb" and np.isfinite(true.astype(np.float64)).all():
                flow.truth(output, true)


class Parts:
    """Parts of one answer that are judged by themselves, put together again."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._held: dict[int, tuple[Output, np.ndarray, np.ndarray]] = {}  # answers and truths by row, NaN where not judged
        self._looks = self._misses = 0
        recorder.shared.setdefault("before_told", []).append(self.finish)

    def judged(self, flow: Flow, true: np.ndarray, answered: np.ndarray, given: Any) -> None:
        """A metric was given these (the answers as `given`); which rows of a lately given answer are they?"""
        index = positions(given) if summarise.library(given) == "pandas" else None
        if self._looks > MOST_LOOKS or self._misses > MOST_MISSES:
            return
        if true.dtype.kind not in "iufb" or answered.dtype.kind != "f" or true.ndim != 1 or answered.ndim != 1 or len(true) != len(answered):
            return
        for output in flow.outputs.longer(len(answered)):
            found = rows_of(output.values, answered, index)
            self._looks += 1
            if found is not None:
                at, sure = found
                _, answers, truths = self._held.setdefault(output.number, (output, *np.full((2, len(output.values)), np.nan)))
                answers[at[sure]], truths[at[sure]] = answered[sure], true[sure]
                return
        self._misses += 1

    def finish(self) -> None:
        """Each run of judged rows is told of its stream."""
        for output, answers, truths in self._held.values():
            known = np.isfinite(truths)
            if output.stream is None or known.mean() < COVERED or known.sum() < LEAST:
                continue
            edges = np.flatnonzero(np.diff(np.concatenate(([0], known.astype(np.int8), [0]))))
            for low, high in edges.reshape(-1, 2).tolist():
                true = truths[low:high]
                whole = true.astype(np.int64) if (true == np.round(true)).all() else true
                output.stream.truth.add(output.start + low, whole, answers[low:high], output.method)


def rows_of(values: np.ndarray, some: np.ndarray, index: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray] | None:
    """The rows of an answer (or of its sigmoid) that a part of it are, and whether no other row could be meant; None where it is none of it."""
    if values.ndim == 2 and values.shape[1] == 2:
        values = values[:, 1]
    if values.ndim != 1 or values.dtype.kind != "f" or len(some) < 20:
        return None
    with np.errstate(over="ignore"):
        forms = (values.astype(np.float64), 1 / (1 + np.exp(-values.astype(np.float64))))
    for form in forms:
        if index is not None and len(index) == len(some) and index.max() < len(form) and np.allclose(form[index], some, rtol=NEAR, atol=NEAR):
            return index, np.ones(len(index), dtype=bool)
        order = np.argsort(form, kind="stable")
        ranked = form[order]
        if (np.diff(ranked) > NEAR / 10).mean() < DISTINCT:
            continue
        at = np.clip(np.searchsorted(ranked, some.astype(np.float64)), 1, len(ranked) - 1)
        at = at - (some - ranked[at - 1] < ranked[at] - some)
        if (np.abs(ranked[at] - some) <= NEAR * np.maximum(1, np.abs(some))).all() and len(np.unique(at)) > DISTINCT * len(some):
            gaps = np.diff(ranked, prepend=-np.inf, append=np.inf)
            return order[at], np.minimum(gaps[at], gaps[at + 1]) > NEAR
    return None
