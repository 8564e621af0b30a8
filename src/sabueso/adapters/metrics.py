"""scikit-learn's metrics: what the person's code gives to them, what scorers and searches compare, and what becomes of the values.

One fact `metric` for each line and metric: values, sizes, confusion counts call by call, whether an argument is a model's answer (labels
where a score is asked for, the answer where the truth belongs), and whether the values of batches are added up or collected for a mean.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ..capture import shuffled
from ..capture.around import Patches
from ..capture.calling import caller, direct
from ..capture.flow import Flow
from ..capture.origin import user_line
from ..capture.outputs import plain
from ..capture.parts_judged import Parts
from ..capture.recorder import Recorder, guarded
from ..capture.scores import LABELS, NUMBERS, SCORES, Site

LIBRARIES = ("sklearn.metrics",)
PROVIDES = ("metric", "row_mismatch")
MOST_SITES = 80
MOST_ASKED = 5  # times that one line's answers are held against loaders' orders


class Metrics:
    """The hooks of one installation."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder, self.flow, self.patches = recorder, Flow.of(recorder), Patches()
        self.sites: dict[Any, Site] = recorder.shared.setdefault("metric_sites", {})
        self.parts = Parts(recorder)
        self.asked: dict[tuple[str | None, int | None], int] = {}  # by line: how often answers were held against loaders' orders
        self.pending: tuple[str, Any] | None = None  # (metric, truth) of the scorer that is at work
        recorder.at_exit(self.finish)

    def site(self, metric: str, via: str) -> Site | None:
        """The record of this metric at this line."""
        file, line = user_line()
        key = (metric, via, file, line)
        site = self.sites.get(key)
        if site is None and len(self.sites) < MOST_SITES:
            site = self.sites[key] = Site(metric, via, file, line, logged=self.recorder.shared.setdefault("averaged_values", deque(maxlen=64)))
        return site

    def called(self, metric: str) -> Callable[..., None]:
        """After a metric function returned."""

        def after(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            true, answered = _two(args, kwargs)
            if true is None or answered is None:
                return
            own = direct()
            site = self.site(metric, "call" if own else "inner")
            if site is None:
                return
            a, b = plain(true), plain(answered)
            if a is None or b is None:
                return
            if metric == "roc_auc_score" and b.ndim == 2 and b.shape[1] == 2:
                b = b[:, 1]
            step = self.recorder.step
            site.see(a, b, result, caller() if own else None, step, dict(kwargs), self.flow.fits)
            if own:
                self.arguments(site, true, answered, a, b)
                self.order(a, b)

        return after

    def arguments(self, site: Site, true: Any, answered: Any, a: Any, b: Any) -> None:
        """Which of the arguments are a model's answers?"""
        if len(b) < 4:
            return
        of_true, of_answer = self.flow.outputs.find(true, a), self.flow.outputs.find(answered, b)
        if of_answer is not None and of_true is None:
            self.flow.truth(of_answer, a)
            self.codes(of_answer, true)
            site.by_classifier = site.by_classifier or of_answer.classifier
        elif of_answer is None and site.metric in SCORES:
            self.parts.judged(self.flow, a, b, answered)
        if of_answer is None and site.clipped is None and site.metric in SCORES:
            site.clipped = clipped(self.flow.outputs.last(len(b)), b)
        site.provenance(of_true, of_answer, a, b, self.flow.outputs)

    def order(self, a: np.ndarray, b: np.ndarray) -> None:
        """Do the answers stand in the order of a shuffled loader?"""
        passes, at = self.recorder.shared.get("passes"), user_line()
        self.asked[at] = self.asked.get(at, 0) + 1
        if passes is None or self.asked[at] > MOST_ASKED or not self.recorder.wants("row_mismatch"):
            return
        told = shuffled.look(passes(), a, b)
        if told is not None and self.recorder.once("row_mismatch", told["how"], told["line"]):
            file, line = at
            value = told | {"scored": [file, line]}
            self.recorder.fact("row_mismatch", value, stage="evaluate", file=told["file"] or file or "", line=told["line"] or line)

    def codes(self, of_answer: Any, true: Any) -> None:
        """Were the labels here numbered by the encoder that numbered those of the fit?"""
        here, stream = self.flow.maker(true), of_answer.stream
        there = stream.model.coded_by if stream is not None else None
        if here is None or there is None or not here.codes or not there.codes or here.codes == there.codes:
            return
        shared = [c for c in here.codes if c in there.codes]
        moved = [c for c in shared if here.codes.index(c) != there.codes.index(c)]
        if moved and self.recorder.once("label_codes", here.number, there.number):
            value = {"how": "encoded", "encoder": here.cls, "numbered": there.codes[:20], "stored": here.codes[:20], "moved": len(moved),
                     "classes": len(shared), "rows": here.rows, "fit_line": there.line,
                               "lacks": [c for c in there.codes if c not in here.codes][:10]}  # fmt: skip
            self.recorder.fact("label_codes", value, stage="preprocess", estimator=here.cls, file=here.file or "", line=here.line)

    # ---- scorers, as searches and cross-validation use them

    def scoring(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A scorer begins: (scorer, method_caller, estimator, X, y)."""
        if len(args) >= 5:
            self.pending = (getattr(args[0]._score_func, "__name__", "score"), args[4])

    def cached(self, token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """The scorer's estimator answered."""
        if self.pending is None:
            return
        (metric, true), self.pending = self.pending, None
        a, b = plain(true), plain(result)
        site = self.site(metric, "scorer") if a is not None and b is not None and a.ndim == b.ndim == 1 and len(a) == len(b) else None
        if site is not None:
            site.see(a, b, None, None, None, {})

    def finish(self) -> None:
        """One fact a site."""
        clusters = any(name in sys.modules for name in ("sklearn.cluster", "sklearn.mixture"))
        for site in self.sites.values():
            told = {**site.told(), "clusters": clusters and not site.by_classifier}
            self.recorder.fact("metric", told, stage="evaluate", estimator=site.metric, file=site.file or "", line=site.line)


def clipped(output: Any, scores: Any) -> dict[str, Any] | None:
    """Are the scores a model's raw output cut off at 0 and 1?"""
    values = output.values.reshape(len(output.values), -1) if output is not None and output.values.dtype.kind == "f" else None
    if values is None or values.shape[1] != 1 or scores.ndim != 1 or scores.dtype.kind != "f":
        return None
    raw = values[:, 0].astype(float)
    outside = (raw < 0) | (raw > 1)
    if outside.mean() < 0.05 or not np.allclose(np.clip(raw, 0, 1), scores, atol=1e-6):
        return None
    return {"model": output.model, "outside": round(float(outside.mean()), 3), "low": round(float(raw.min()), 3), "high": round(float(raw.max()), 3)}


def _two(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """(truth, answer) of a metric's arguments, by position or name."""
    first = args[0] if args else kwargs.get("y_true")
    second = args[1] if len(args) > 1 else next((kwargs[k] for k in ("y_pred", "y_score", "y_proba", "y_prob") if k in kwargs), None)
    return first, second


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook the metric functions and the scorers."""
    hooks, guard = Metrics(recorder), guarded("metrics", recorder)
    if not recorder.wants("metric", "search", "row_mismatch"):
        return hooks.patches.undo
    package = sys.modules["sklearn.metrics"]
    for metric in (*LABELS, *SCORES, *NUMBERS):
        hooks.patches.around(package, metric, None, guard(hooks.called(metric)))
    scorer = sys.modules.get("sklearn.metrics._scorer")
    if scorer is not None:
        hooks.patches.around(scorer._Scorer, "_score", guard(hooks.scoring), None)
        hooks.patches.around(scorer, "_cached_call", None, guard(hooks.cached))
    return hooks.patches.undo
