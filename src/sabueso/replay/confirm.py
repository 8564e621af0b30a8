"""Confirm: two runs of one program, the second with one thing changed: did the finding go away, and is the result any better?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..findings import Finding
from ..interventions import ABSENCE, FAR, GAIN, LOST, Intervention
from ..runs import Run

WENT, STAYED, NO_DIFFERENCE, COULD_NOT = "went away", "stayed", "no difference", "could not be tried"
BETTER = 0.75  # of a loss: what is gained beyond is no matter of other random numbers
DECISIVE = 0.5  # of a loss: so much is gained by the remedy, though what was captured before it took effect still looks as it did
HARMED = 0.4  # of where a loss began: what ends above has not learnt what it might
GAINED = 0.02  # of a score
LOST_SHARE = 0.02  # of a score: less is what another fit would do
LARGER_IS_BETTER = ("accuracy", "f1", "roc_auc", "r2", "precision", "recall", "balanced", "average_precision")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a finding: the word, the change, and the number that shows it."""

    word: str
    change: str
    what: str = ""
    before: Any = None
    after: Any = None

    def as_dict(self) -> dict[str, Any]:
        return {"verdict": self.word, "change": self.change, "what": self.what, "before": self.before, "after": self.after}


def judged(finding: Finding, change: Intervention, was: Run, now: Run, found: list[Finding], applied: int) -> Verdict:
    """The verdict on one intervention: `found` are the findings of the second run, `applied` how often the change took effect."""
    if not applied:
        return Verdict(COULD_NOT, change.name, "the change met nothing to be applied to")
    gone = not any(f.check == finding.check and f.severity != "note" for f in found)
    if change.proof == LOST:
        what, before, after, lost = scored(was, now)
        return Verdict(WENT if lost else NO_DIFFERENCE if lost is not None else COULD_NOT, change.name, what or "no score was told", before, after)
    what, before, after, better = measured(was, now, change.rescales)
    if change.proof == GAIN:
        word = WENT if better and enough(what, before, after) else NO_DIFFERENCE
    elif change.proof == FAR:
        word = WENT if better and harmed(was) and enough(what, before, after) else NO_DIFFERENCE
    elif change.proof == ABSENCE:
        word = WENT if gone or better else NO_DIFFERENCE
    else:
        word = STAYED if not gone and not decisive(before, after) else WENT if better or better is None else NO_DIFFERENCE
    return Verdict(word, change.name, what, before, after)


