"""Model: the module tree with the worst of its children rolled up, and the estimators with what they were given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...diagnoses import Diagnosis
from ...events import Fact
from .. import phrases
from .distributions import spot
from .signals import Signals, label

MOST_MODULES, MOST_SHOWN = 300, 40
COUNTED = {"gradient_nonfinite": "weight_gradient", "output_nonfinite": "output_std"}
SHOWN = ("weight_gradient", "update_ratio", "output_std", "units_dead", "units_saturated")


def screen(facts: Callable[[str], list[Fact]], signals: Signals, listing: list[Any], diagnosis: Diagnosis, cwd: str) -> dict[str, Any]:
    """All that the template shows of models and estimators."""
    guilty = {f.place.module for f in diagnosis.culprits if f.place.module}
    guilty |= {f.place.tensor.rpartition(".")[0] for f in diagnosis.culprits if f.place.tensor}
    worst = by_module(listing)
    heads = [n for n in SHOWN if any(n in held for held in worst.values())]
    models = {f.get("number", f.get("name")): f for f in facts("model")}
    fits = [
        {
            "name": f.get("estimator"),
            "what": "fit" + (f" on {phrases.listing(f['columns'])}" if f.get("columns") else ""),
            "rows": f.get("rows"),
            "spot": spot(f.place, cwd),
        }
        for f in facts("table_used")
    ]
    fits += [
        {
            "name": f.get("metric"),
            "what": "metric " + phrases.number(f.get("values")),
            "rows": phrases.listing(f.get("sizes") or []),
            "spot": spot(f.place, cwd),
        }
        for f in facts("metric")
    ]
    return {"models": [tree(f, worst, heads, guilty, cwd) for f in models.values()], "heads": heads, "fits": fits[:100]}


def by_module(listing: list[Any]) -> dict[str, dict[str, tuple[float, float, int]]]:
    """module -> series name -> (least, greatest, points or elements not finite) over the tensors of that module itself."""
    held: dict[str, dict[str, tuple[float, float, int]]] = {}
    for s in listing:
        where = s.place.module or label(s)
        if s.name in COUNTED and s.high:
            name = COUNTED[s.name]
            low, high, bad = held.setdefault(where, {}).get(name, (float("inf"), float("-inf"), 0))
            held[where][name] = (low, high, bad + int(s.high))
        if s.name in SHOWN and s.count:
            low, high, bad = held.setdefault(where, {}).get(s.name, (float("inf"), float("-inf"), 0))
            both = (min(low, s.low if s.low is not None else low), max(high, s.high if s.high is not None else high), bad + s.nonfinite)
            held[where][s.name] = both
    return held


def tree(fact: Fact, worst: dict[str, Any], heads: list[str], guilty: set[str], cwd: str) -> dict[str, Any]:
    """One model as rows, parents before their children."""
    rows, own = [], {path for path, *_ in fact.get("tree") or []}
    worst = {where: held for where, held in worst.items() if where in own}
    for path, kind, shapes, built in (fact.get("tree") or [])[:MOST_MODULES]:
        inside = [held for where, held in worst.items() if not path or where == path or where.startswith(path + ".")]
        rows.append({
            "path": path, "class": kind, "depth": path.count(".") + 1 if path else 0,
            "shapes": ", ".join(f"{n} {'×'.join(map(str, s))}" for n, s in (shapes or {}).items()),
            "cells": [rolled(n, inside) for n in heads], "guilty": bool(path) and path in guilty,
            "broken": any(v[2] for held in inside for v in held.values()),
            "built": spot(fact.place.but(file=built[0], line=built[1]), cwd) if built else "",
        })  # fmt: skip
    left = max(0, len(fact.get("tree") or []) - MOST_MODULES)
    return {"name": fact.get("name"), "class": fact.get("class"), "parameters": fact.get("parameters"), "rows": rows, "short": short(rows), "left_out": left}


def short(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The upper levels of a deep tree, and whatever is guilty or broken further down: what is worst below shows in the numbers of its parents."""
    return rows if len(rows) <= MOST_SHOWN else [r for r in rows if r["depth"] <= 2 or r["guilty"] or r["broken"]][:MOST_SHOWN]


def rolled(name: str, inside: list[dict[str, tuple[float, float, int]]]) -> tuple[str, bool]:
    """(range over a module and all below it, whether any of it was not finite)."""
    held = [h[name] for h in inside if name in h]
    if not held:
        return "", False
    low, high, bad = min(h[0] for h in held), max(h[1] for h in held), sum(h[2] for h in held)
    said = f"{phrases.number(low)} to {phrases.number(high)}" if low < high else phrases.number(high)
    return (f"{bad} not finite" + (f"; {said}" if high > float("-inf") else ""), True) if bad else (said, False)
