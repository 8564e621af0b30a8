"""Scores: one metric at one line, call by call, small enough to keep and enough to pool."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .authorship import chosen
from .gathering import Gathered, gathered, logged_as
from .outputs import Outputs
from .pieces import batches

LABELS = ("accuracy_score", "balanced_accuracy_score", "f1_score", "fbeta_score", "precision_score", "recall_score", "jaccard_score",
          "precision_recall_fscore_support", "classification_report", "confusion_matrix", "matthews_corrcoef", "cohen_kappa_score",
          "zero_one_loss", "hamming_loss", "class_likelihood_ratios")  # fmt: skip
SCORES = ("roc_auc_score", "average_precision_score", "log_loss", "brier_score_loss", "roc_curve", "precision_recall_curve", "det_curve")
NUMBERS = ("r2_score", "mean_absolute_error", "mean_squared_error", "root_mean_squared_error", "mean_absolute_percentage_error",
           "median_absolute_error", "explained_variance_score", "max_error", "mean_squared_log_error", "mean_pinball_loss",
           "mean_poisson_deviance", "mean_gamma_deviance")  # fmt: skip
CLASSES = 12  # confusion counts are kept of no more
MORE = 0.05  # of the rows that a threshold says yes to, and that it gets right more than an answer of 0 does
CALLS = 3000
FEW, BELOW, SURE = 20, 0.4, 6.0  # rows of either class, area under the curve, and its distance from 0.5 in standard errors, for scores to stand on their head
RARE, MISSED, FEWEST = 0.1, 0.1, 100  # share of a rare class, share of it that is found, and rows, for its ranking to be asked
POOL = 20_000  # rows of scores kept to pool an area under a curve


@dataclass(slots=True)
class Site:
    """`via`: call (by the person's code), inner (by a library that computes its own score), scorer (by a search or a cross-validation)."""

    metric: str
    via: str
    file: str | None
    line: int | None
    calls: int = 0
    values: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    steps: list[int | None] = field(default_factory=list)
    counts: list[Counter[tuple[str, str]] | None] = field(default_factory=list)
    sums: list[tuple[float, ...]] = field(default_factory=list)
    pool: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    pooled_rows: int = 0
    settings: dict[str, Any] = field(default_factory=dict)
    passes: dict[int, Gathered] = field(default_factory=dict)  # over batches, by the call at which they began
    apart: set[int] = field(default_factory=set)  # those over folds, groups or columns
    fits: list[int] = field(default_factory=list)  # how many fits had begun, call by call
    averaged: dict[str, Any] | None = None
    hard: dict[str, Any] | None = None
    swapped: dict[str, Any] | None = None
    ranked: dict[str, Any] | None = None
    inverse: dict[str, Any] | None = None  # the first call, where scores rank the classes the other way round in each
    upright: bool = False  # one call in which they do not: no other is looked at
    by_classifier: bool = False
    clipped: dict[str, Any] | None = None
    one_column: dict[str, Any] | None = None
    logged: Any = ()  # (name, value) of what a trainer was last given to average
    answers: int = 0  # calls whose second argument is a model's answer

    def see(self, true: np.ndarray, answered: np.ndarray, result: Any, frame: Any, step: int | None, settings: dict[str, Any], fits: int = 0) -> None:
        """One call; `fits`: how many fits had begun by then."""
        self.calls += 1
        if self.calls > CALLS or not len(true):
            return
        value = float(result) if isinstance(result, (float, int, np.floating, np.integer)) else float("nan")
        if frame is not None and value == value and 4 <= self.calls and (self.calls <= 64 or self.calls % 8 == 0):
            found = gathered(frame, self.values, self.sizes) or logged_as(self.logged, self.values)
            if found is not None and len(self.passes) < 200 and not (self.logged and any(p.name == found.name for p in self.passes.values())):
                self._pass(found, frame)
        self.values.append(value)
        self.sizes.append(len(true))
        self.steps.append(step)
        self.fits.append(fits)
        self.settings = {k: v for k, v in settings.items() if isinstance(v, (str, int, float, bool)) and k != "y_pred"} or self.settings
        self._count(true, answered)

    def _pass(self, found: Gathered, frame: Any) -> None:
        """Values are gathered by a pass: one over batches is kept."""
        if found.start in self.apart:
            return
        if found.start in self.passes or batches(frame):
            self.passes[found.start] = found
        else:
            self.apart.add(found.start)

    def _count(self, true: np.ndarray, answered: np.ndarray) -> None:
        if true.ndim == 2 and true.shape[1] == 1:
            true = true[:, 0]
        if answered.ndim == 2 and answered.shape[1] == 1:
            answered = answered[:, 0]
        if self.metric in NUMBERS or (self.via == "scorer" and answered.dtype.kind == "f" and len(np.unique(answered[:50])) > CLASSES):
            self.sums.append(_sums(true, answered))
        elif self.metric in SCORES:
            self.counts.append(confusion(true, true))
            if self.pooled_rows < POOL and true.ndim == answered.ndim == 1:
                self.pool.append((np.array(true), np.array(answered)))
                self.pooled_rows += len(true)
        else:
            self.counts.append(confusion(true, answered))

    def provenance(self, of_true: Any, of_answer: Any, true: np.ndarray, answered: np.ndarray, outputs: Outputs) -> None:
        """Labels where scores are asked for; the answer where the truth belongs."""
        self.answers += of_answer is not None
        if self.metric in SCORES and self.hard is None and answered.ndim == 1 and len(answered) >= 10 and len(np.unique(answered)) <= 2:
            source = of_answer if of_answer is not None else outputs.behind(answered) if answered.dtype.kind in "iufb" else None
            if source is not None and (source.scores or not source.hard) and (of_answer is None or source.method == "predict"):
                self.hard = {"model": source.model, "method": source.method, "distinct": int(len(np.unique(answered))), "rows": len(answered),
                             "direct": of_answer is not None, "line": chosen() if of_answer is None and source.values.ndim == 2 else None}  # fmt: skip
        if self.swapped is None and of_true is not None and of_answer is None and len(true) == len(answered) and true.ndim == answered.ndim == 1:
            if of_true.method == "predict" and (answered.dtype.kind not in "iufb" or outputs.behind(answered) is None):
                self.swapped = {"model": of_true.model, "rows": len(true)}

        if self.metric in SCORES and of_answer is not None and not self.upright:
            found = inverse(true, answered, of_answer)
            self.upright, self.inverse = found is None, self.inverse or found
        if self.metric in LABELS and self.counts:
            self.ranked = ranked(true, answered, self.counts[-1], outputs)
            if self.one_column is None and of_answer is None:
                self.one_column = one_column(true, answered, outputs.last(len(answered)))

    def pooled(self, first: int = 0, last: int | None = None) -> list[list[Any]] | None:
        """Confusion counts of some calls together: [truth, answer, count]."""
        some = self.counts[first:last]
        if not some or any(c is None for c in some):
            return None
        whole: Counter[tuple[str, str]] = Counter()
        for c in some:
            whole.update(c)
        return [[t, p, n] for (t, p), n in sorted(whole.items())]

    def told(self) -> dict[str, Any]:
        """JSON-able."""
        value: dict[str, Any] = {"metric": self.metric, "via": self.via, "calls": self.calls, "values": self.values[:300],
                  "sizes": self.sizes[:300],
                                 "settings": self.settings, "hard": self.hard, "swapped": self.swapped,
                                 "ranked": self.ranked, "clipped": self.clipped, "one_column": self.one_column, "answers": self.answers,
                                 "inverse": None if self.upright else self.inverse}  # fmt: skip
        if self.counts:
            value["last"] = self.pooled(len(self.counts) - 1)
            value["pooled"] = self.pooled()
        swept = sweep(self.counts, self.sizes, self.steps) if 8 <= self.calls <= CALLS else None
        if swept is not None:
            value["sweep"] = {**swept, "best": [min(self.values), max(self.values)]}
        if self.sums:
            value["sums"] = [list(s) for s in self.sums[:300]]
        told = [t for start in self.passes if (t := self.gathering(start)) is not None]
        value["gathered"] = sorted(told, key=lambda t: -t["calls"])[:6]
        return value

    def gathering(self, first: int) -> dict[str, Any] | None:
        """A pass whose values were added up or collected: their mean beside the counts of all its rows together.

        A pass over batches has calls of one size, the last of which may be smaller.
        """
        last = first
        while last < len(self.values) and self.steps[last] == self.steps[first] and self.sizes[last] <= self.sizes[first]:
            last += 1
            if self.sizes[last - 1] < self.sizes[first]:
                break
        if last - first < 4 or len(set(self.fits[first:last])) == last - first:  # each piece has a model of its own
            return None
        found, sizes, values = self.passes[first], self.sizes[first:last], self.values[first:last]
        told = {"how": found.how, "name": found.name, "calls": last - first, "rows": sum(sizes), "batch": sizes[0],
                  "mean": float(np.mean(values)),
                "weighted_mean": float(np.average(values,
                weights=sizes)), "zeros": sum(v == 0 for v in values), "even": sizes[-1] == sizes[0],
                "averaged": self.averaged}  # fmt: skip
        if len(self.counts) >= last:
            told["pooled"] = self.pooled(first, last)
            told["one_class"] = sum(c is not None and len({t for t, _ in c}) < 2 for c in self.counts[first:last])
        if len(self.sums) >= last:
            told["sums"] = [float(x) for x in np.sum(self.sums[first:last], axis=0)]
        if len(self.pool) >= last:
            true, scores = (np.concatenate([p[i] for p in self.pool[first:last]]) for i in (0, 1))
            told |= {"auc": auc(true, scores), "average_precision": average_precision(true, scores)}
        return told


def average_precision(true: np.ndarray, scores: np.ndarray) -> float | None:
    """Mean of the precision at each threshold, weighted by the recall that it adds; None without both of two classes."""
    classes = np.unique(true)
    if len(classes) != 2:
        return None
    order = np.argsort(-scores, kind="stable")
    hits, ends = np.cumsum(true[order] == classes[1]), np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)
    recall = hits[ends] / hits[-1]
    return float(((recall - np.append(0, recall[:-1])) * hits[ends] / (ends + 1)).sum())


