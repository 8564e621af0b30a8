"""Uses of rows: which rows a transformer learnt from, a model was fitted on, an evaluation was made with; and where they meet.

Adapters tell `learnt`, `fitted`, `evaluated`. Each pair of a fit and an evaluation becomes one fact `row_use` with the rows that both have
and what else saw the evaluation's rows before; the checks of the leakage group read it.
"""

from __future__ import annotations

import time
import weakref
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import distributions, stacked
from . import sets, sight, standardised
from .fingerprints import spaced
from .known import Known
from .registry import Lineage
from .sight import Origin

FIRST = 50
LEAST_RUN = 5  # rows in one shuffled order on both sides: by chance once in a hundred at the most
MOST_PAIRS = 400
MOST_EVALUATIONS = 3000
MOST_SECONDS = 0.5  # for pairs of one run


@dataclass(eq=False, slots=True)
class Learner:
    """Something that learnt from rows and whose answers became inputs: a transformer, a scaling by hand, a resampling."""

    name: str
    ids: np.ndarray  # sorted, unique
    kind: str  # transformer, hand, resampling
    supervised: bool
    origin: Origin
    selects: bool = False
    known: Known | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Fit:
    """A model's training rows."""

    number: int
    name: str
    known: Known
    ids: np.ndarray
    origin: Origin
    supervised: bool
    y: np.ndarray | None = None
    first: bool = True  # False: a later batch of the same training
    eval_sets: list[tuple[Known, bool]] = field(default_factory=list)  # with whether training stops by them
    evaluated: dict[int, int] = field(default_factory=dict)  # evaluations by signature of their rows
    extra: dict[str, Any] = field(default_factory=dict)


