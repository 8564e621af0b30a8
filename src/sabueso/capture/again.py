"""Again: scores with one thing changed, tried after the program's last line on copies, in bounded time and without a trace.

Nothing runs while the program does: what is to be tried is queued with unfitted clones and the values that lineage holds anyway.
Global random state, output and warnings are what they were before and after.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

MOST_SECONDS = 2.0
MOST_QUEUED = 12


class Again:
    """The queue of one recorder; see `of`."""

    def __init__(self, recorder: Any) -> None:
        self.recorder = recorder
        self.queue: list[Callable[[], dict[str, Any] | None]] = []
        recorder.at_exit(self.run)

    def later(self, trial: Callable[[], dict[str, Any] | None]) -> None:
        """Try this at the end; what it gives becomes a fact `counterfactual`."""
        if len(self.queue) < MOST_QUEUED and self.recorder.wants("counterfactual"):
            self.queue.append(trial)

    def run(self) -> None:
        began = time.thread_time()  # of this thread: a busy machine decides nothing
        while self.queue and time.thread_time() - began < MOST_SECONDS:
            trial = self.queue.pop(0)
            try:
                with quiet():
                    told = trial()
            except Exception as error:  # an estimator that can't be tried again: the finding stands without
                if os.environ.get("SABUESO_DEBUG"):
                    self.recorder.own_error("again", error, turn_off=False)
                continue
            if told is not None:
                self.recorder.fact("counterfactual", told, file="", line=None)

    def shuffled(self, run: int, estimator: Any, known: Any, y: Any, scoring: Any, folds: int, before: float) -> None:
        """The same cross-validation with shuffled rows."""
        model, x = plain_clone(estimator), values_of(known)
        labels = np.array(y)
        if model is None or x is None:
            return

        def trial() -> dict[str, Any] | None:
            rows = np.random.default_rng(0).permutation(len(x))
            score = sys.modules["sklearn.model_selection"].cross_val_score
            after = score(model, x[rows], labels[rows], cv=folds, scoring=scoring)
            return {"fault": "unshuffled-data", "run": run, "before": round(before, 4), "after": round(float(np.mean(after)), 4),
                    "how": "the same folds on shuffled rows"}  # fmt: skip

        self.later(trial)

    def realigned(self, estimator: Any, known: Any, y: Any, right: np.ndarray) -> None:
        """The fit with the labels as they are, and with those of the inputs' own rows."""
        model, x = plain_clone(estimator), values_of(known)
        labels = np.array(y)
        if model is None or x is None:
            return

        def trial() -> dict[str, Any] | None:
            score = sys.modules["sklearn.model_selection"].cross_val_score
            before, after = (float(np.mean(score(model, x, values, cv=2))) for values in (labels, right))
            return {"fault": "misaligned-labels", "before": round(before, 4), "after": round(after, 4),
                    "how": "cross-validated with the labels as given, and with those of the inputs' own rows"}  # fmt: skip

        self.later(trial)


def of(recorder: Any) -> Again:
    """The recorder's queue, made at the first call."""
    held = recorder.shared.get("again")
    if held is None:
        held = recorder.shared["again"] = Again(recorder)
    return held


def values_of(known: Any, most_cells: int = 400_000) -> np.ndarray | None:
    """The values that lineage keeps of an array of numbers, if it is small enough to be tried on."""
    table = known.table if known is not None else None
    if table is None or not table.numeric.all() or table.rows * table.width > most_cells:
        return None
    return table.floats()


def plain_clone(estimator: Any) -> Any:
    """An unfitted copy of an installed library's estimator that runs in this thread; None for one of the person's own making."""
    base = sys.modules.get("sklearn.base")
    if base is None or not all(_installed(e) for e in _parts(estimator)):
        return None
    made = base.clone(estimator)
    serial = {n: 1 for n in made.get_params() if n.rpartition("__")[2] in ("n_jobs", "nthread", "num_threads")}
    return made.set_params(**serial)


def _parts(estimator: Any) -> list[Any]:
    found = [estimator]
    for value in estimator.get_params(deep=True).values():
        if hasattr(value, "get_params") and not isinstance(value, type):
            found.append(value)
    return found


def _installed(estimator: Any) -> bool:
    file = getattr(sys.modules.get(type(estimator).__module__), "__file__", None)
    return file is not None and f"{os.sep}site-packages{os.sep}" in file


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without output, warnings or a trace in NumPy's global random state."""
    state, shown = np.random.get_state(), warnings.showwarning
    warnings.showwarning = lambda *a, **k: None
    out, err = sys.stdout, sys.stderr
    with open(os.devnull, "w") as nowhere, _descriptors(nowhere.fileno()):
        sys.stdout = sys.stderr = nowhere
        try:
            yield
        finally:
            sys.stdout, sys.stderr, warnings.showwarning = out, err, shown
            np.random.set_state(state)


@contextlib.contextmanager
def _descriptors(nowhere: int) -> Iterator[None]:
    """What compiled libraries print goes nowhere too; the program's own output is flushed before."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    kept = [os.dup(1), os.dup(2)]
    try:
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        yield
    finally:
        for descriptor, number in zip(kept, (1, 2)):
            os.dup2(descriptor, number)
            os.close(descriptor)
