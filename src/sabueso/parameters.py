"""Parameters of a model as sampled steps saw them: which stay untouched, what holds them, how many numbers they are."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

from .events import Fact
from .findings import Finding

Row = dict[str, Any]


def idle_rows(facts: list[Fact]) -> list[Row]:
    """Rows that are untouched and unused by any optimizer in all sampled steps."""
    found: dict[str, list[Row]] = defaultdict(list)
    for fact in facts:
        for row in [*fact["rows"], *fact["hidden"]]:
            found[row["path"]].append(row)
    idle = []
    for rows in found.values():
        still = all(r["untouched"] and not r["stepped"] and not r["changed"] for r in rows) and len(rows) == len(facts)
        outside = all(r["optimizer"] is None and r["reached"] for r in rows)
        if still and (outside or not any(r["requires_grad"] for r in rows)):
            idle.append(rows[-1])
    return idle


def nothing_to_train(fact: Fact, parameters: list[Fact]) -> list[Row]:
    """Rows that the optimizer of these steps holds, where each that it holds, of any model, is frozen in every sampled step."""
    alike = [f for f in parameters if f.process == fact.process and f["optimizer"] == fact["optimizer"]]
    held = [r for f in alike for r in f["rows"] if r["optimizer"] is not None]
    if any(r["requires_grad"] or r["stepped"] for r in held) or any(r["changed"] for f in alike for r in f["rows"]):
        return []
    if len({(f["model"], r["path"]) for f in alike for r in f["rows"] if r["optimizer"] is not None}) < fact["optimizer_count"]:
        return []  # it holds others that belong to no model: a prompt, a picture
    return [r for r in fact["rows"] if r["optimizer"] is not None] if any(r["reached"] for f in alike for r in f["rows"]) else []


def harmless(idle: list[Row], rows: list[Row]) -> bool:
    """Only scales and shifts, or one random layer at the input that widens: random features."""
    weights = [r for r in idle if len(r["shape"]) >= 2]
    if not weights:
        return True
    layers = {r["path"].rpartition(".")[0] for r in weights}
    first = next((r for r in rows if len(r["shape"]) >= 2), None)
    return len(layers) == 1 and first is not None and first["path"] == weights[0]["path"] and not narrows(weights[0])


def narrows(row: Row) -> bool:
    """Does a layer give fewer numbers than it takes?"""
    if row.get("narrows") is not None:
        return bool(row["narrows"])
    return row["shape"][0] < row["shape"][1]


def cut_off(parameters: list[Fact], least: int) -> list[list[tuple[Fact, Row]]]:
    """Parameters that a loss was made with but whose gradient stops on the way in every sampled step, by the place of the cut."""
    rows: dict[tuple[int, str, str], list[tuple[Fact, Row]]] = defaultdict(list)
    for fact in parameters:
        for row in fact["rows"]:
            rows[fact.process, fact["model"], row["path"]].append((fact, row))
    by_cut: dict[tuple[Any, ...], list[tuple[Fact, Row]]] = defaultdict(list)
    for seen in rows.values():
        fact, row = seen[-1]
        held = [r for _, r in seen if r["optimizer"] is not None and r["requires_grad"]]
        cut = row.get("cut")
        if len(held) < least or len(held) < len(seen) or any(r["reached"] or r["stepped"] for r in held) or not cut:
            continue
        if row["gradient"] in ("none", "zero", None) and cut["feeds"] and row["untouched"]:
            by_cut[fact.process, fact["model"], tuple(cut["no_grad_line"] or [*(cut["line"] or ()), cut["op"]])].append((fact, row))
    return list(by_cut.values())


def departed(parameters: list[Fact], least: int) -> list[list[tuple[Fact, Row]]]:
    """Parameters that are held and never get a gradient, since what is made with them leaves torch in every sampled step, by the line of that."""
    rows: dict[tuple[int, str, str], list[tuple[Fact, Row]]] = defaultdict(list)
    for fact in parameters:
        for row in fact["rows"]:
            rows[fact.process, fact["model"], row["path"]].append((fact, row))
    by_line: dict[tuple[Any, ...], list[tuple[Fact, Row]]] = defaultdict(list)
    for seen in rows.values():
        fact, row = seen[-1]
        if len(seen) >= least and all(r["optimizer"] is not None and r["requires_grad"] and r.get("left") and idle(r) for _, r in seen):
            by_line[fact.process, fact["model"], tuple(row["left"])].append((fact, row))
    return list(by_line.values())


def idle(row: Row) -> bool:
    """Did no loss depend on it, and nothing change it?"""
    return bool(row["untouched"]) and not any(row[k] for k in ("reached", "used", "stepped", "changed"))


def shared_module(paths: list[str]) -> str | None:
    """The module that holds all of the parameters."""
    common: list[str] = []
    for parts in zip(*(p.split(".")[:-1] for p in paths)):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    return ".".join(common) or None


def layer_line(rows: list[Row]) -> list[Any] | None:
    """Where the layer was built."""
    return next((r["built"] for r in rows if r.get("built")), None)


def size(row: Row) -> int:
    """How many numbers a parameter holds."""
    return math.prod(row["shape"])


def missed(fact: Fact) -> Finding:
    """A checkpoint whose names are not those of the model, loaded without a word."""
    module, prefix, taken = fact["module"], fact["prefix"] or "", fact["taken"]
    cure = f"{{{prefix[1:]!r} + k: v for k, v in state.items()}}" if prefix[:1] == "-" else f"{{k.removeprefix({prefix!r}): v for k, v in state.items()}}"
    return Finding(
        says=f"{'nothing' if not taken else 'next to nothing'} is loaded into `{module}`: the checkpoint says `{fact['stored']}` where it says "
        f"`{fact['wanted']}`, and strict=False lets that pass, so its weights stay as they were",
        place=fact.place.but(stage="train", module=module),
        evidence=[("names of the checkpoint that were taken", taken, fact["keys"]), (f"names of `{module}` that got nothing", fact["missing"], 0)],
        remedy=(f"load {cure}" if prefix else "load the part of it that holds weights, under the model's names") + ", and look at what load_state_dict returns",
        severity="warning" if fact["trained"] else "error", confidence=0.92, verified="fact",
    )  # fmt: skip


def unwritten(fact: Fact) -> Finding:
    """The model that answers is a copy from before the training, and what should have kept it up to date wrote nothing into it."""
    of = fact["of"]
    model = fact["model"] if fact["model"] != of else f"{fact['class']} that was copied from {of}"
    remedy = f"copy or average `{of}` into it after each step, or let `{of}` answer"
    if fact.get("rebound"):
        remedy = "write into the parameter where the average is made, p.copy_(decay * p + (1 - decay) * q): a new value of the loop's variable changes none"
    return Finding(
        says=f"`{model}` answers, and is still `{of}` as it was before its first step: nothing was ever written into it",
        place=fact.place,
        evidence=[(f"optimizer steps of `{of}` when `{model}` answered", fact["step"], None),
                  (f"weights of `{model}` that differ from those first ones", 0, "all")],
        remedy=remedy, confidence=0.9, verified="fact",
    )  # fmt: skip
