"""Learning: curves of training and evaluation, what knowing nothing would lose, and whether a run is harmed.

Checks on the dynamics of a training speak only where it is harmed: its loss is not finite, or no better than the best constant prediction,
or getting worse. Whatever else looks odd in a training that learns is its own affair.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .events import Fact, Series
from .places import NOWHERE, Place

FEWEST = 8  # steps from which on a curve says anything
STANDARD_ERRORS = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """One stretch of training: the losses of its steps, and the loss of the best constant prediction where it is known.

    A stretch ends where the program begins anew with a new optimizer (folds, restarts). `optimizer` is the number of the one in use.
    """

    steps: np.ndarray
    losses: np.ndarray
    place: Place = NOWHERE
    baseline: float | None = None
    function: str | None = None
    optimizer: int | None = None

    @property
    def first(self) -> float:
        """Mean of the first losses: two, or a fiftieth of the run."""
        return float(np.mean(self.losses[: max(2, len(self.losses) // 50)]))

    @property
    def last(self) -> float:
        """Mean of the last fifth."""
        return float(np.mean(self.tail))

    @property
    def tail(self) -> np.ndarray:
        return self.losses[-max(5, len(self.losses) // 5) :]

    @property
    def noise(self) -> float:
        """Standard error of `last`."""
        tail = self.tail
        return float(np.std(tail) / np.sqrt(len(tail))) if len(tail) > 1 else 0.0

    @property
    def nonfinite_at(self) -> int | None:
        """Step of the first loss that is not finite."""
        bad = np.flatnonzero(~np.isfinite(self.losses))
        return int(self.steps[bad[0]]) if len(bad) else None

    @property
    def learnt(self) -> float | None:
        """How much of the loss of the best constant was got rid of: 0 nothing, 1 all; None where that loss isn't known."""
        if self.baseline is None or self.baseline <= 0 or not np.isfinite(self.last):
            return None
        return (self.baseline - self.last) / self.baseline


@dataclass(frozen=True, slots=True)
class Harm:
    """What is wrong with a training: `kind` is non-finite, no-better or worse; `evidence` the numbers that show it."""

    kind: str
    step: int
    says: str
    evidence: tuple[tuple[str, Any, Any], ...]


def trainings(train_loss: Iterable[Series], targets: Iterable[Fact] = (), initial_weights: Iterable[Fact] = ()) -> list[Training]:
    """The stretches of training of a run, longest first."""
    found, known = [], baselines(targets)
    starts = sorted({(f.place.step or 0, f["optimizer"]) for f in initial_weights})
    for series in train_loss:
        if len(series) < FEWEST:
            continue
        target = known.get((series.place.file, series.place.line))
        base, function = target if target else (None, None)
        for low, high, optimizer in stretches(series.steps, starts):
            part = slice(low, high)
            found.append(Training(series.steps[part], series.values[part], series.place, base, function, optimizer))
    return sorted((t for t in found if len(t.losses) >= FEWEST), key=lambda t: -len(t.losses))


def stretches(steps: np.ndarray, starts: list[tuple[int, int]]) -> list[tuple[int, int, int | None]]:
    """(first index, index behind the last, optimizer) of the parts between new optimizers; those that begin together are one."""
    edges: list[tuple[int, int | None]] = [(0, starts[0][1] if starts else None)]
    for step, number in starts:
        at = int(np.searchsorted(steps, step))
        if at - edges[-1][0] >= FEWEST:
            edges.append((at, number))
    return [(a, b, number) for (a, number), (b, _) in zip(edges, [*edges[1:], (len(steps), None)], strict=True)]


def baselines(targets: Iterable[Fact]) -> dict[Any, tuple[float | None, str]]:
    """By line of the backward call: (loss of the best constant in the units of what went backward, or None; the loss function)."""
    last: dict[Any, Fact] = {}
    for fact in targets:
        last[fact.place.file, fact.place.line, fact["function"]] = fact
    found: dict[Any, tuple[float | None, str]] = {}
    for fact in last.values():
        if not fact["loss_line"]:
            continue
        key = tuple(fact["loss_line"])
        low, high = fact["ratio"]
        sure = (fact["baseline"] or 0) > 1e-9 and low is not None and high - low <= 1e-3 * abs(high) and key not in found
        found[key] = (fact["baseline"] * high if sure else None, fact["function"])
    return found