def ranked(true: np.ndarray, answered: np.ndarray, counts: Counter[tuple[str, str]] | None, outputs: Outputs) -> dict[str, Any] | None:
    """Where a rare class is hardly ever answered: how well the network's scores behind the answers tell it apart; None for all else."""
    if counts is None or len(true) != len(answered) or len(true) < FEWEST:
        return None
    truths = {t: sum(n for (other, _), n in counts.items() if other == t) for t, _ in counts}
    rare = min(truths, key=lambda t: truths[t])
    found = counts.get((rare, rare), 0) / max(truths[rare], 1)
    if len(truths) != 2 or not 5 <= truths[rare] <= RARE * len(true) or found > MISSED:
        return None
    source = outputs.last(len(true)) if (answered == answered[0]).all() else outputs.behind(answered.astype(np.int8))
    values = source.values if source is not None and source.method == "forward" and source.values.dtype.kind == "f" else None
    if values is None or values.ndim > 2 or values.ndim == 2 and values.shape[1] != 2:
        return None
    area = auc(true, values if values.ndim == 1 else values[:, 1] - values[:, 0])
    return {"model": source.model, "label": rare, "rows": truths[rare], "of": len(true), "recall": round(found, 4), "auc": area}  # type: ignore[union-attr]


def one_column(true: np.ndarray, answered: np.ndarray, source: Any) -> dict[str, Any] | None:
    """Is the answer 0 in every row, though the network's single column lies on both sides of its threshold, and tells the truth better?"""
    if source is None or source.method != "forward" or source.values.ndim != 1 or source.values.dtype.kind != "f" or answered.dtype.kind not in "iuf":
        return None
    true, answered = (a.reshape(-1) for a in (true, answered))
    if len(true) != len(answered) or len(true) < FEW or answered.any() or true.dtype.kind not in "iufb":
        return None
    scores = source.values
    said = scores > (0.5 if scores.min() >= 0 and scores.max() <= 1 else 0)
    right, others = float((said == (true != 0)).mean()), float((true != 0).mean())
    if not 0 < others or not MORE <= said.mean() or right < 1 - others + MORE:
        return None
    return {"line": chosen(), "others": round(others, 4), "rows": len(true), "model": source.model, "better": round(right, 4)}


