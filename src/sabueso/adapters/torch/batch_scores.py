"""Batch scores: are the values that a loop over batches gathers those of a metric by hand that is no mean over rows (F1, precision, recall)?

Each batch's predictions and targets are known from the recount of an evaluation. The metric's value of every batch is reckoned from them and
looked for in what the loop gathers: a list, or a running sum. Where it may be there, the next pass over this line is seen to its end.
"""

from __future__ import annotations

import re
import sys
import weakref
from linecache import getline
from types import FrameType
from typing import Any

import numpy as np

from ...capture.gathering import variables
from ...capture.origin import absolute, is_users
from .trace import is_plain
from .watch import Watch

PART = "batch_scores"
SURE = 4  # batches that a pass must hold; after the first it is asked for
PASSES = 3  # of one line that are seen to their end
DISTINCT, MANY = 3, 8  # values other than 0 and 1 among them; one is enough in so many batches
CLOSE = 2e-5
JOINS = frozenset({"eq", "ne", "and", "logical_and", "mul", "gt", "ge"})
MOST_FRAMES, MOST_CLASSES, MOST_ROWS = 3, 12, 100_000

Counts = np.ndarray  # [truth, answer]


class Pass:
    """One pass over batches: counts of each, by the way in which a prediction is made an answer."""

    def __init__(self, key: Any) -> None:
        self.key = key
        self.counts: dict[str, list[Counts]] = {}
        self.sizes: list[int] = []
        self.found: dict[str, Any] | None = None


