"""Diff: two runs laid side by side; the first value that differs by more than rounding, and what could explain it."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass, field
from typing import Any

from ..noise import TIMES, epsilon
from ..places import Place
from ..runs import Run
from .timeline import Item, items

FORM = ("dtype", "shape", "columns", "function", "how", "on")
SETTINGS = ("default_dtype", "threads", "deterministic", "precision", "grad", "device")
ENVIRONMENT = ("python", "machine", "sabueso")


@dataclass(frozen=True, slots=True)
class Divergence:
    """A value that two runs do not share: what it is, both values with their places, and by how many roundings they differ."""

    what: str
    before: Any
    after: Any
    place: Place
    other: Place
    roundings: float = math.inf

    def as_dict(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "before": self.before,
            "after": self.after,
            "place": self.place.as_dict(),
            "other": self.other.as_dict(),
            "roundings": self.roundings,
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """A difference of the surroundings that could be the reason; `weight` orders them."""

    kind: str
    says: str
    weight: float

    def as_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "says": self.says, "weight": round(self.weight, 3)}


@dataclass(slots=True)
class Comparison:
    """Two runs compared: the first divergence, the first of shape or dtype, how much was compared, and the explanations, likeliest first."""

    first: Divergence | None
    form: Divergence | None
    compared: int
    differing: int
    explanations: list[Explanation] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        one = lambda d: d.as_dict() if d is not None else None  # noqa: E731
        return {"first": one(self.first), "form": one(self.form), "compared": self.compared, "differing": self.differing,
                "explanations": [e.as_dict() for e in self.explanations]}  # fmt: skip


def compare(a: Run, b: Run, sources: tuple[dict[str, str], dict[str, str]] = ({}, {})) -> Comparison:
    """Lay two runs side by side. `sources` are the texts of the programs as they ran."""
    one, two = items(a), {i.key: i for i in items(b)}
    first = form = None
    compared = differing = 0
    for item in one:
        other = two.get(item.key)
        if other is None:
            continue
        compared += 1
        apart = roundings(item, other)
        if apart <= TIMES * (1 + (item.place.step or 0)):
            continue
        differing += 1
        told = Divergence(item.what, item.value, other.value, item.place, other.place, apart)
        if any(item.what.startswith(f"{k} of") or item.what == f"the loss {k}" for k in FORM):
            form = form or told
        first = first or told
    found = Comparison(first, form, compared, differing)
    found.explanations = sorted(explanations(a, b, sources, first), key=lambda e: -e.weight)
    return found


def roundings(a: Item, b: Item) -> float:
    """By how many roundings of the coarser dtype two values differ; infinite where they are no numbers or one is not finite."""
    x, y = a.value, b.value
    if isinstance(x, bool) or isinstance(y, bool) or not isinstance(x, (int, float)) or not isinstance(y, (int, float)):
        return 0.0 if x == y else math.inf
    if x == y or x != x and y != y:
        return 0.0
    if not math.isfinite(x) or not math.isfinite(y):
        return math.inf
    coarse = max(epsilon(a.dtype), epsilon(b.dtype))
    scale = max(abs(x), abs(y), a.scale or 0.0, b.scale or 0.0)
    return abs(x - y) / (coarse * scale) if coarse and scale else math.inf


# ---- what could explain it


def explanations(a: Run, b: Run, sources: tuple[dict[str, str], dict[str, str]], first: Divergence | None) -> list[Explanation]:
    """Differences of program, configuration, seeds, data and environment; those nearest to the divergence weigh most."""
    return [
        *of_program(sources, first),
        *of_command(a, b),
        *of_seeds(a, b, first),
        *of_optimizer(a, b, first),
        *of_settings(a, b),
        *of_data(a, b, first),
        *of_environment(a, b),
    ]


def of_program(sources: tuple[dict[str, str], dict[str, str]], first: Divergence | None) -> list[Explanation]:
    """Lines of the program that were changed: those at or before the divergence explain it."""
    found = []
    names = [(n, n) for n in sorted(sources[0].keys() & sources[1].keys())] or list(zip(sources[0], sources[1]))
    for name, other in names:
        old, new = sources[0][name].splitlines(), sources[1][other].splitlines()
        for tag, low, high, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if tag == "equal" or not any(t.strip() for t in [*old[low:high], *new[start:end]]):
                continue
            at = first.place.line if first is not None and (first.place.file or "").endswith(name) else None
            near = 1.0 if at is None else 1.0 - min(0.2, abs(at - low - 1) / 500) if low + 1 <= at else 0.5
            was, now = (" ".join(t.strip() for t in part)[:120] for part in (old[low:high], new[start:end]))
            found.append(Explanation("program", f"{name}:{low + 1} was `{was}`, is `{now}`", near))
    return found


def of_command(a: Run, b: Run) -> list[Explanation]:
    one, two = (list(r.meta.get("command") or ())[1:] for r in (a, b))
    return [Explanation("configuration", f"the command: {' '.join(map(str, one))} before, {' '.join(map(str, two))} after", 0.8)] if one[1:] != two[1:] else []


def of_seeds(a: Run, b: Run, first: Divergence | None) -> list[Explanation]:
    """Streams that were not seeded in one of both, or in neither: then nothing else need have changed."""
    found = []
    for name, said in (("torch_seed", "torch's stream"), ("split_drawn", "a split")):
        one, two = (r.facts(name) for r in (a, b))
        if not one or not two:
            continue
        seeded = all(f.get("seeded", True) for f in (one[-1], two[-1]))
        if one[-1].get("seed") != two[-1].get("seed"):
            found.append(Explanation("seeds", f"seed of {said}: {one[-1].get('seed')} before, {two[-1].get('seed')} after", 0.95))
        if not seeded and first is not None:
            found.append(Explanation("seeds", f"{said} was not seeded: it differs from run to run", 0.9 if drawn(first) else 0.4))
    return found


def drawn(first: Divergence) -> bool:
    """Is the divergence where random numbers show first: initial weights, a split's rows, a first batch?"""
    return first.place.step in (None, 0) or "before the first step" in first.what


