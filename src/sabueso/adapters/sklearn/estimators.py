"""The hooks round fit, transform, predict and score of every estimator, and what they tell of rows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...capture import lineage
from ...capture.around import Around, Patches
from ...capture.calling import direct
from ...capture.lineage import choices, hand_folds, sight, uses
from ...capture.lineage.known import Known
from ...capture.lineage.registry import note_labels
from ...capture.lineage.uses import Fit, Learner
from ...capture.recorder import Recorder, guarded
from . import chosen, copies, entities, grouping, imbalance, learning, overlaps, pairing, ranked

FITS = ("fit", "fit_transform", "fit_predict", "partial_fit", "fit_resample")
ANSWERS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "score")
METHODS = (*FITS, "transform", *ANSWERS)


@dataclass(slots=True)
class Call:
    """A call of the person's code on an estimator."""

    owner: Any
    x: Any
    y: Any
    known: Known | None
    origin: sight.Origin


class Estimators:
    """The hooks of one installation and what they remember."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder, self.patches = recorder, Patches()
        self.lineage = lineage.of(recorder)
        self.uses = uses.of(recorder, self.lineage)
        self.learners: dict[int, tuple[Any, Learner]] = {}  # by id of a fitted transformer
        self.hooked: set[type] = set()
        self.guard = guarded("sklearn", recorder)
        self.hooks = {m: (self.guard(self._before(m)), self.guard(self._after(m))) for m in METHODS}

    # ---- putting them in

    def install(self) -> None:
        module = sys.modules["sklearn.base"]
        root = module.BaseEstimator
        self.recorder.at_exit(lambda: choices.tell(self.uses))
        for cls in root.__subclasses__():
            self._all(cls)
        made = root.__init_subclass__.__func__
        meet = self.guard(lambda token, result, args, kwargs: self.hook(args[0]))
        self.patches.put(root, "__init_subclass__", classmethod(Around(made, None, meet)))

    def hook(self, cls: type) -> None:
        """Put the hooks round the methods of a class and of the mixins that it has them from."""
        for part in cls.__mro__[:-1]:
            if part not in self.hooked:
                self.hooked.add(part)
                self._hook(part)

    def _hook(self, cls: type) -> None:
        for method in METHODS:
            held = vars(cls).get(method)
            before, after = self.hooks[method]
            if type(held).__name__ == "_AvailableIfDescriptor":
                if callable(getattr(held, "fn", None)):
                    self.patches.put(held, "fn", Around(held.fn, before, after))
            elif callable(held) and not isinstance(held, (staticmethod, classmethod, property, type)):
                self.patches.put(cls, method, Around(held, before, after))

    def _all(self, cls: type) -> None:
        self.hook(cls)
        for sub in cls.__subclasses__():
            self._all(sub)

    # ---- a call

    def _before(self, method: str) -> Callable[..., Any]:
        def before(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if not args or not direct():
                return None
            x = args[1] if len(args) > 1 else kwargs.get("X", kwargs.get("x"))
            y = args[2] if len(args) > 2 else kwargs.get("y")
            call = Call(args[0], x, y, self.lineage.known_of(x), sight.origin())
            if call.known is not None:
                note_labels(x, call.known)
                if method in ("predict", "predict_proba", "predict_log_proba", "decision_function", "score"):
                    self._answered(method, call)
            return call

        return before

    def _after(self, method: str) -> Callable[..., Any]:
        def after(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if token is None or token.known is None:
                return
            if method in FITS and method != "fit_resample":
                self._fitted(method, token, kwargs)
            if method in ("transform", "fit_transform"):
                self._transformed(token, result)
            elif method == "fit_resample":
                self._resampled(token, result)

        return after

    def _fitted(self, method: str, call: Call, kwargs: dict[str, Any]) -> None:
        """A transformer learnt from rows, or a model was fitted on them."""
        owner, known = call.owner, call.known
        if learning.is_transformer(owner, method):
            if learning.learnt(owner):
                made = Learner(type(owner).__name__, uses.unique(known), "transformer", learning.uses_labels(owner, call.y), call.origin, known=known)
                made.extra = learning.described(owner)
                self.learners[id(owner)] = (uses.reference(owner), made)
        if learning.is_model(owner):
            supervised = call.y is not None or learning.labelled_inside(owner)
            y = pairing.label_codes(call.y, known.rows)
            fit = self.uses.fitted(owner, type(owner).__name__, known, call.origin, y=y, supervised=supervised, more=method == "partial_fit")
            fit.extra["params"] = learning.settings(owner)
            fit.extra["semi"] = learning.semi_supervised(owner, call.y)
            pairing.eval_sets(self, fit, owner, kwargs)
            grouping.note(self.lineage, known, kwargs.get("groups"))
            fit.extra["label"] = getattr(call.y, "name", None)
            pairing.rows_in_step(self, fit, call, method == "partial_fit")
            pairing.inputs_tell(self, fit, call)
            ranked.note(self, fit, owner)
            imbalance.look(self, fit, call, kwargs)

    def _transformed(self, call: Call, result: Any) -> None:
        """The answer of a transformer holds the same rows, and what it learnt from is its ancestor."""
        result = result[0] if isinstance(result, tuple) else result
        known = call.known
        if len(self.uses.touched) < 300:
            self.uses.touched.append(uses.unique(known))
        if getattr(result, "shape", (0,))[0] != known.rows:
            return
        made = self.learner_of(call.owner)
        linked = self.lineage.link(result, known.ids, known, maker=made, made=known.made)
        if linked is not None:
            note_labels(result, linked)
            if made is not None and known.table is not None and linked.table is not None:
                made.selects = made.selects or learning.selects(known.table, linked.table)
                made.extra |= {"columns": known.table.width, "kept": linked.table.width}

    def learner_of(self, owner: Any) -> Learner | None:
        """What a transformer learnt from; for a model that also transforms (LDA, PLS) its fit."""
        held = self.learners.get(id(owner))
        if held is not None and held[0]() is owner:
            return held[1]
        fit = self.uses.fit_of(owner)
        if fit is None:
            return None
        made = Learner(fit.name, fit.ids, "transformer", fit.supervised, fit.origin, known=fit.known)
        self.learners[id(owner)] = (uses.reference(owner), made)
        return made

    def _resampled(self, call: Call, result: Any) -> None:
        """fit_resample: rows that were there before are found by content, the others were made up."""
        out = result[0] if isinstance(result, tuple) else result
        known = call.known
        shape = getattr(out, "shape", None)
        if not shape or known.hashes is None:
            return
        made = Learner(type(call.owner).__name__, uses.unique(known), "resampling", True, call.origin, known=known)
        fresh = self.lineage.link(out, np.full(shape[0], -1), known, resampled=made)
        if fresh is None:
            return
        at = known.find(fresh.hashes)
        fresh.ids = np.where(at >= 0, known.ids[at], -1)
        seen, repeated = np.zeros(known.rows, np.int64), np.zeros(shape[0], bool)
        for i, j in enumerate(at):
            repeated[i] = j < 0 or seen[j] > 0
            seen[j] += j >= 0
        fresh.made = repeated if repeated.any() else None
        made.extra["extra_rows"] = int(repeated.sum())
        self.uses.resamplings.append(made)

    def _answered(self, method: str, call: Call) -> None:
        """Rows are given to a fitted model to be judged."""
        fit: Fit | None = self.uses.fit_of(call.owner)
        if fit is not None and fit.supervised and not fit.extra.get("semi"):
            if self.uses.evaluated(fit, call.known, call.x, call.origin, method, scored=method == "score") is not None:
                pairing.target_means(self, fit, call)
                pairing.held_out_order(self, fit, call)
                if self.recorder.wants("label_order"):
                    hand_folds.of(self.recorder, self.lineage).judged(fit, call.known, call.origin)
                grouping.look(self, fit, call)
                entities.look(self, fit, call)
                chosen.look(self, fit, call)
                ranked.look(self, fit, call)
                copies.look(self, fit, call, pairing.labels_in_sight)
                overlaps.look(self, fit, call)