def harm(training: Training) -> Harm | None:
    """Is that training harmed?"""
    at = training.nonfinite_at
    if at is not None:
        before = training.losses[training.steps < at]
        was = float(before[-1]) if len(before) else None
        return Harm("non-finite", at, f"the loss is not finite from step {at} on", (("loss", float(training.losses[training.steps == at][0]), was),))
    last, noise = training.last, training.noise
    base, first = training.baseline, training.first
    if base is not None and last > base - STANDARD_ERRORS * noise:
        says = f"the loss ends at {last:.4g}, no better than the {base:.4g} of the best constant answer"
        return Harm("no-better", int(training.steps[-1]), says, (("loss at the end", last, f"below {base:.4g}, the loss of the best constant"),))
    if last > first + STANDARD_ERRORS * noise and last > 1.05 * first:
        says = f"the loss rose from {first:.4g} to {last:.4g}"
        return Harm("worse", int(training.steps[-1]), says, (("loss at the end", last, f"below {first:.4g}, where it began"),))
    return None


def hardly(training: Training, least: float = 0.1) -> Harm | None:
    """A training that got rid of next to nothing: no harm by itself, but it is where another number shows why."""
    base, learnt = training.baseline, training.learnt
    if base is None or learnt is None or learnt >= least:
        return None
    says = f"the loss ends at {training.last:.4g}, hardly below the {base:.4g} of the best constant answer"
    return Harm("hardly", int(training.steps[-1]), says, (("loss at the end", training.last, f"well below {base:.4g}, the loss of the best constant"),))


def behind(training: Training, learnable: Iterable[Fact], least: float = 0.15) -> Harm | None:
    """A training that ends well behind what the nearest of its own rows tell of the targets."""
    learnt = training.learnt
    for fact in learnable:
        inside = training.steps[0] <= (fact.place.step or 0) <= training.steps[-1]
        if not inside or fact["function"] != training.function or learnt is None or not fact["share"] - learnt >= least or training.baseline is None:
            continue
        reach = training.baseline * (1 - fact["share"])
        says = f"the loss ends at {training.last:.4g}, though the {fact['neighbours']} nearest rows of the training data alone would reach {reach:.4g}"
        what = f"loss at the end (the best constant has {training.baseline:.4g})"
        return Harm("behind", int(training.steps[-1]), says, ((what, training.last, f"{reach:.4g} or less, what the nearest of {fact['rows']} rows tell"),))
    return None


def by_heart(training: Training, few_rows: Iterable[Fact]) -> Harm | None:
    """A training on a handful of rows that could be learnt by heart, and were not."""
    for fact in few_rows:
        inside = training.steps[0] <= (fact.place.step or 0) <= training.steps[-1]
        if inside and fact["function"] == training.function and training.baseline is not None:
            says = f"the loss ends at {training.last:.4g}, though there are but {fact['rows']} rows to be learnt by heart"
            what = f"loss at the end (the best constant has {training.baseline:.4g})"
            return Harm("by heart", int(training.steps[-1]), says, ((what, training.last, f"near 0: {fact['rows']} different rows in all"),))
    return None


def harmed(train_loss: Iterable[Series], targets: Iterable[Fact] | None, least: float = 0.2) -> tuple[str, Any, Any] | None:
    """The number that shows that no training of the run got anywhere; None where one did, or where it can't be said."""
    runs = trainings(train_loss, targets or ())
    known = [t for t in runs if t.learnt is not None]
    if any(t.learnt is not None and t.learnt >= least for t in known) or not runs:
        return None
    if known:
        return ("share of the loss of the best constant answer that training got rid of", round(known[0].learnt or 0.0, 3), "most of it")
    broken = harm(runs[0])
    return broken.evidence[0] if broken is not None else None