def of_optimizer(a: Run, b: Run, first: Divergence | None) -> list[Explanation]:
    """Settings of optimizers."""
    found = []
    for one, two in zip(a.facts("initial_weights"), b.facts("initial_weights")):
        for key in sorted(one["settings"].keys() | two["settings"].keys()):
            x, y = one["settings"].get(key), two["settings"].get(key)
            if x != y:
                found.append(Explanation("configuration", f"{key} of {one['class']}: {x} before, {y} after", 0.85))
        if one["class"] != two["class"]:
            found.append(Explanation("configuration", f"the optimizer: {one['class']} before, {two['class']} after", 0.9))
    return found


def of_settings(a: Run, b: Run) -> list[Explanation]:
    """Settings of torch."""
    one, two = (next(iter(reversed(r.facts("torch_settings"))), None) for r in (a, b))
    if one is None or two is None:
        return []
    return [Explanation("configuration", f"torch's {k}: {one.get(k)} before, {two.get(k)} after", 0.75) for k in SETTINGS if one.get(k) != two.get(k)]


def of_data(a: Run, b: Run, first: Divergence | None) -> list[Explanation]:
    """Tables with other sizes or columns."""
    found = []
    for one, two in zip(a.facts("table_read"), b.facts("table_read")):
        for key in ("table", "rows", "columns"):
            if one.get(key) != two.get(key):
                found.append(Explanation("data", f"{key} of {one.get('table')}: {short(one.get(key))} before, {short(two.get(key))} after", 0.95))
    return found


def of_environment(a: Run, b: Run) -> list[Explanation]:
    """Versions, machine and variables."""
    found = [Explanation("environment", f"{k}: {a.meta.get(k)} before, {b.meta.get(k)} after", 0.3) for k in ENVIRONMENT if a.meta.get(k) != b.meta.get(k)]
    one, two = ({f["name"]: f.get("version") for f in r.facts("library") if f.get("version")} for r in (a, b))
    found += [Explanation("environment", f"version of {k}: {one[k]} before, {two[k]} after", 0.6) for k in sorted(one.keys() & two.keys()) if one[k] != two[k]]
    x, y = (r.meta.get("environment") or {} for r in (a, b))
    return found + [Explanation("environment", f"{k}: {x.get(k)} before, {y.get(k)} after", 0.5) for k in sorted(x.keys() | y.keys()) if x.get(k) != y.get(k)]


def short(value: Any) -> str:
    text = str(value)
    return text if len(text) < 120 else text[:117] + "..."
