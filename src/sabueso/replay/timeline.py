"""Timeline: what a run told, value by value, in the order in which the program came to it, so that two runs can be laid side by side.

Kept is what says where the data and the model were: columns as read and as fitted on, initial weights, inputs, layers' outputs, losses, gradients,
rates, weights, scores. Left out is what differs between any two runs: times, memory, our own numbering.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..events import Fact
from ..places import Place
from ..runs import Run
from ..stages import rank_of

# within a step, in the order of the program
PHASES = (
    "initial_weights", "model_input", "output_mean", "output_std", "units_dead", "units_saturated", "loss_call", "train_loss", "weight_gradient",
    "gradient_norm", "learning_rate", "update_ratio", "weight_norm", "evaluation_error", "inputs", "metric",
)  # fmt: skip
SERIES = tuple(n for n in PHASES if n not in ("initial_weights", "model_input", "loss_call", "inputs", "metric"))
TABLES = {
    "table_read": ("rows", "columns"),
    "table_join": ("rows", "how", "on"),
    "rows_dropped": ("before", "after"),
    "split_drawn": ("rows",),
    "table_used": ("columns", "rows"),
}
STATISTICS = ("count", "missing", "min", "max", "mean", "sd", "distinct", "dtype")
SCALES = {"mean": "std", "output_mean": "output_std"}  # a mean is judged against the spread beside it


@dataclass(frozen=True, slots=True)
class Item:
    """One value: `what` it is of, where, when; `key` is the same in both runs; `scale` is what its rounding is measured by."""

    key: tuple[Any, ...]
    order: tuple[Any, ...]
    what: str
    value: Any
    place: Place
    dtype: str = "float64"
    scale: float | None = None


def items(run: Run) -> list[Item]:
    """All values of a run, in order."""
    dtype = next((f["dtype"] for f in run.facts("model_input") if "float" in str(f.get("dtype"))), "float32")
    built = lines_of_modules(run)
    found = [*tables(run), *columns(run), *weights(run, built), *calls(run), *labels(run), *estimators(run), *series(run, dtype, built), *scores(run)]
    return sorted(found, key=lambda i: i.order)


def at(name: str, step: int | None, position: int = 0) -> tuple[Any, ...]:
    """The order of something within training."""
    return (1, step or 0, PHASES.index(name), position)


def numbered(seen: Counter[Any], *key: Any) -> tuple[Any, ...]:
    """A key that tells the first of its kind from the second."""
    seen[key] += 1
    return (*key, seen[key])


def tables(run: Run) -> Iterator[Item]:
    """Tables read, joined, cut and split, by their sizes and names of columns."""
    seen: Counter[Any] = Counter()
    for name, keys in TABLES.items():
        for fact in run.facts(name):
            for key in keys:
                if fact.get(key) is not None:
                    what = f"{key} of {fact.get('table') or fact.get('function') or name.replace('_', ' ')}"
                    yield Item(numbered(seen, name, key), (0, stage_of(fact), fact.order, 0), what, plain(fact[key]), fact.place)


def columns(run: Run) -> Iterator[Item]:
    """Columns of tables as read, by their statistics."""
    seen: Counter[Any] = Counter()
    for number, profile in enumerate(run.profiles("column")):
        name = numbered(seen, profile.place.tensor, profile.place.column)
        for position, key in enumerate(STATISTICS):
            if key in profile.value:
                scale = spread(profile.value)
                what = f"{key} of column {profile.place.column} of {profile.place.tensor or 'a table'}"
                yield Item(
                    ("column", *name, key), (0, 0, 1e9 + number, position), what, profile.value[key], profile.place, str(profile.value.get("dtype")), scale
                )


def weights(run: Run, built: dict[str, Place]) -> Iterator[Item]:
    """Parameters before the first step of their optimizer, and how that is set."""
    for fact in run.facts("initial_weights"):
        for name, value in fact["settings"].items():
            yield Item(("optimizer", fact["optimizer"], name), at("learning_rate", fact.place.step, -1), f"{name} of {fact['class']}", plain(value), fact.place)
        for number, p in enumerate(fact["parameters"]):
            for key in ("shape", "mean", "std", "low", "high"):
                place = built.get(p.get("module") or "", fact.place).but(stage="train", step=fact.place.step, module=p.get("module"), tensor=p["path"])
                what, scale = f"{key} of {p['path']} before the first step", spread(p)
                yield Item(
                    ("weights", fact["optimizer"], p["path"], key),
                    at("initial_weights", fact.place.step, number),
                    what,
                    plain(p.get(key)),
                    place,
                    "float32",
                    scale,
                )


def calls(run: Run) -> Iterator[Item]:
    """What models and losses were given in sampled steps."""
    seen: Counter[Any] = Counter()
    for fact in run.facts("model_input"):
        name = numbered(seen, "model_input", fact.get("position"), fact.place.step)
        for key in ("dtype", "shape", "low", "high", "mean", "std"):
            place = fact.place.but(tensor=f"input {fact.get('position')}")
            yield Item(
                (*name, key),
                at("model_input", fact.place.step),
                f"{key} of the model's input",
                plain(fact.get(key)),
                place,
                str(fact.get("dtype")),
                spread(fact.value),
            )
    for fact in run.facts("loss_call"):
        name = numbered(seen, "loss_call", fact.place.step)
        yield Item((*name, "function"), at("loss_call", fact.place.step), "the loss function", fact.get("function"), fact.place)
        for side in ("target", "prediction"):
            held = fact.get(side) or {}
            for key in ("dtype", "shape", "low", "high", "mean"):
                if key in held:
                    what, place = f"{key} of the loss's {side}", fact.place.but(tensor=side)
                    yield Item((*name, side, key), at("loss_call", fact.place.step, 1), what, plain(held[key]), place, str(held.get("dtype")), spread(held))


def labels(run: Run) -> Iterator[Item]:
    """How often each class stood among the targets so far."""
    seen: Counter[Any] = Counter()
    for fact in run.facts("targets"):
        if fact.get("classes") and fact.place.step is not None:
            key, place = numbered(seen, "targets", fact.get("function"), fact.place.step), fact.place.but(tensor="target")
            yield Item(key, at("loss_call", fact.place.step, 2), "classes of the target", plain(fact["classes"]), place)


def estimators(run: Run) -> Iterator[Item]:
    """Columns that estimators were fitted on, and given afterwards."""
    seen: Counter[Any] = Counter()
    for fact in [f for f in run.facts("inputs") if f.get("method") != "forward"]:  # networks are fed by batch, and sampled
        name, fit = numbered(seen, "inputs", fact.get("model"), fact.get("method")), fact.place.but(file=fact.get("fit_file"), line=fact.get("fit_line"))
        for part, place in (("ref", fit), ("cur", fact.place)):
            for column in fact.get("columns") or ():
                held, label = column.get(part) or {}, column.get("name") or str(column.get("index"))
                order = (2 if fact.place.step else 0, 9, place.line or 0, part == "cur", column.get("index") or 0)
                for key in ("count", "missing", "mean", "sd", "min", "max"):
                    if key in held:
                        what = f"{key} of column {label} that {fact.get('model')} was {'fitted on' if part == 'ref' else 'given'}"
                        yield Item((*name, part, label, key), order, what, held[key], place.but(column=label), "float64", spread(held))


def series(run: Run, dtype: str, built: dict[str, Place]) -> Iterator[Item]:
    """Numbers by step: layers in the order of the forward pass, their gradients in that of the backward pass."""
    for name in SERIES:
        held, seen = run.series(name), Counter[Any]()
        for number, s in enumerate(held):
            label = " ".join(str(v) for v in (s.place.module, s.place.tensor) if v)
            key = numbered(seen, name, s.place.module, s.place.tensor, s.place.estimator)
            position = -number if name == "weight_gradient" else number
            phase = "output_mean" if name == "output_std" else name  # both of a layer before the next layer
            place = s.place if s.place.line else built.get(s.place.module or "", s.place).but(stage=s.place.stage, module=s.place.module, tensor=s.place.tensor)
            beside = partner(run, name, s.place)
            for i, (step, value) in enumerate(zip(s.steps.tolist(), s.values.tolist())):
                scale = beside.get(step)
                exact = "float64" if name == "learning_rate" else dtype
                yield Item(
                    (*key, step, i if name == "train_loss" else 0),
                    at(phase, step, position),
                    f"{name.replace('_', ' ')} {label}".strip(),
                    value,
                    place.but(step=step),
                    exact,
                    scale,
                )


def partner(run: Run, name: str, place: Place) -> dict[int, float]:
    """The series against whose values a mean is judged, by step."""
    if name not in SCALES:
        return {}
    other = next((s for s in run.series(SCALES[name]) if s.place.module == place.module and s.place.tensor == place.tensor), None)
    return dict(zip(other.steps.tolist(), other.values.tolist())) if other is not None else {}


def scores(run: Run) -> Iterator[Item]:
    """Metrics, call by call."""
    seen: Counter[Any] = Counter()
    for fact in run.facts("metric"):
        for number, value in enumerate(fact.get("values") or ()):
            key = numbered(seen, "metric", fact["metric"], number)
            yield Item(key, (3, fact.order, number), f"{fact['metric']}", value[-1] if isinstance(value, list) and value else value, fact.place)


def lines_of_modules(run: Run) -> dict[str, Place]:
    """Where each module was built."""
    found: dict[str, Place] = {}
    for fact in run.facts("model"):
        for path, _, _, line in (t[:4] for t in fact.get("tree") or () if len(t) > 3):
            if line:
                found.setdefault(path, Place(file=line[0], line=line[1]))
    return found


def spread(held: dict[str, Any]) -> float | None:
    """What a statistic's rounding is measured by: the spread and range of the values."""
    sizes = [abs(held[k]) for k in ("sd", "std", "min", "max", "low", "high") if isinstance(held.get(k), (int, float))]
    return max(sizes, default=None)


def stage_of(fact: Fact) -> int:
    return rank_of(fact.place.stage)


def plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
