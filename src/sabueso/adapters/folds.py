"""Cross-validation by scikit-learn: the folds that were made, the labels in them, the scores, and what had learnt from all rows before."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..capture import again, fits, lineage
from ..capture.around import Patches
from ..capture.calling import direct
from ..capture.lineage import order, sight, uses
from ..capture.recorder import Recorder, guarded
from .sklearn import entities, grouping, pairing
from .sklearn.estimators import Call

LIBRARIES = ("sklearn.model_selection._validation",)
PROVIDES = ("row_use", "folds", "counterfactual")
MOST_RUNS = 40  # cross-validations told
WHOLE = ("cross_validate", "cross_val_score", "cross_val_predict")


@dataclass(slots=True)
class Folding:
    """A cross-validation under way."""

    estimator: Any
    x: Any
    y: Any
    known: Any
    scoring: Any
    origin: sight.Origin
    splitter: tuple[str | None, str | None, int | None] = (None, None, None)  # its name, and where it was made
    folds: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)


class Folds:
    """The hooks of one installation."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder, self.patches = recorder, Patches()
        self.lineage = lineage.of(recorder)
        self.uses = uses.of(recorder, self.lineage)
        self.open: Folding | None = None
        self.told = 0

    def begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Whichever of the functions the person called; those that it calls itself lie within."""
        if not direct() or self.told >= MOST_RUNS:
            return None
        names = ("estimator", "X", "y")
        given = {**dict(zip(names, args)), **kwargs}
        x, y = given.get("X"), given.get("y")
        self.open = Folding(given.get("estimator"), x, y, self.lineage.known_of(x), kwargs.get("scoring"), sight.origin())
        grouping.note(self.lineage, self.open.known, kwargs.get("groups"))
        fits.tell(self.recorder, given.get("estimator"), x, y)
        if hasattr(kwargs.get("cv"), "split"):
            self.open.splitter = sight.name_of_any(kwargs["cv"])
        return self.open

    def split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """_safe_split(estimator, X, y, indices, train_indices): with both, these are a fold's rows."""
        train = args[4] if len(args) > 4 else kwargs.get("train_indices")
        if self.open is not None and train is not None and len(args) > 3 and len(self.open.folds) < 200:
            self.open.folds.append((np.asarray(train), np.asarray(args[3])))

    def end(self, token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if token is None:
            return
        self.open = None
        scores = result.get("test_score") if isinstance(result, dict) else result
        scores = np.asarray(scores, float) if scores is not None and len(scores) == len(token.folds) else None
        self._tell(token, scores)

    def _tell(self, run: Folding, scores: np.ndarray | None) -> None:
        """The pair of rows, and the folds."""
        self.told += 1
        name = type(run.estimator).__name__
        if run.known is not None and run.y is not None:
            rows = uses.Fit(0, name, run.known, uses.unique(run.known), run.origin, True, pairing.label_codes(run.y, run.known.rows))
            rows.extra["label"] = getattr(run.y, "name", None)
            call = Call(run.estimator, run.x, run.y, run.known, run.origin)
            pairing.rows_in_step(self, rows, call, False)
            pairing.inputs_tell(self, rows, call)
            self.uses.evaluated(rows, run.known, run.x, run.origin, "folds")
            self.uses.history.append(rows.ids)
            file, line = run.splitter[1:] if run.splitter[2] else run.origin[0][:2] if run.origin else ("", None)
            entities.folded(self, rows, call, run.folds, {"file": file, "line": line})
        found = order.of_folds(run.y, run.folds)
        if found is None:
            return
        file, line = run.splitter[1:] if run.splitter[2] else run.origin[0][:2] if run.origin else (None, None)
        value = {**found, "model": name, "run": self.told, "scores": [] if scores is None else scores.round(4).tolist(),
                 "labels": order.named(run.y, self.lineage)}  # fmt: skip
        self.recorder.fact("folds", value, stage="evaluate", estimator=name, file=file, line=line)
        if value["sorted"] and value["contiguous"] and scores is not None:
            again.of(self.recorder).shuffled(self.told, run.estimator, run.known, run.y, run.scoring, len(run.folds), float(scores.mean()))


def install(recorder: Recorder) -> Callable[[], None]:
    """Watch the functions that cross-validate; returns the undo."""
    hooks, guard = Folds(recorder), guarded("folds", recorder)
    if recorder.wants(*PROVIDES):
        begin, end = guard(hooks.begin), guard(hooks.end)
        for name in ("sklearn.model_selection._validation", "sklearn.model_selection"):
            module = sys.modules.get(name)
            for function in WHOLE if module is not None else ():
                if hasattr(module, function):
                    hooks.patches.around(module, function, begin, end)
        hooks.patches.around(sys.modules["sklearn.model_selection._validation"], "_safe_split", guard(hooks.split))
    return hooks.patches.undo
