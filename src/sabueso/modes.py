"""Modes: evaluation that a model only seems to be in, since a part of it never hears of the switch."""

from __future__ import annotations

from collections.abc import Iterator

from .events import Fact
from .findings import Finding
from .places import Place


def dropped_by_function(evaluation: list[Fact]) -> Iterator[Finding]:
    """A model in eval mode whose own dropout asks no mode. Rows judged again and again are sampling by design (Monte Carlo dropout)."""
    facts = [f for f in evaluation if f.get("drops") and not f["training"] and not f["grad"] and f["metrics"]]
    looks = len({f.place.step for f in facts})  # a validation set comes once a look, sampled answers many times
    if not facts or any(f["repeats"] > 2 or f["met"] > max(2, looks) for f in facts):
        return
    fact = facts[0]
    (file, line), layer = fact["drops"], fact.get("layer")
    yield Finding(
        says=f"`{fact['model']}` answers with its dropout on: line {line} calls `{layer}` with training=True"
        if layer
        else f"`{fact['model']}` is in eval mode, but the dropout in line {line} is told no mode: it drops in evaluation too",
        place=Place(stage="evaluate", file=file, line=line, step=fact.place.step, module=fact["model"]),
        evidence=[("evaluations in which it dropped", len(facts), 0), ("mode of the model", "eval", "eval")],
        remedy=f"give it the mode in line {line}: "
        + ("`training=training`, as call() is given it" if layer else "`training=self.training`, or use torch.nn.Dropout"),
        confidence=0.93,
        verified="fact",
    )


def half_switched(evaluation: list[Fact]) -> Iterator[tuple[Fact, Finding]]:
    """A model, or a part of one, whose flag alone says eval mode while every part below it is in training mode. One a model."""
    told = set()
    for fact in evaluation:
        found = fact.get("unreached")
        if not found or fact["grad"] or not fact["metrics"] or fact["training_batch"] or fact["repeats"] > 2 or (fact.process, fact["model"]) in told:
            continue
        told.add((fact.process, fact["model"]))
        name = f"{fact['model']}.{found['path']}" if found["path"] else fact["model"]
        file, line = found["line"] or (fact.place.file, fact.place.line)
        kinds = ", ".join(sorted({kind for _, kind in fact["live"]}))
        how = f"`{found['method']}` of {found['class']} does not hand the mode on" if found["method"] else "only its own flag was set"
        yield (
            fact,
            Finding(
                says=f"`{name}` is in eval mode but nothing below it is, since {how}: {kinds} behave as in training while it is scored",
                place=Place(stage="evaluate", file=file, line=line, step=fact.place.step, module=fact["live"][0][0]),
                evidence=[("layers that were live", len(fact["live"]), 0), (f"flag `training` of `{name}`", "False", "False, as that of all its parts")],
                remedy=f"`super().{found['method']}({'mode' if found['method'] == 'train' else ''})` within `{found['method']}` of {found['class']}"
                if found["method"]
                else f"`{name}.eval()` in its place",
                confidence=0.94,
                verified="fact",
            ),
        )