def harmed(run: Run) -> bool:
    """Did the training loss end not far below where it began? (a run without one is taken at the finding's word)"""
    losses = max(run.series("train_loss"), key=len, default=None)
    if losses is None or not len(losses) or not np.isfinite(losses.values).all():
        return True
    return bool(np.median(losses.values[-max(1, len(losses) // 5) :]) > HARMED * losses.values[0])


def enough(what: str, before: Any, after: Any) -> bool:
    """Is it more than other random numbers would gain? Asked of a loss that was finite, and bounded below."""
    return "loss" not in what or not np.isfinite(before) or before < 0 or decisive(before, after)


def decisive(before: Any, after: Any) -> bool:
    """Did a loss fall to a part that chance does not reach? (what is no loss is told by words or by what is better, larger or smaller)"""
    return isinstance(before, float) and isinstance(after, float) and 0 <= after < DECISIVE * before


def measured(was: Run, now: Run, rescales: bool = False) -> tuple[str, Any, Any, bool | None]:
    """(what, before, after, is it better): how it ended, then the loss on the same steps, then what was evaluated; None where nothing can be compared."""
    if was.meta.get("outcome") == "failed" and now.meta.get("outcome") in ("succeeded", "failed"):
        return "how the program ended", "failed", now.meta["outcome"], now.meta["outcome"] == "succeeded"
    if now.meta.get("outcome") == "failed":
        return "how the program ended", was.meta.get("outcome"), "failed", False
    compared = [
        c
        for c in (
            losses(was, now, rescales),
            None if rescales else evaluations(was, now),
            metrics(was, now),
            folds(was, now),
            metrics(was, now, ("inner",)),
            logged(was, now),
        )
        if c is not None
    ]
    for c in compared:
        if c[3]:
            return c
    return compared[0] if compared else ("", None, None, None)


def losses(was: Run, now: Run, rescales: bool = False) -> tuple[str, Any, Any, bool] | None:
    """The training loss over the last fifth of the steps that both have; by where it began, if the change gives it another scale."""
    a, b = (max(r.series("train_loss"), key=len, default=None) for r in (was, now))
    if a is None or b is None or not len(a) or not len(b):
        return None
    upto = min(int(a.steps[-1]), int(b.steps[-1]))
    x, y = a.values[a.steps <= upto], b.values[b.steps <= upto]
    if not len(x) or not len(y):
        return None
    before, after = (float(np.median(v[-max(1, len(v) // 5) :])) if np.isfinite(v).all() else float("nan") for v in (x, y))
    if rescales and before < 0 <= after:  # a loss that has no bound below has one now
        return f"training loss over the last steps up to step {upto}", before, after, bool(after < BETTER * y[0])
    if rescales:
        before, after = before / abs(x[0]), after / abs(y[0])
        return f"training loss over the last steps up to step {upto}, by that of the first", before, after, bool(lower(before, after))
    return f"training loss over the last steps up to step {upto}", before, after, lower(before, after)


def lower(before: float, after: float) -> bool:
    """Is a loss finite, and lower by more than a trifle?"""
    return bool(np.isfinite(after) and (not np.isfinite(before) or after < before - (1 - BETTER) * abs(before)))


def evaluations(was: Run, now: Run) -> tuple[str, Any, Any, bool] | None:
    """Our own recount of what was evaluated: the last loss, else accuracy or R²."""
    for name in ("loss", "accuracy", "r2"):
        held = [[float(s.values[-1]) for s in run.series("evaluation_error") if s.place.tensor == name and len(s)] for run in (was, now)]
        if all(held):
            before, after = held[0][-1], held[1][-1]
            better = lower(before, after) if name == "loss" else after > before + GAINED
            return f"{name} of the last evaluation", before, after, better
    return None


def metrics(was: Run, now: Run, via: tuple[str, ...] = ("call",)) -> tuple[str, Any, Any, bool] | None:
    """The last metric that both told: by the person's own call, or within `score`."""
    told = []
    for run in (was, now):
        facts = [f for f in run.facts("metric") if f.get("values") and f.get("via", "call") in via]
        value = facts[-1]["values"][-1] if facts else None
        told.append((facts[-1]["metric"], float(value[-1] if isinstance(value, list) else value)) if facts else None)
    if told[0] is None or told[1] is None or told[0][0] != told[1][0]:
        return None
    (name, before), (_, after) = told
    if not np.isfinite(before):
        return None
    return name, before, after, bool(after > before + GAINED if larger_is_better(name) else after < BETTER * before)


def larger_is_better(metric: str) -> bool:
    return any(n in metric for n in LARGER_IS_BETTER)


def folds(was: Run, now: Run) -> tuple[str, Any, Any, bool] | None:
    """The mean score of the last cross-validation: a score is better when it is larger."""
    means = [next((float(np.mean(f["scores"])) for f in reversed(run.facts("folds")) if f.get("scores")), None) for run in (was, now)]
    if means[0] is None or means[1] is None:
        return None
    return "mean score of the folds", means[0], means[1], means[1] > means[0] + GAINED


def logged(was: Run, now: Run) -> tuple[str, Any, Any, bool] | None:
    """What the program logged of its validation last: its loss."""
    pairs = []
    for run in (was, now):
        pairs.append({s.place.tensor: float(s.values[-1]) for s in run.series("logged") if len(s) and is_validation(str(s.place.tensor))})
    name = next((n for n in pairs[0] if n in pairs[1]), None)
    return (f"{name}, as logged", pairs[0][name], pairs[1][name], lower(pairs[0][name], pairs[1][name])) if name is not None else None


def is_validation(tag: str) -> bool:
    return "loss" in tag.lower() and any(part in tag.lower() for part in ("val", "test", "eval"))


def scored(was: Run, now: Run) -> tuple[str, Any, Any, bool | None]:
    """(what, before, after, is the score that the fault gave away lost?) of the last metric, or of the folds; None where there is none."""
    told = metrics(was, now) or folds(was, now) or metrics(was, now, ("inner",))
    if told is None:
        return "", None, None, None
    what, before, after, _ = told
    fell = before - after if larger_is_better(what) or what.startswith("mean score") else after - before
    return what, before, after, bool(fell > LOST_SHARE * max(abs(before), abs(after)))


def same_twice(one: Run, two: Run) -> bool | None:
    """Do two runs with the same seeds tell the same losses to the bit? None where there are none."""
    a, b = ([s.values for s in r.series("train_loss")] + [f["values"] for f in r.facts("metric") if f.get("values")] for r in (one, two))
    if not a or len(a) != len(b):
        return None
    return all(np.array_equal(np.asarray(x, dtype=object), np.asarray(y, dtype=object)) for x, y in zip(a, b))
