"""Alignment: what a recorded disagreement of labels and features means, for the checks that tell of it."""

from __future__ import annotations

from typing import Any

from .events import Fact
from .findings import Finding

FIRST = 50  # rows that a place lists


def of(fact: Fact) -> Finding:
    """The finding of one `label_agreement`: a stretch shifted, renamed, sorted otherwise or in no order."""
    kind, first, last = fact["kind"], fact["first"], fact["last"]
    count = fact.get("moved") or last - first + 1
    inside = ", ".join(f"{k} {v}" for k, v in (fact.get("where") or {}).items())
    which = f"rows {first} to {last} ({inside})" if inside else f"rows {first} to {last}"
    listed = fact.get("row_numbers")
    which = f"the {count} rows with {inside}" if listed else which
    whole = fact["agreement_elsewhere"] is None
    evidence: list[tuple[str, Any, Any]] = [
        (f"labels {fact['labels']} that nearest neighbours in {fact['features']} confirm, {which}", fact["agreement"], fact["agreement_elsewhere"]
         if not whole else fact["agreement_mended"]), ("by chance", fact["by_chance"], None),
    ]  # fmt: skip
    if fact["agreement_mended"] is not None:
        evidence.insert(1, (f"the same {mending(fact)}", fact["agreement_mended"], fact["agreement_elsewhere"]))
    evidence.append(("rows concerned", count, 0))
    tensor = fact["labels"] if whole else fact["features"]
    place = fact.place.but(
        stage="ingest", tensor=tensor, column=fact.get("labels_from"), row=listed or list(range(first, min(last + 1, first + FIRST))), step=None
    )
    return Finding(says=says(fact, which), place=place, evidence=evidence, remedy=REMEDIES[kind], confidence=0.96 if kind != "disordered" else 0.85,
                   stage="ingest", verified={"how": mending(fact), "before": fact["agreement"], "after": fact["agreement_mended"]}
                   if fact["agreement_mended"] is not None else None)  # fmt: skip


def mending(fact: Fact) -> str:
    """What was tried on the labels, and made them agree."""
    if fact["kind"] == "shift":
        return f"with the label {abs(fact['shift'])} rows {'further down' if fact['shift'] > 0 else 'further up'}"
    if fact["kind"] == "renamed":
        return "with the labels renamed"
    return f"with the labels in {fact.get('how')}"


def renamed(fact: Fact) -> str:
    """What each label is called in the odd part."""
    return ", ".join(f"{a} is {b}" for a, b in list(fact["mapping"].items())[:6])


def says(fact: Fact, which: str) -> str:
    """One sentence."""
    x, y = fact["features"], fact["labels"]
    if fact["kind"] == "shift":
        side = "above" if fact["shift"] > 0 else "below"
        return f"From row {fact['first']} on each row of {x} stands {abs(fact['shift'])} rows {side} its label in {y}."
    if fact["kind"] == "renamed":
        return f"In {which} the labels {y} are numbered otherwise than in the other rows: {renamed(fact)} there."
    if fact["kind"] == "order":
        return f"{which[0].upper() + which[1:]} of {x} do not belong to their labels {y}: they are in {fact['how']}."
    return f"{which[0].upper() + which[1:]} of {x} do not belong to their labels {y}, though both are what they are elsewhere: they are in another order."


REMEDIES = {
    "shift": "Find the row that was written twice or left out at the start of the stretch, and join features and labels by an identifier.",
    "renamed": "Translate the labels of that part into the numbering of the others before they are put together.",
    "order": "Bring both into one order by an identifier; sort file names by their number (key=lambda p: int(..)), not as text.",
    "disordered": "Write an identifier beside each row of features and join on it; sort that part by it before use.",
}


def of_offset(fact: Fact) -> Finding:
    """The finding of one `label_offset`: a group whose numbers belong some rows further on."""
    where, k = f"{fact['by']} = {fact['group']}", fact["shift"]
    return Finding(
        says=f"The {fact['labels']} of the {fact['rows']} rows with {where} fit their features only when taken {abs(k)} rows "
             f"{'later' if k > 0 else 'earlier'}; in all other groups they fit as they stand.",
        place=fact.place.but(stage="ingest", column=fact["labels"], row=fact["row_numbers"]),
        evidence=[(f"error of the nearest neighbours' mean, share of the variance, {where}", round(fact["error"], 4), round(fact["others"], 4)),
                  (f"the same with {fact['labels']} shifted by {k} rows", round(fact["error_shifted"], 4), round(fact["others"], 4)),
                  ("rows concerned", fact["rows"], 0)],
        remedy=f"Bring the clocks together before the join: for {where} the time of {fact['labels']} is {abs(k)} rows off (time zone, summer time, delay).",
        confidence=0.93, stage="ingest",
        verified={"how": f"{fact['labels']} shifted by {k} rows", "before": round(fact["error"], 4), "after": round(fact["error_shifted"], 4)},
    )  # fmt: skip
