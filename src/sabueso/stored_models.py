"""Stored models: what a model read from a file remembers of its columns, beside what it is fed, for the checks that tell of it."""

from __future__ import annotations

from typing import Any

from .events import Fact
from .findings import Finding
from .shifts import shown, unit_of


def order(fact: Fact, c: dict[str, Any]) -> Finding:
    """Columns that hold one another's values."""
    holds = ", ".join(f"{b} where {a} was" for a, b in list(c["holds"].items())[:4])
    return Finding(
        says=f"the {c['scaler'] or 'stored scaling'} of {fact['model']} has the moments of other columns than it is fed: by their means and spreads "
             f"{', '.join(c['column'])} stand in one another's place ({holds})",
        place=fact.place.but(column=c["column"], row=0, stage="deploy"),
        evidence=[("columns in another place", len(c["column"]), 0), ("distance from the stored moments as fed, in spreads", c["distance"], "< 0.5"),
                  ("the same in the order found", c["distance_found"], "< 0.5"), ("rows fed", c["of"], None)],
        remedy="store the names with the model and build the rows by them: table[names], or a DataFrame in place of a bare array",
        confidence=0.92, verified="fact",
    )  # fmt: skip


def kind(fact: Fact, c: dict[str, Any]) -> Finding:
    """Numbers where the stored encoder knows texts."""
    name = c["column"]
    return Finding(
        says=f"{name} comes as numbers, and the {c['encoder']} of {fact['model']} learnt it as text ({', '.join(map(repr, c['known'][:4]))}): none of its "
             "values is known",
        place=fact.place.but(column=name, row=c["rows"], stage="deploy"),
        evidence=[(f"type of {name} at fit", "text", None), (f"type of {name} as fed", "number", "text"), ("example", c["example"], repr(c["known"][0])),
                  ("rows fed", c["of"], None)],
        remedy=f'read it as text: read_csv(.., dtype={{"{name}": str}}), or {name}.astype(str)', confidence=0.93, verified="fact",
    )  # fmt: skip


def step_missing(fact: Fact, c: dict[str, Any]) -> Finding:
    """A logarithm, a root or an exponential that the rows of the fit had gone through."""
    name = c["column"]
    return Finding(
        says=f"{name} lies beyond all {c['thresholds']} thresholds of {fact['model']} in {c['share']:.0%} of the rows; its {c['form']} lies among them: it was "
             "prepared otherwise where the model learnt",
        place=fact.place.but(column=name, row=c["rows"], stage="deploy"), evidence=_range(c),
        remedy=f"take the {c['form']} of {name} here too, by the very function of the training", confidence=0.9, verified="fact",
    )  # fmt: skip


def unit(fact: Fact, c: dict[str, Any]) -> Finding:
    """A column in another unit than its thresholds."""
    name, factor = c["column"], c["factor"]
    pair, offset = c["pair"] or unit_of(factor, name), c["offset"]
    back = f"({name} - {shown(offset)}) / {shown(factor)}" if offset else f"{name} / {shown(factor)}"
    return Finding(
        says=f"{name} lies beyond all {c['thresholds']} thresholds of {fact['model']} in {c['share']:.0%} of the rows, and {back} lies among them"
             f"{f' ({pair})' if pair else ''}",
        place=fact.place.but(column=name, row=c["rows"], stage="monitor"), evidence=[*_range(c), ("factor", shown(factor), 1)],
        remedy=f"convert it where it is read: {back}", confidence=0.85, verified="fact",
    )  # fmt: skip


def beyond(fact: Fact, c: dict[str, Any]) -> Finding:
    """A column wholly outside of what the model learnt."""
    name = c["column"]
    return Finding(
        says=f"{name} lies beyond all {c['thresholds']} thresholds of {fact['model']} in {c['share']:.0%} of the rows: it is answered as if it were one value",
        place=fact.place.but(column=name, row=c["rows"], stage="monitor"), evidence=_range(c),
        remedy=f"check what fills {name} since the fit; if the world changed, fit again with such rows", confidence=0.8, verified="fact",
    )  # fmt: skip


def _range(c: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    name = c["column"]
    return [(f"median of {name} as fed", shown(c["median"]), f"{shown(c['low'])} to {shown(c['high'])}"),
            (f"share of rows beyond all thresholds on {name}", c["share"], "< 0.1")]  # fmt: skip
