"""Statistics of parameters on sampled steps: weights, gradients and updates of every tensor that an optimizer holds, and how they began."""

from __future__ import annotations

import time
from collections import deque
from statistics import median
from typing import Any

from ...capture.budget import Budget
from ...capture.kernel import BAD, HIGH, LOW, NORM, SUM, ZEROS, Kernel
from ...capture.schedule import Schedule
from ...places import Place
from .lines import drawing
from .naming import parameter_names
from .trace import is_plain
from .watch import Watch

PART = "statistics"
SERIES = ("weight_norm", "weight_gradient", "update_ratio", "gradient_zeros", "gradient_nonfinite")
MOST = 300  # tensors of one optimizer that are followed
MOST_TOLD = 80  # of which the beginning is told in full
COPIED = 16_384  # elements of a tensor kept over a step to measure its update; a longer one is kept in strides (error below 15 %, median 1 %)


class Statistics:
    """What is kept from before a step until after it."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder, self.kernel = watch, watch.recorder, Kernel()
        self.before: dict[int, tuple[list[Any], list[Any]]] = {}  # by optimizer: tensors, and copies of (some of) their elements
        self.numbers: dict[tuple[int, int], tuple[int | None, ...]] = {}  # series of a tensor, by optimizer and place in it
        self.twins: dict[int, list[tuple[int, str, str | None]]] = {}

    def before_step(self, optimizer: Any) -> None:
        """Weights, and gradients where they are there already; the first step also tells how the weights began."""
        watch = self.watch
        if not watch.armed:
            return
        held = watch.optimizers[id(optimizer)]
        tensors = [p for p in held.parameters[:MOST] if is_plain(p) and p.is_floating_point() and p.numel()]
        if held.steps == 0:
            self.tell_beginning(held, tensors)
        self.before[id(optimizer)] = tensors, [some(p).clone() for p in tensors]

    def after_step(self, optimizer: Any) -> None:
        """Gradients, weights and how far the weights moved."""
        tensors, copies = self.before.pop(id(optimizer), ([], []))
        if not tensors or not self.watch.armed:
            return
        held = self.watch.optimizers[id(optimizer)]
        grads = self.kernel.statistics(tensors, gradients=True)
        weights = self.kernel.statistics(tensors)
        moved = self.kernel.distances([some(p) for p in tensors], copies)
        began = self.kernel.statistics(copies)
        pairs = []
        for i, tensor in enumerate(tensors):
            size = tensor.numel()
            ratio = moved[i] / began[i, NORM] if began[i, NORM] > 0 else float("nan")
            values = (weights[i, NORM], grads[i, NORM], ratio, grads[i, ZEROS] / size, grads[i, BAD])
            pairs += [(n, float(v)) for n, v in zip(self.series(held, i, tensor), values, strict=True) if n is not None and v == v]
        self.recorder.points(self.watch.step, pairs)
        self.tell_twins(held)
        if (rounding := self.watch.parts.get("rounding")) is not None:
            rounding.step(held, tensors, copies, grads)

    def series(self, held: Any, index: int, tensor: Any) -> tuple[int | None, ...]:
        """The series of one tensor."""
        known = self.numbers.get((held.number, index))
        if known is None:
            names = parameter_names(self.watch, held)
            module, path = names.get(id(tensor), (None, f"parameter {index}"))
            place = Place(stage="train", module=module, tensor=path, estimator=held.name)
            known = self.numbers[held.number, index] = tuple(self.recorder.series(n, place) for n in SERIES)
        return known

    # ---- how it began

    def tell_beginning(self, held: Any, tensors: list[Any]) -> None:
        """Fact initial_weights: shape, spread and symmetry of each tensor before its first step."""
        if self.recorder.wants("initial_weights") and held.number < 12:
            place = held.line.place if held.line else {}
            self.recorder.fact("initial_weights", self.beginning(held, tensors), step=self.watch.step, stage="train", **place)

    def beginning(self, held: Any, tensors: list[Any]) -> dict[str, Any]:
        """What that fact holds."""
        names, stats, told = parameter_names(self.watch, held), self.kernel.statistics(tensors), []
        for i, tensor in enumerate(tensors[:MOST_TOLD]):
            module, path = names.get(id(tensor), (None, f"parameter {i}"))
            size, row = tensor.numel(), stats[i]
            mean = row[SUM] / size
            std = max(row[NORM] ** 2 / size - mean**2, 0.0) ** 0.5
            entry = {"path": path, "module": module, "class": names.classes.get(id(tensor)), "shape": list(tensor.shape), "mean": mean, "std": std,
                     "low": row[LOW], "high": row[HIGH], "zeros": row[ZEROS] / size, "nonfinite": int(row[BAD]), "alike": alike(tensor),
                     "trainable": tensor.requires_grad}  # fmt: skip
            if (graph := self.watch.parts.get("graph")) is not None and (line := graph.drawn_at(tensor)) is not None:
                entry["drawn_at"] = line.told
            elif module is None and (at := drawing(path.partition("[")[0].rpartition(".")[2])) is not None:
                entry["drawn_at"] = list(at)
            told.append(entry)
            if entry["alike"] in ("out", "both") and tensor.requires_grad:
                self.twins.setdefault(held.number, []).append((i, path, module))
        return {"optimizer": held.number, "name": held.name, "class": held.cls, "settings": settings(held.ref()), "parameters": told}

    def tell_twins(self, held: Any) -> None:
        """Are the units that began alike still so after some steps? Only steps make them differ."""
        if held.steps < 5:
            return
        parameters = held.parameters
        for i, path, module in self.twins.get(held.number, ()):
            if i < len(parameters) and is_plain(parameters[i]):
                place = Place(stage="train", module=module, tensor=path, estimator=held.name)
                self.recorder.point("units_alike", float(alike(parameters[i], 1e-6) is not None), self.watch.step, place)


def settings(optimizer: Any) -> dict[str, Any]:
    """What an optimizer's first group was set to, as far as it is numbers."""
    group = next(iter(getattr(optimizer, "param_groups", ())), {})  # an optimizer of Keras has no groups
    found = {k: float(v) for k, v in group.items() if k != "params" and isinstance(v, (int, float)) and not isinstance(v, bool)}
    return found | {"groups": len(getattr(optimizer, "param_groups", ()))}


