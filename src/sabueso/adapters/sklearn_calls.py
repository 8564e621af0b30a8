"""scikit-learn's kind of estimators, whoever made them: what the person's code gives to fit, predict, transform and score.

Calls within a library (a pipeline's steps, the fits of a cross-validation) are not looked at: the person's own call has the raw rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..capture import content, fits
from ..capture.around import Around, Patches
from ..capture.calling import direct
from ..capture.flow import Flow
from ..capture.origin import user_line
from ..capture.recorder import Recorder, guarded
from ..capture.turns import Turns

LIBRARIES = ("sklearn.base",)
PROVIDES = ("fed_twice", "inputs", "moments", "remembered")
FITS = ("fit", "fit_transform", "fit_predict", "partial_fit")
FEEDS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "score")


class Estimators:
    """The hooks of one installation."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder, self.patches = recorder, Patches()
        self.flow, self.done, self.turns = Flow.of(recorder), set(), Turns(recorder) if recorder.wants("label_order") else None
        self.guard = guarded("sklearn_calls", recorder)
        self.befores = {m: self.guard(self._before(m)) for m in FITS + FEEDS}
        self.afters = {m: self.guard(self._after(m)) for m in FITS + FEEDS}

    def _before(self, method: str) -> Callable[..., Any]:
        def before(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if not direct() or not args:
                return None
            owner = args[0]
            x = args[1] if len(args) > 1 else kwargs.get("X")
            y = args[2] if len(args) > 2 else kwargs.get("y")
            if method in FITS:
                self.flow.fitted(owner, x, y, again=method == "partial_fit")
                fits.tell(self.recorder, owner, x, y)
                if method == "partial_fit" and self.turns is not None:
                    self.turns.fed(owner, y, user_line())
                return ()
            at = self.flow.fed(owner, method, x)
            return (at,)

        return before

    def _after(self, method: str) -> Callable[..., Any]:
        def after(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if token is None:
                return
            if method in ("transform", "fit_transform"):
                self.flow.transformed(args[0], result)
            elif method not in FITS and self.turns is not None:
                self.turns.judged(args[0], method, args[1] if len(args) > 1 else kwargs.get("X"), result)
            if method not in (*FITS, "transform", "score"):
                self.flow.answered(args[0], method, result, token[0])

        return after

    def hook(self, cls: type) -> None:
        """Put the hooks round a class's methods, each where it is defined: by the class itself or by a mixin."""
        for method in FITS + FEEDS:
            owner = next((c for c in cls.__mro__ if method in vars(c)), None)
            if owner is None or (owner, method) in self.done:
                continue
            self.done.add((owner, method))
            held = vars(owner)[method]
            if type(held).__name__ == "_AvailableIfDescriptor":
                if callable(getattr(held, "fn", None)):
                    self.patches.put(held, "fn", Around(held.fn, self.befores[method], self.afters[method]))
            elif callable(held) and not isinstance(held, (staticmethod, classmethod, property)):
                self.patches.put(owner, method, Around(held, self.befores[method], self.afters[method]))

    def all(self, cls: type) -> None:
        """A class and all that are derived of it."""
        self.hook(cls)
        for sub in cls.__subclasses__():
            self.all(sub)


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook every estimator that there is and every one made later."""
    hooks = Estimators(recorder)
    if not recorder.wants("inputs", "metric", "search", "moments", "remembered"):
        return hooks.patches.undo
    content.install(recorder)
    root = sys.modules["sklearn.base"].BaseEstimator
    for cls in root.__subclasses__():
        hooks.all(cls)
    known = getattr(root, "__init_subclass__").__func__  # noqa: B009 (a dunder in a string: no other way to say it)
    meet = hooks.guard(lambda token, result, args, kwargs: hooks.hook(args[0]))
    hooks.patches.put(root, "__init_subclass__", classmethod(Around(known, None, meet)))
    return hooks.patches.undo