def saturated(series: Iterable[Series], most: float = 0.9) -> tuple[str, Any, Any] | None:
    """Values at the ends of a bounded activation from the first step on: what was given is more than the layers can take."""
    high = [s for s in series if len(s) and float(s.values[0]) >= most]
    return (f"share of the values of {high[0].place.module} that are saturated at the first step", float(high[0].values[0]), "below 0.1") if high else None


def by_step(series: Iterable[Series], step: int) -> dict[tuple[str | None, str | None], float]:
    """{(module, tensor): value} of many series at one sampled step."""
    found = {}
    for s in series:
        at = np.flatnonzero(s.steps == step)
        if len(at):
            found[s.place.module, s.place.tensor] = float(s.values[at[0]])
    return found


def within(series: Iterable[Series], training: Training) -> list[Series]:
    """The parts of series that lie in a training."""
    low, high = training.steps[0], training.steps[-1]
    parts = []
    for s in series:
        inside = (s.steps >= low) & (s.steps <= high)
        if inside.any():
            parts.append(Series(s.name, s.place, s.steps[inside], s.values[inside], s.process))
    return parts


def matrices(initial_weights: Fact) -> set[str]:
    """Paths of the weight matrices and kernels of an optimizer that are trained, tables of embeddings left out."""
    return {
        p["path"]
        for p in initial_weights["parameters"]
        if len(p["shape"]) >= 2 and p["trainable"] and p["class"] not in ("Embedding", "EmbeddingBag") and p["std"] > 0
    }


def drawn_at(parameter: dict[str, Any], otherwise: Place) -> Place:
    """The line that drew a parameter's first values, as `initial_weights` tells it; `otherwise` where it was not seen."""
    file, line = parameter.get("drawn_at") or (otherwise.file, otherwise.line)
    return otherwise.but(file=file, line=line)


def rate_of_steps(initial_weights: Fact) -> str:
    """What the size of a step follows: 'gradient' (SGD), 'search' (a line search sets it), or 'rate' (Adam and its kin divide by the gradient's size)."""
    return {"SGD": "gradient", "ASGD": "gradient", "gradient descent by hand": "gradient", "LBFGS": "search"}.get(initial_weights["class"], "rate")


@dataclass(frozen=True, slots=True, eq=False)
class Evaluated:
    """Our recount of one place that evaluates, over a training: the same rows each time; `trained` is the share of them seen in training."""

    steps: np.ndarray
    losses: np.ndarray
    accuracy: np.ndarray | None
    rows: float
    trained: float
    place: Place


def evaluations(evaluation_error: Iterable[Series], training: Training) -> list[Evaluated]:
    """What was evaluated during a training, where it was the same number of rows each time."""
    places: dict[Any, dict[str, Series]] = {}
    for s in evaluation_error:
        places.setdefault((s.place.estimator, s.process), {})[s.place.tensor or ""] = s
    found = []
    for parts in places.values():
        loss, rows, trained = parts.get("loss"), parts.get("rows"), parts.get("trained")
        if loss is None or rows is None or trained is None:
            continue
        inside = (loss.steps >= training.steps[0]) & (loss.steps <= training.steps[-1] + 1)
        usual = float(np.median(rows.values[inside])) if inside.any() else 0.0
        inside &= rows.values == usual
        if inside.sum() < 3 or not np.isfinite(loss.values[inside]).all():
            continue
        right = parts.get("accuracy")
        accuracy = right.values[inside] if right is not None and len(right) == len(loss) else None
        seen = float(np.mean(trained.values[inside]))
        found.append(Evaluated(loss.steps[inside], loss.values[inside], accuracy, usual, seen, loss.place))
    return found


def first_rate(initial_weights: Fact, learning_rate: Iterable[Series]) -> float:
    """The rate of an optimizer's first step; NaN where it isn't known."""
    for s in learning_rate:
        if s.place.module == initial_weights["name"] and len(s):
            return float(s.values[0])
    return float(initial_weights["settings"].get("lr") or "nan")