def inverse(true: np.ndarray, answered: np.ndarray, source: Any) -> dict[str, Any] | None:
    """Scores of a fitted classifier that rank two classes the other way round, far beyond chance (standard error of the Mann-Whitney statistic)."""
    if source.method not in ("predict_proba", "decision_function") or true.ndim != 1 or answered.ndim != 1 or len(true) != len(answered):
        return None
    classes, times = np.unique(true, return_counts=True)
    if len(classes) != 2 or times.min() < FEW:
        return None
    area = auc(true, answered)
    error = float(np.sqrt((times.sum() + 1) / (12 * times[0] * times[1])))
    if area is None or area > BELOW or 0.5 - area < SURE * error:
        return None
    return {"model": source.model, "method": source.method, "column": source.column(answered), "columns": source.values.ndim > 1, "auc": round(area, 4),
            "rows": len(true), "positive": label_text(classes[1])}  # fmt: skip


def sweep(counts: list[Any], sizes: list[int], steps: list[Any]) -> dict[str, Any] | None:
    """Calls that cut one vector of scores at one threshold after the other, against one and the same truth: sets of positives that lie within
    each other. None for anything else (models or epochs that are compared)."""
    if len(counts) != len(sizes) or len(set(sizes)) != 1 or len(set(steps)) != 1 or any(c is None for c in counts):
        return None
    high = max((t for c in counts for t, _ in c), default="")
    positives = {sum(n for (t, _), n in c.items() if t == high) for c in counts}
    cells = sorted({(sum(n for (_, p), n in c.items() if p == high), c.get((high, high), 0)) for c in counts})
    falses = [said - hit for said, hit in cells]
    nested = all(a[1] <= b[1] for a, b in zip(cells, cells[1:])) and all(a <= b for a, b in zip(falses, falses[1:]))
    if len(positives) != 1 or len(cells) < 5 or not nested or any(len({p for _, p in c} | {t for t, _ in c}) > 2 for c in counts):
        return None
    return {"rows": sizes[0], "positives": positives.pop(), "cuts": len(cells)}