class Uses:
    """One a recorder, made by `of`."""

    def __init__(self, recorder: Any, lineage: Lineage) -> None:
        self.recorder, self.lineage = recorder, lineage
        self.fits: dict[int, tuple[Any, Fit]] = {}  # by id of the model
        self.resamplings: list[Learner] = []
        self.evaluations: list[tuple[Fit, Known, int, str, Origin]] = []
        self.touched: list[np.ndarray] = []  # rows that a transformer was given
        self.history: list[np.ndarray] = []  # the rows of earlier fits
        self.count = self.pairs = 0
        self.spent = 0.0

    # ---- what adapters tell

    def fitted(self, model: Any, name: str, known: Known, origin: Origin, *, y: Any = None, supervised: bool = True, more: bool = False) -> Fit:
        """A model was fitted on rows; with `more` they join those of its last fit (a batch of it)."""
        ids = unique(known)
        held = self.fit_of(model)
        if more and held is not None:
            held.ids = np.union1d(held.ids, ids)
            held.first = False
            return held
        self.count += 1
        fit = Fit(self.count, name, known, ids, origin, supervised, y)
        self.fits[id(model)] = (reference(model), fit)
        if len(self.history) < 300:
            self.history.append(ids)
        return fit

    def fit_of(self, model: Any) -> Fit | None:
        """The last fit of a model."""
        held = self.fits.get(id(model))
        return held[1] if held is not None and held[0]() is model else None

    def evaluated(self, fit: Fit, known: Known, x: Any, origin: Origin, how: str, *, scored: bool = True) -> int | None:
        """Rows were given to a fitted model to be judged; returns the number of the pair, None if it was met before."""
        began = time.thread_time()
        try:
            ids = unique(known)
            signature = hash(ids.tobytes())
            if len(self.evaluations) < MOST_EVALUATIONS:
                self.evaluations.append((fit, known, signature, how, origin))
            fit.evaluated[signature] = fit.evaluated.get(signature, 0) + 1
            if fit.evaluated[signature] > 1 or not len(ids) or self.pairs >= MOST_PAIRS or self.spent > MOST_SECONDS:
                return None
            self.pairs += 1
            self.recorder.fact("row_use", self._pair(fit, known, ids, x, origin, how, scored), **self._at(origin, fit, how))
            distributions.look(self.recorder, x, f"{fit.name} {how}", **self._at(origin, fit, how))
            return self.pairs
        finally:
            self.spent += time.thread_time() - began

    # ---- a pair

    def _at(self, origin: Origin, fit: Fit, how: str) -> dict[str, Any]:
        file, line = (origin[0][0], origin[0][1]) if origin else (None, None)
        return {"stage": "evaluate", "estimator": fit.name, "file": file, "line": line}

    def _pair(self, fit: Fit, known: Known, ids: np.ndarray, x: Any, origin: Origin, how: str, scored: bool) -> dict[str, Any]:
        shared = sets.common(fit.ids, ids)
        held_out = sets.without(ids, fit.ids) if how != "folds" else ids
        pair = {
            "model": fit.name, "fit": fit.number, "pair": self.pairs, "how": how, "scored": scored, "supervised": fit.supervised,
            "signature": hash(ids.tobytes()), "train_rows": fit.known.rows if fit.first else len(fit.ids), "train_distinct": len(fit.ids),
            "eval_rows": known.rows, "eval_distinct": len(ids), "shared": len(shared), "exact": fit.known.exact and known.exact,
            "bits": round(min(fit.known.bits, known.bits), 1), "source_kind": known.source.kind, "train_line": place(fit.origin),
            "eval_line": place(origin), "learners": [] if how == "forward" and len(shared) else self._learners(fit, known, held_out, ids, origin),
            "clean_learners": self._clean(fit, known, held_out), "split_off": self._split_off(ids),
            "resampled": self._resampled(fit, known, ids, origin), "eval_sets": self._eval_sets(fit, ids),
        }  # fmt: skip
        if len(shared) and how != "folds":
            pair |= self._overlap(fit, known, shared, x)
            if known.notes.get("split_again"):
                pair["split_again"] = known.notes["split_again"]
            if len(shared) == len(ids) < len(fit.ids):
                pair["left_out_before"] = sum(not sets.meet(f, ids) for f in self.history if f is not fit.ids)
        return pair

    def _split_off(self, ids: np.ndarray) -> bool:
        """Are these rows just a part that a split cut off?"""
        return any(np.array_equal(unique(part), ids) for *parts, _ in self.lineage.parts.get("splits", ()) for part in parts)

    def _clean(self, fit: Fit, known: Known, held_out: np.ndarray) -> list[list[Any]]:
        """Where those learners were fitted that saw none of the rows held out."""
        makers = dict.fromkeys(fit.known.makers + known.makers)
        return [place(m.origin) for m in makers if not sets.meet(m.ids, held_out)]

    def _overlap(self, fit: Fit, known: Known, shared: np.ndarray, x: Any) -> dict[str, Any]:
        """How the rows on both sides came there: cut twice from one table, or repeated in it."""
        in_train, in_eval = counts(fit.known, shared), counts(known, shared)
        table = np.ones(len(shared), np.int64)
        source_known = known.source.whole and fit.known.source is known.source
        if source_known:
            table = np.maximum(1, self._multiplicity(known, shared))
        twice = shared[in_train + in_eval > table]
        rows = self.lineage.rows_as_read(shared)
        source = max(rows, key=lambda s: len(rows[s]), default=None)
        told: dict[str, Any] = {
            "twice": len(twice), "counted": source_known, "repeated_in_train": int((in_train > table).sum()),
            "eval_twins": int(np.isin(known.ids, shared).sum()), "labels": same_labels(fit.known, known, shared),
            "part": known.notes.get("part") or sight.cut_at(x, known.ids - known.source.base if known.source.as_read else None),
            "run_over": run_over(fit.known.ids, known.ids, len(shared)), "class_share": class_share(fit, shared),
        }  # fmt: skip
        if len(twice) < len(shared) and fit.known.table is not None:
            told |= {"twin_bits": rarity(fit.known, shared), "repeats": self._repeats(known), "twin_labels": twin_labels(fit)}
            told["stacked"] = stacked.of(self.recorder, known.source.rows)
        if source is not None:
            told |= {
                "source": source.name,
                "as_read": source.as_read,
                "rows": rows[source][:FIRST].tolist(),
                "file_read": source.kind == "file",
            }
        return told

    def _multiplicity(self, known: Known, shared: np.ndarray) -> np.ndarray:
        """How often each row stands in the table that it came from."""
        source = known.source
        held = next((k for k in self.lineage.known if k.source is source and k.rows == source.rows and not k.makers), None)
        if held is None:
            return np.ones(len(shared), np.int64)
        return counts(held, shared)

    def _repeats(self, known: Known) -> list[int]:
        """The first rows of the source that repeat an earlier one."""
        source = known.source
        held = next((k for k in self.lineage.known if k.source is source and k.rows == source.rows and not k.makers), None)
        if held is None or not source.as_read:
            return []
        return np.flatnonzero(held.ids != source.base + np.arange(source.rows))[:FIRST].tolist()

    def _learners(self, fit: Fit, known: Known, held_out: np.ndarray, ids: np.ndarray, origin: Origin) -> list[dict[str, Any]]:
        """What learnt from rows of this evaluation that the model itself was not fitted on."""
        found = []
        makers = dict.fromkeys(fit.known.makers + known.makers)
        for learner in makers:
            hits = sets.common(learner.ids, held_out)
            if len(hits):
                file, line = sight.line_of(learner.origin, origin)
                found.append(
                    {
                        "name": learner.name,
                        "kind": learner.kind,
                        "supervised": learner.supervised,
                        "selects": learner.selects,
                        "rows": len(learner.ids),
                        "hits": len(hits),
                        "of": len(held_out),
                        "file": file,
                        "line": line,
                        "fit_line": place(learner.origin),
                        **learner.extra,
                    }  # fmt: skip
                )
        by_hand = standardised.by_hand(fit, known, self) if not any(m.kind == "transformer" for m in makers) else None
        filled = standardised.filled_by_hand(fit, known, self)
        return found + [f for f in (by_hand, filled) if f]

    def _resampled(self, fit: Fit, known: Known, ids: np.ndarray, origin: Origin) -> list[dict[str, Any]]:
        """Resamplings that used rows of this evaluation and whose rows stand on either side."""
        found = []
        on_way = set(fit.known.resampled + known.resampled)
        for learner in self.resamplings:
            hits = sets.common(learner.ids, ids)
            both = sets.common(hits, fit.ids)
            if not len(hits) or not (learner in on_way or len(both) > 0.5 * len(learner.ids)):
                continue
            file, line = sight.line_of(learner.origin, origin)
            made = [0 if k.made is None else int(k.made.sum()) for k in (fit.known, known)]
            found.append(
                {
                    "name": learner.name,
                    "hits": len(hits),
                    "both": len(both),
                    "rows": len(learner.ids),
                    "made_train": made[0],
                    "made_eval": made[1],
                    "file": file,
                    "line": line,
                    "fit_line": place(learner.origin),
                    "on_way": learner in on_way,
                    **learner.extra,
                }  # fmt: skip
            )
        return found

    def _eval_sets(self, fit: Fit, ids: np.ndarray) -> list[dict[str, Any]]:
        """Rows by which training was stopped that are this evaluation's rows."""
        found = []
        for known, stops in fit.eval_sets:
            watched = sets.without(unique(known), fit.ids)
            hits = len(sets.common(watched, ids))
            if hits:
                found.append({"hits": hits, "rows": len(watched), "stops": stops})
        return found


