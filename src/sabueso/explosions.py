"""Explosions: how a gradient that was too large is told: one row's, or one that grew through time."""

from __future__ import annotations

from typing import Any

import numpy as np

from .events import Fact, Series
from .findings import Finding
from .interventions import helped, proof
from .learning import Harm, Training
from .places import Place


def of_row(spike: Fact, wrong: Harm) -> Finding:
    """Name the row by its place in the data as read, with what is extreme in it."""
    spot: dict[str, Any] = spike.get("spot") or {}
    rows = spot.get("rows") or []
    row = rows[0] if len(rows) == 1 else rows or None
    array = spot.get("table") or spot.get("array") or "the batch"
    evidence = [("loss of the step", spike["loss"], f"about {spike['usual']:.4g}, the median before it")]
    evidence.append(("share of it that one row makes up", spike["share"], f"about {1 / spike['rows_in_batch']:.3f}"))
    which = f"row {row} of {array}" if row is not None else f"row {spike['top'][0]} of the batch"
    says = f"{which} alone makes the loss {spike['loss']:.3g}"
    for name in ("target", "input"):
        value, usual = spike.get(name), spike.get(f"{name}_range")
        value = value[0] if isinstance(value, list) else value
        if value is not None and usual and abs(value - sum(usual) / 2) > 10 * (usual[1] - usual[0]):
            evidence.append((f"{name} of {which}", value, f"{usual[0]:.4g} to {usual[1]:.4g} for nine rows in ten of its batch"))
            says = f"the {name} of {which} is {value:.6g}, others lie between {usual[0]:.3g} and {usual[1]:.3g}: it alone makes the loss {spike['loss']:.3g}"
            break
    if spot.get("value") is not None:
        evidence.append((f"{spot['column']} of that row", spot["value"], f"{spot['others'][0]:.4g} to {spot['others'][1]:.4g}"))
    evidence.append(("afterwards", wrong.says, "a loss that falls"))
    place = spike.place.but(row=row, column=spot.get("column"), tensor=spot.get("array"))
    remedy = f"correct or leave out {which}; smooth_l1_loss or clipped gradients would have survived it"
    return Finding(f"{says}; {wrong.says}", place, evidence, remedy, confidence=0.95 if row is not None else 0.85, verified="fact")


def through_time(training: Training, began: Fact, series: Series, step: int, times: float, wrong: Harm, experiment: list[Fact]) -> Finding:
    """A recurrent net whose gradient grew; verified where clipping kept the first steps whole on a copy."""
    tried = helped(experiment, "gradients clipped")
    evidence = [(f"gradient of {series.place.tensor} at step {step + 1}, by that of the first", times, "below 10"), *wrong.evidence]
    place = Place(step=step + 1, module=series.place.module, tensor=series.place.tensor, file=training.place.file, line=training.place.line)
    says = f"the gradient of {series.place.tensor} grew {times:.3g}-fold by step {step + 1} and was applied whole: {wrong.says}"
    remedy = "put torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0) between backward() and step()"
    return Finding(says, place, evidence, remedy, confidence=0.95 if tried else 0.9, verified=proof(tried))


def in_a_loop(training: Training, began: Fact, fact: Fact, change: float, wrong: Harm, experiment: list[Fact]) -> Finding:
    """A weight applied again and again to its own result, by hand."""
    tried = helped(experiment, "gradients clipped")
    what = fact.get("parameter") or fact.place.module or f"the weight {tuple(fact['shape'])} in line {fact.place.line}"
    evidence = [
        (f"gradient at the first of {fact['calls']} calls in one forward, by that at the last", fact["growth"], "about 1, below 100"),
        (f"change of the weights in one early step of {began['class']}, by their norm", change, "about 0.001, below 0.1"),
        *wrong.evidence,
    ]
    says = f"on its way back through {fact['calls']} applications of {what} the gradient grows {fact['growth']:.3g}-fold and is applied whole: {wrong.says}"
    remedy = "put torch.nn.utils.clip_grad_norm_(parameters, 1.0) between backward() and step(), and start the recurrent weight orthogonal"
    return Finding(says, fact.place.but(tensor=fact.get("parameter")), evidence, remedy, confidence=0.93, verified=proof(tried) or "fact")


def idle_clip(training: Training, clipping: list[Fact], norms: list[Series], wrong: Harm, least: int = 8, times: float = 10.0) -> Finding | None:
    """A clip that was called again and again and never (once at most) met a new gradient, while steps far above its bound were taken."""
    largest = max((float(np.nanmax(s.values)) for s in norms if np.isfinite(s.values).any()), default=0.0)
    for fact in clipping:
        if fact["calls"] < least or fact["idle"] < fact["calls"] - 1 or not fact["bound"] or not largest >= times * fact["bound"]:
            continue
        evidence = [
            ("calls of the clip that met no gradient, or none since the last step", fact["idle"], f"0 of {fact['calls']}"),
            ("largest norm of a gradient that was applied", largest, f"{fact['bound']:g} or less, its bound"),
            *wrong.evidence,
        ]
        says = f"gradients are clipped in line {fact.place.line} where there are none yet; one of norm {largest:.3g} was applied whole: {wrong.says}"
        place = fact.place.but(step=int(training.steps[0]) + 1)
        return Finding(says, place, evidence, f"move line {fact.place.line} between backward() and step()", confidence=0.97, verified="fact")
    return None