def confusion(true: np.ndarray, answered: np.ndarray) -> Counter[tuple[str, str]] | None:
    """Counts by (truth, answer); None where there are many classes or several outputs."""
    if true.ndim != 1 or answered.ndim != 1 or len(true) != len(answered):
        return None
    classes, t = np.unique(true, return_inverse=True)
    answers, p = np.unique(answered, return_inverse=True)
    if len(classes) > CLASSES or len(answers) > CLASSES:
        return None
    times = np.bincount(t * len(answers) + p, minlength=len(classes) * len(answers))
    return Counter({(label_text(classes[i // len(answers)]), label_text(answers[i % len(answers)])): int(n) for i, n in enumerate(times) if n})


def label_text(v: Any) -> str:
    """One name for a label whatever its type: 1, 1.0 and True are one."""
    v = v.item() if isinstance(v, np.generic) else v
    return str(int(v)) if isinstance(v, (bool, float)) and v == int(v) else str(v)


def _sums(true: np.ndarray, answered: np.ndarray) -> tuple[float, ...]:
    """Rows, sums of truth, of its square, of the squared and of the absolute error: they add up over calls."""
    if true.shape != answered.shape or true.dtype.kind not in "iufb" or answered.dtype.kind not in "iufb":
        return (0.0,) * 5
    y, e = true.astype(float), true.astype(float) - answered.astype(float)
    return (float(y.size), float(y.sum()), float((y * y).sum()), float((e * e).sum()), float(np.abs(e).sum()))


def auc(true: np.ndarray, score: np.ndarray) -> float | None:
    """Area under the ROC curve of two classes by ranks; None where there is only one."""
    high = true == true.max()
    n, m = int(high.sum()), int((~high).sum())
    if not n or not m or score.dtype.kind not in "iufb":
        return None
    levels, inverse, times = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(times) - (times - 1) / 2)[inverse]
    return float((rank[high].sum() - n * (n + 1) / 2) / (n * m))