def of(recorder: Any, lineage: Lineage) -> Uses:
    """The recorder's uses of rows, made at the first call."""
    held = lineage.parts.get("uses")
    if held is None:
        held = lineage.parts["uses"] = Uses(recorder, lineage)
    return held


def unique(known: Known) -> np.ndarray:
    """The ids of known rows, sorted, each once; worked out once."""
    held = known.notes.get("unique")
    if held is None:
        held = known.ids
        if len(held) > 1 and not (held[1:] > held[:-1]).all():
            held = np.sort(held)
            held = held[np.concatenate(([True], held[1:] != held[:-1]))]
        held = known.notes["unique"] = held[held >= 0]
    return held


def counts(known: Known, ids: np.ndarray) -> np.ndarray:
    """How often each of these (sorted) ids stands among the rows."""
    at = np.searchsorted(ids, known.ids)
    at = np.minimum(at, len(ids) - 1)
    return np.bincount(at[ids[at] == known.ids], minlength=len(ids))


def run_over(train: np.ndarray, judged: np.ndarray, shared: int) -> bool:
    """Are the rows on both sides the end of one part and the beginning of the other, in one order that is not that of the table?

    So slices of a permutation meet that reach over each other; nobody judges a part of training together with new rows that way on purpose.
    """
    for a, b in ((train[-shared:], judged[:shared]), (judged[-shared:], train[:shared])):
        if shared >= LEAST_RUN and np.array_equal(a, b) and 0.2 < float((np.diff(a) > 0).mean()) < 0.8:
            return True
    return False