class BatchScores:
    """The pass in progress."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.held: Pass | None = None
        self.told: dict[Any, int] = {}
        self.last: Any = lambda: None  # a weak reference to the prediction that was scored last

    def key(self) -> Any:
        evaluation = self.watch.parts["evaluation"]
        return evaluation.key, evaluation.opened.get(evaluation.key), self.watch.step

    def evaluated(self, root: Any, inputs: Any, outputs: Any) -> None:
        """The next batch: by now the loop has gathered the value of the one before."""
        held = self.held
        if held is None or held.key != self.key() or self.told.get(held.key[0], 0) >= PASSES or not held.sizes:
            return
        loader = self.watch.parts["evaluation"].loader
        if loader is None or getattr(loader, "batch_size", None) != held.sizes[0]:
            return  # a loop over patients, records or folds may well average their scores
        hit = self.search(held, sys._getframe(1))
        if hit is None:
            return
        self.watch.parts["evaluation"].whole.setdefault(held.key[0], PASSES)
        if len(held.sizes) >= SURE and (found := described(held, *hit)) is not None:
            held.found = found

    def search(self, held: Pass, frame: FrameType | None) -> tuple[str, str, str, str, FrameType] | None:
        """(answers, metric, how, variable, frame) of the first that fits."""
        wanted = [(way, metric, np.array([score(c, metric) for c in counts])) for way, counts in held.counts.items() for metric in METRICS]
        sure = len(held.sizes) >= SURE
        if sure:
            wanted = [(way, metric, v) for way, metric, v in wanted if (v != 0).any()]
        sizes, seen = np.array(held.sizes, float), 0
        while frame is not None and seen < MOST_FRAMES and wanted:
            if is_users(frame.f_code.co_filename):
                seen += 1
                for name, x in variables(frame):
                    for way, metric, v in wanted:
                        how = gathers(x, v, sizes, sure)
                        if how is not None and ("." in name or gathered_at(frame, name)):
                            return way, metric, how, name, frame
            frame = frame.f_back
        return None

    def operation(self, name: str, func: Any, args: Any, kwargs: Any, result: Any, outputs: list[Any]) -> None:
        """A prediction is compared, though not with its target as a whole: the target is what the loader gave beside its input."""
        waiting = self.watch.parts["recount"].waiting if name in JOINS and self.watch.evaluating else None
        loader = self.watch.parts.get("loader") if waiting is not None and waiting.output is not self.last() else None
        if loader is None or not loader.recent:
            return
        beside = [t for t in (r() for r in loader.recent[-1].leaves) if t is not None and t is not waiting.inputs]
        labels = [t for t in beside if t.numel() == len(t) == len(waiting.output)] if all(t.dim() for t in beside) else []
        if len(labels) == 1:
            self.scored(waiting.output, labels[0])

    def scored(self, output: Any, truth: Any) -> None:
        """A batch of an evaluation: its counts."""
        if output is self.last():
            return
        self.last, key = weakref.ref(output), self.key()
        if self.held is None or self.held.key != key:
            self.flush()
            self.held = Pass(key)
        if self.told.get(key[0], 0) < PASSES and is_plain(output) and is_plain(truth) and 1 < len(truth) <= MOST_ROWS:
            ways = answers(
                (output.detach().double() if output.is_floating_point() else output.detach()).numpy(),
                (truth.detach().double() if truth.is_floating_point() else truth.detach()).numpy(),
            )
            if ways:
                self.held.sizes.append(len(truth))
            for way, counts in ways.items():
                self.held.counts.setdefault(way, []).append(counts)

    def flush(self) -> None:
        """The pass is over: what was found last holds most batches."""
        held, self.held = self.held, None
        if held is not None and held.found is not None:
            self.told[held.key[0]] = self.told.get(held.key[0], 0) + 1
            place = held.found.pop("place")
            self.recorder.fact("batch_metric", held.found, stage="evaluate", **place)


def answers(output: np.ndarray, truth: np.ndarray) -> dict[str, Counts]:
    """Counts by truth and answer: of one score cut at 0 and at a half, or of the largest of several."""
    labels = truth.reshape(-1)
    if len(labels) != len(output) or labels.dtype.kind not in "iufb" or not (labels == np.round(labels)).all() or labels.min() < 0:
        return {}
    labels = labels.astype(int)
    if output.size == len(labels) and labels.max() <= 1:
        flat = output.reshape(-1)
        return {"at 0": table(labels, flat > 0, 2), "at 0.5": table(labels, flat > 0.5, 2)}
    if output.ndim == 2 and 2 <= output.shape[1] <= MOST_CLASSES and labels.max() < output.shape[1]:
        return {"largest": table(labels, output.argmax(1), output.shape[1])}
    return {}


def table(labels: np.ndarray, said: np.ndarray, classes: int) -> Counts:
    return np.bincount(labels * classes + said.astype(int), minlength=classes * classes).reshape(classes, classes)


METRICS = ("f1_score", "precision_score", "recall_score")


def score(counts: Counts, metric: str) -> float:
    """Of two classes the value of class 1, of more the mean over all; 0 where a class neither stands there nor is answered."""
    hits, true, said = np.diag(counts).astype(float), counts.sum(1), counts.sum(0)
    over = {"f1_score": true + said, "precision_score": said, "recall_score": true}[metric]
    values = np.where(over > 0, (2 if metric == "f1_score" else 1) * hits / np.maximum(over, 1), 0.0)
    return float(values[1] if len(counts) == 2 else values.mean())


def gathers(x: Any, values: np.ndarray, sizes: np.ndarray, sure: bool) -> str | None:
    """Does a variable hold just these values, or their sum? A sum that is a whole number may be a count."""
    if isinstance(x, list):
        if len(x) != len(values):
            return None
        try:
            return "list" if np.allclose([float(e) for e in x], values, rtol=0, atol=CLOSE) else None
        except (TypeError, ValueError, RuntimeError):
            return None
    for how, total in (("sum", values.sum()), ("weighted sum", (values * sizes).sum())):
        if abs(float(x) - total) <= CLOSE * max(1.0, abs(total)) and (not sure or abs(total - round(total)) > 10 * CLOSE):
            return how
    return None


def described(held: Pass, way: str, metric: str, how: str, name: str, frame: FrameType) -> dict[str, Any] | None:
    """The fact, in the form of the metrics of sklearn; None where the values are too few or too plain to be sure of."""
    counts = held.counts[way]
    values = np.array([score(c, metric) for c in counts])
    if len({round(float(v), 4) for v in values if 0 < v < 1}) < (DISTINCT if len(values) < MANY else 1):
        return None
    whole, classes = np.sum(counts, axis=0), len(counts[0])
    told = {"how": how, "name": name, "calls": len(values), "rows": sum(held.sizes), "batch": held.sizes[0], "mean": float(values.mean()),
            "weighted_mean": float(np.average(values, weights=held.sizes)), "zeros": int((values == 0).sum()), "even": held.sizes[-1] == held.sizes[0],
            "one_class": sum(int((c.sum(1) > 0).sum() < 2) for c in counts),
            "pooled": [[str(t), str(p), int(whole[t, p])] for t in range(classes) for p in range(classes) if whole[t, p]]}  # fmt: skip
    place = {"file": absolute(frame.f_code), "line": gathered_at(frame, name) or frame.f_lineno}
    settings = {"average": "binary" if classes == 2 else "macro"}
    return {"metric": metric, "via": "call", "hand": True, "settings": settings, "gathered": [told], "place": place}


def gathered_at(frame: FrameType, name: str) -> int | None:
    """The line of the function that adds to the variable."""
    last = re.escape(re.split(r"[.\[]", name)[-1].rstrip("]"))
    lines = sorted({n for *_, n in frame.f_code.co_lines() if n})
    hits = [n for n in lines if re.search(rf"{last}\W.*(append\(|\+=)|{last}\W*\+=", getline(frame.f_code.co_filename, n))]
    return hits[0] if hits else None


def install(watch: Watch) -> None:
    """Hang on what a recount of evaluations scores."""
    if not watch.recorder.wants("batch_metric"):
        return
    scores = BatchScores(watch)
    watch.hang("on_evaluation", PART, scores.evaluated)
    watch.hang("on_scored", PART, scores.scored)
    watch.hang("on_operation", PART, scores.operation)
    watch.recorder.at_exit(watch.guard(PART)(scores.flush))
