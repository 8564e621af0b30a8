"""Skews: the ways in which a column of `inputs` is prepared otherwise in use than at fit, each as a finding of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from .events import Fact
from .findings import Finding
from .shifts import rebased, reshaped, shown, turned


def in_another_zone(fact: Fact, c: dict[str, Any]) -> Finding | None:
    """A part of a time that stood in another zone at fit."""
    rows, usual = sum(c["now"].values()), max(c["fit"], key=c["fit"].get)
    strange = sum(n for k, n in c["now"].items() if k not in c["fit"])
    if rows < 8 or strange < 0.9 * rows:
        return None
    period, now = {"hour": 24, "weekday": 7, "month": 12, "day": 31}[c["part"]], max(c["now"], key=c["now"].get)
    off, was = (int(k) - (period if int(k) > period / 2 else 0) for k in (now, usual))
    name = c["column"]
    return Finding(
        says=f"{name} was the {c['part']} of {c['raw']} {was:+d} where {fact['model']} learnt and is it {off:+d} where it is used: it is read in "
        "another time zone",
        place=fact.place.but(column=name, row=0, stage="deploy"),
        evidence=[(f"{name} minus {c['part']} of {c['raw']} at fit", was, None),
                  (f"{name} minus {c['part']} of {c['raw']} in use", off, was),
                  ("rows with a difference that the fit never had", strange, 0), ("rows compared", rows, None)],
        remedy=f"turn {c['raw']} to the time zone of the training before taking its {c['part']}", confidence=0.95, verified="fact",
    )  # fmt: skip


def turned_column(fact: Fact, column: dict[str, Any], strong: float, sure: float, same: float) -> Finding | None:
    """A cyclic whole-number column (hour, weekday, month) that is off by some steps."""
    found = turned(column)
    if found is None or found.effect < strong or found.p > sure or found.p_turned < same:
        return None
    name, zone = column["name"], f" (a time zone of {found.steps} hours?)" if found.period == 24 else ""
    return Finding(
        says=f"{name} is {found.steps} off (of {found.period}) where {fact['model']} is used: turned back, both distributions agree",
        place=fact.place.but(column=name, row=0, stage="deploy"),
        evidence=[(f"steps that {name} is off", found.steps, 0), ("distance as fed, in standard deviations", shown(found.effect), "< 0.1"),
                  ("p of the same distribution after the turn", shown(found.p_turned), "> 0.001"), ("rows fed", fact["rows"], None)],
        remedy=f"derive {name} by the same function on both sides{zone}", confidence=0.92,
        verified={"how": "column turned back by its steps", "before": found.p, "after": found.p_turned},
    )  # fmt: skip


def reshaped_column(fact: Fact, column: dict[str, Any]) -> Finding | None:
    """A logarithm, an exponential or a power that stands between both distributions."""
    usual, now, name = column["ref"].get("grid", []), column["cur"].get("grid", []), column["name"]
    found = reshaped(usual, now) if column["cur"]["count"] >= 20 else None
    bases = rebased(column["ref"], column["cur"]) if found is None and column["cur"]["count"] >= 20 else None
    if found is None and bases is None:
        return None
    says = f"the {found} of what {fact['model']} learnt" if bases is None else f"a logarithm, {bases[1]}, where {fact['model']} learnt one {bases[0]}"
    return Finding(
        says=f"{name} as fed is {says}", place=fact.place.but(column=name, row=0, stage="deploy"),
        evidence=[(f"median of {name} at fit", shown(usual[10]), None), (f"median of {name} as fed", shown(now[10]), shown(usual[10]))],
        remedy=f"prepare {name} by the same function on both sides", confidence=0.85, verified="fact",
    )  # fmt: skip


def step_left_out(fact: Fact) -> Finding | None:
    """A model that learnt standardised columns is fed raw ones."""
    skipped = fact.get("skipped")
    if skipped and fact["rows"] >= 10 and skipped["effect"] > 0.6 and skipped["effect_before"] < 0.35 * skipped["effect"]:
        return Finding(
            says=f"{fact['model']} learnt what a {skipped['class']} made, and is fed rows as they were before it: the step is left out here",
            place=fact.place.but(estimator=skipped["class"], row=0, stage="deploy"),
            evidence=[(f"distance from what the {skipped['class']} made, in standard deviations", shown(skipped["effect"]), "< 0.1"),
                      (f"distance from what the {skipped['class']} was given", shown(skipped["effect_before"]), "far"),
                                ("rows fed", fact["rows"], None)],
            remedy=f"store the {skipped['class']} with the model and apply it before predict", confidence=0.93, verified="fact",
        )  # fmt: skip
    numeric = [c for c in fact["columns"] if c["kind"] == "number" and "grid" in c["cur"]]
    standard = [c for c in numeric if abs(c["ref"]["mean"]) < 0.05 and abs(c["ref"]["sd"] - 1) < 0.05]
    far = [c for c in standard if not -4 < c["cur"]["grid"][10] < 4 or not 0.1 < c["cur"]["sd"] < 10]
    if fact["rows"] < 10 or fact["width"] < 2 or len(far) < 0.6 * fact["width"] or all(c["cur"]["sd"] == 0 for c in far):
        return None
    mean = shown(float(np.mean([c["cur"]["mean"] for c in far])))
    return Finding(
        says=f"{fact['model']} learnt standardised columns and is fed others: {len(far)} of {fact['width']} lie off by more than 4 or are spread tenfold",
        place=fact.place.but(column=[c["name"] for c in far], row=0, stage="deploy"),
        evidence=[("mean of the columns at fit", 0.0, None), ("mean of these columns as fed", mean, 0.0), ("rows fed", fact["rows"], None)],
        remedy="apply the scaler of the fit to the rows before predict", confidence=0.88, verified="fact",
    )  # fmt: skip


def wrapped_number(fact: Fact) -> Finding | None:
    """Numbers that were too large for the integer in which they travelled, of a fact `fed_twice`."""
    column = next((c for c in fact["columns"] if c["kind"] == "wrapped"), None)
    if column is None:
        return None
    name, was, now = column["name"], *column["example"]
    form = f"{'' if column['signed'] else 'u'}int{column['bits']}"
    return Finding(
        says=f"{name} went through {form}, which ends at {column['limit']}: {column['beyond']} of {fact['rows']} rows, such as {shown(was)}, reach "
             f"{fact['model']} as what is left of them ({shown(now)})",
        place=fact.place.but(column=name, row=column["rows"], stage="deploy"),
        evidence=[(f"{name} of one row, as on line {fact['usual_line']} and here", [shown(was), shown(now)], "equal"),
                  (f"rows beyond what {form} holds, all of them changed by a multiple of 2**{column['bits']}", column["beyond"], 0),
                  ("distance of the answers, in their standard deviations", fact["answers_apart"], 0)],
        remedy=f"let {name} travel as int32, int64 or a float where it is packed and unpacked", confidence=0.96, verified="fact",
        covers=("covariate-drift", "unit-change"),
    )  # fmt: skip


def wrapped_weights(fact: Fact) -> Finding:
    """Stored integers that were too small for the weights that they stand for, of a fact `integers_wrapped`."""
    worst, bits = max(fact["found"], key=lambda f: f["count"]), 16 if fact["found"][0]["dtype"].endswith("16") else 8
    low, high = worst["ends"]
    return Finding(
        says=f"{worst['count']} of {worst['of']} weights of {worst['weights']} are stored in {worst['dtype']} as other values than theirs: rounded they go "
             f"beyond {high}, and the cast takes 2**{bits} off",
        place=fact.place.but(line=fact["line"] or fact.place.line, module=[f["weights"].rpartition(".")[0] or f["weights"] for f in fact["found"]],
                             tensor=worst["weights"], stage="deploy"),
        evidence=[(f"integer that the weight {shown(worst['weight'])} is meant to be", worst["meant"], f"{low} to {high}"),
                  ("integer that is stored", worst["stored"], worst["meant"]),
                  ("weights that went round the end, in all arrays", sum(f["count"] for f in fact["found"]), 0)],
        remedy=f"cut off before the cast: np.clip(q, {low}, {high}).astype(np.{worst['dtype']}), or take the scale from the largest weight",
        confidence=0.96, verified="fact",
    )  # fmt: skip


def went_round(fact: Fact) -> Finding:
    """A difference below zero in a type that has no sign, of a fact `unsigned_difference`."""
    (a, b), (high, low, out) = fact["names"], fact["example"]
    wide = "int16" if fact["dtype"] == "uint8" else "int32" if fact["dtype"] == "uint16" else "int64"
    return Finding(
        says=f"{a} - {b} is reckoned in {fact['dtype']}, which has no sign: {fact['share']:.0%} of the differences lie below zero and come out near the top "
             f"({high} - {low} is {out}).",
        place=fact.place.but(tensor=a, stage="preprocess"), stage="preprocess",
        evidence=[("share of the differences that go round the end", fact["share"], 0), (f"{high} - {low} in {fact['dtype']}", out, high - low),
                  ("elements, and their shape", [fact["of"], fact["shape"]], None)],
        remedy=f"Give both a sign before they are subtracted: {a}.astype(np.{wide}) - {b}.astype(np.{wide}).",
        confidence=0.95, verified="fact", covers=("unscaled-input",),
    )  # fmt: skip


def served_otherwise(fact: Fact) -> Finding | None:
    """Rows that a service prepares otherwise than the program does itself, of a fact `fed_twice`."""
    column = next((c for c in fact["columns"] if c["kind"] in BETWEEN), None)
    if not fact["served"] or column is None:
        return None
    name, was, now = column["name"], *column["example"]
    what = BETWEEN[column["kind"]].format(**{k: shown(v) if isinstance(v, float) else v for k, v in column.items()})
    return Finding(
        says=f"the same {fact['rows']} rows reach {fact['model']} with another {name} when they come by request than on line {fact['usual_line']}: {what}",
        place=fact.place.but(column=name, row=column["rows"], stage="deploy"),
        evidence=[(f"{name} of one row, offline and served", [shown(was), shown(now)], "equal"),
                  (f"share of the rows with another {name}, all other columns being equal", round(column["share"], 3), 0),
                  ("distance of the answers, in their standard deviations", fact["answers_apart"], 0)],
        remedy=f"derive {name} by the same function on both sides"
               + (f" (a time zone of {column['steps']} hours: turn the time to the zone of the training first)" if column.get("period") == 24 else ""),
        confidence=0.94, verified="fact", covers=("covariate-drift", "unit-change"),
    )  # fmt: skip


def foreign_scale(fact: Fact) -> Finding:
    """A stored model with a stored scaler that is of another table than its fit, of a fact `scale_foreign`."""
    name, own, stored = fact["column"], [shown(v) for v in fact["own"]], [shown(v) for v in fact["stored"]]
    return Finding(
        says=f"the stored means and spreads are not those of the fit: the stored coefficients are those of a fit to {fact['label']} of a table at hand "
             f"once its columns are standardised by its own (mean of {name} {own[0]}, spread {own[1]}), and not by the stored ones ({stored[0]}, {stored[1]})",
        place=fact.place.but(column=fact["columns"], stage="deploy"),
        evidence=[("mean of residual times input, at most, by the table's own means and spreads", fact["balance"], "0 for the rows of the fit"),
                  ("the same by the stored ones", fact["balance_stored"], fact["balance"]), (f"mean and spread of {name} as stored", stored, own),
                  ("rows", fact["rows"], None)],
        remedy="store the scaler with the coefficients, in one file and by one program", confidence=0.95, verified="fact",
        covers=("covariate-drift", "unit-change", "label-drift"),
    )  # fmt: skip


BETWEEN = {
    "turned": "it is {steps} off (of {period})", "recoded": "each of its {values} values stands for another one",
    "scaled": "it is {slope} times as large, plus {start}", "bent": "it is a power, a logarithm or the like of what it was",
}  # fmt: skip


def renumbered(fact: Fact) -> Finding:
    """Words that are numbered by a list with a line more or less than that of the training."""
    by = abs(fact["by"])
    lines = f"{by} line{'s' if by > 1 else ''}"
    return Finding(
        says=f"the token numbers given to {fact['table'] or 'the embedding'} where it is used are {by} too {'high' if fact['by'] > 0 else 'low'}: moved "
        "by that they are as frequent as in training",
        place=fact.place,
        evidence=[("agreement of how often each number occurs, as given", fact["as_is"], "above 0.9"),
                  (f"the same after moving them by {-fact['by']}", fact["moved"], None),
                  ("numbers looked up in training and here", [fact["trained"], fact["used"]], None)],
        remedy=f"number the words by the very vocabulary of the training: the list here has {lines} {'more' if fact['by'] > 0 else 'fewer'} at its head",
        confidence=0.92, verified={"how": "frequencies moved back", "before": fact["as_is"], "after": fact["moved"]},
    )  # fmt: skip