def rarity(known: Known, shared: np.ndarray) -> float:
    """How surprising such rows are, in bits, their columns taken as independent: the median of some of them."""
    table = known.table
    assert table is not None
    sample = table.take(spaced(table.rows, 256)).codes
    rows = np.flatnonzero(np.isin(known.ids, shared))
    rows = rows[spaced(len(rows), 32)]
    same = (table.take(rows).codes[:, None, :] == sample[None, :, :]).sum(axis=1)
    return round(float(np.median(-np.log2((same + 0.5) / (len(sample) + 1)).sum(axis=1))), 1)


def same_labels(train: Known, evaluated: Known, shared: np.ndarray) -> float | None:
    """Share of the rows on both sides that carry the same index label there (None without labels)."""
    a, b = train.notes.get("labels"), evaluated.notes.get("labels")
    if a is None or b is None or len(a) != train.rows or len(b) != evaluated.rows:
        return None
    mine = {int(i): label for i, label in zip(train.ids, a)}
    pairs = [(mine[int(i)], label) for i, label in zip(evaluated.ids, b) if int(i) in mine]
    return sum(x == y for x, y in pairs) / len(pairs) if pairs else None


def twin_labels(fit: Fit) -> list[float] | None:
    """Of neighbours among equal training rows the share with one label, and of any two rows; None without enough of them."""
    if fit.y is None or len(fit.y) != fit.known.rows:
        return None
    order = np.argsort(fit.known.ids, kind="stable")
    ids, y = fit.known.ids[order], fit.y[order]
    twins = (ids[1:] == ids[:-1]) & (ids[1:] >= 0)
    if twins.sum() < 20:
        return None
    return [round(float((y[1:] == y[:-1])[twins].mean()), 3), round(float((fit.y[1:] == fit.y[:-1]).mean()), 3)]


def class_share(fit: Fit, shared: np.ndarray) -> float | None:
    """The largest share that one class has among the shared rows (by the fit's y), for oversampled classes."""
    if fit.y is None or len(fit.y) != fit.known.rows:
        return None
    y = fit.y[np.isin(fit.known.ids, shared)]
    values, n = np.unique(y, return_counts=True)
    return round(float(n.max() / n.sum()), 3) if 0 < len(values) <= 50 else None


def place(origin: Origin) -> list[Any]:
    """[file, line] of the innermost of the person's frames."""
    return [origin[0][0], origin[0][1]] if origin else [None, None]


def reference(model: Any) -> Any:
    try:
        return weakref.ref(model)
    except TypeError:
        return lambda: model