def some(tensor: Any) -> Any:
    """All elements of a tensor, or as many in strides as are kept."""
    flat = tensor.detach().reshape(-1)
    return flat if flat.numel() <= COPIED else flat[:: flat.numel() // COPIED + 1]


def alike(tensor: Any, within: float = 0.0) -> str | None:
    """Are all units of a matrix or kernel the same: 'out' (along axis 0), 'in' (along axis 1), 'both', or None."""
    if tensor.dim() < 2 or min(tensor.shape[:2]) < 2:
        return None
    w = tensor.detach()
    limit = within * float(w.abs().max()) if within else 0.0
    out = bool(((w - w[:1]).abs() <= limit).all())
    inner = bool(((w - w[:, :1]).abs() <= limit).all())
    return "both" if out and inner else "out" if out else "in" if inner else None


FEW = 8  # ordinary turns timed at the beginning
SELDOM = 32  # later one in so many, and each that follows a sampled one


class Turns:
    """Which steps are sampled: the schedule fed with what sampled turns cost beyond ordinary ones.

    The clock is this thread's, so that other programs on the machine count for nothing. It is a system call that can cost far more than its 1 us
    where a sandbox has to be woken for it (120 us measured after a matrix product, 5 % of a small step), and so it is read around few turns; the
    rest are taken to last as long as those.
    """

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.passed = 0.0  # seconds that the turns so far would have taken had none been sampled
        self.schedule = Schedule(Budget(watch.recorder.budget, clock=lambda: self.passed))
        self.ordinary: deque[float] = deque(maxlen=31)
        self.usual = 0.0
        self.step, self.then, self.armed = 0, 0.0, False

    def due(self, step: int) -> bool:
        """The schedule that the adapter asks at each turn, at times twice."""
        if self.watch.step != self.step:
            self.turned()
        self.armed = self.schedule.due(step - 1) or self.armed and step <= 4  # the first four in a row: what one leaves the next one finds
        if self.armed and not self.then and self.step:  # the first turn warms everything up and tells nothing
            self.then = time.thread_time()
        return self.armed

    def turned(self) -> None:
        """A turn ended, the next one begins."""
        then, after, now = self.then, self.armed, 0.0
        self.passed += self.usual * max(self.watch.step - self.step, 1)
        self.step = self.watch.step
        timed = after or len(self.ordinary) < FEW or self.step % SELDOM == 0
        if then or timed:
            now = time.thread_time()
        if then:
            self.book(now - then, after)
        self.then = now if timed else 0.0

    def book(self, seconds: float, sampled: bool) -> None:
        """A turn took that long."""
        if sampled:
            expected = self.schedule.budget.expected
            cost = max(seconds - self.usual if self.ordinary else seconds / 2, 0.0)
            self.schedule.took(self.step - 1, min(cost, 5 * expected) if expected else cost)
        else:
            self.ordinary.append(seconds)
            self.usual = median(self.ordinary)


def install(watch: Watch) -> None:
    """Follow the parameters of sampled steps, and decide which steps those are."""
    statistics, turns = Statistics(watch), Turns(watch)
    watch.schedule = turns.due
    watch.parts[PART] = statistics
    watch.hang("before_step", PART, statistics.before_step, sampled=True)
    watch.hang("after_step", PART, statistics.after_step, sampled=True)
