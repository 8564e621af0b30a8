"""Quality: what one table by itself (`table_seen`) shows, for the checks that tell of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .comparisons import one_or, place_of, tried, weight
from .events import Fact
from .findings import Finding
from .shifts import shown


def as_text(facts: Iterable[Fact]) -> Iterator[Finding]:
    """Numbers that a table holds as text."""
    for fact in facts:
        for t in fact.get("texts") or ():
            odd = f", for {t['count']} cells such as {t['odd'][0]!r}" if t["odd"] else ""
            hint = f"name the words for missing values (na_values={t['words']})" if t["words"] else "strip units and thousands marks, set the decimal mark"
            yield Finding(
                says=f"{t['column']} of {fact['table']} holds numbers as text{odd}.", place=place_of(fact, column=t["column"], row=t["rows"], stage="ingest"),
                evidence=[("texts that spell a number, share", t["share"], 1.0), ("examples", t["examples"], "numbers"),
                          ("cells that are no plain number", t["count"], 0), ("cells", t["of"], None)],
                remedy=f"Read them as numbers: {hint}.", severity="warning", confidence=0.9, verified="fact",
            )  # fmt: skip


def lost_lines(facts: Iterable[Fact]) -> Iterator[Finding]:
    """Lines of a text file that are no rows."""
    for fact in facts:
        lost = fact.get("lost")
        if lost:
            yield Finding(
                says=f"{lost['count']} lines of {fact['table']} are no rows of it ({lost['why']}), the first in line {lost['lines'][0]}: they were left out.",
                place=fact.place.but(stage="ingest"), stage="ingest",
                evidence=[("lines left out", lost["count"], 0), ("first of them, lines of the file", lost["lines"][:6], []), ("example", lost["example"], None),
                          ("rows read", fact["rows"], fact["rows"] + lost["count"])],
                remedy="Mend these lines where the file is written: quote fields that hold a separator, write one encoding (UTF-8).",
                severity="warning", confidence=0.95, verified="fact",
            )  # fmt: skip


def marks(facts: Iterable[Fact]) -> Iterator[Finding]:
    """Numbers that stand for what is missing."""
    for fact in facts:
        for m in fact.get("marks") or ():
            yield Finding(
                says=f"{shown(m['value']):g} stands for missing in about {m['count']} rows of {m['column']} in {fact['table']} (otherwise "
                     f"{shown(m['low']):g} to {shown(m['high']):g}).",
                place=place_of(fact, column=m["column"], row=m["rows"], stage="ingest"), stage="ingest", severity="warning",
                evidence=[(f"value of {m['column']}", m["value"], f"{shown(m['low']):g} to {shown(m['high']):g}"), ("rows", m["count"], 0)],
                remedy=f'Read it as missing (na_values=["{shown(m["value"]):g}"]) and fill it in the pipeline.', confidence=0.85, verified="fact",
            )  # fmt: skip


def gaps(facts: Iterable[Fact]) -> Iterator[Finding]:
    """Columns that are empty throughout; labels that are missing; infinities."""
    for fact in facts:
        empty = [c["name"] for c in fact["columns"] if c["missing"] == fact["rows"]]
        if empty:
            yield Finding(
                says=f"{len(empty)} columns of {fact['table']} are empty throughout: {', '.join(empty[:6])}.",
                place=place_of(fact, column=one_or(empty[:50]), stage="ingest"), stage="ingest", severity="note",
                evidence=[("columns without any value", len(empty), 0), ("rows", fact["rows"], None)], remedy="Leave them out, or find what was to fill them.",
                confidence=0.95, verified="fact",
            )  # fmt: skip
        endless = {c["name"]: c["nonfinite"] for c in fact["columns"] if c.get("nonfinite")}
        if endless:
            yield Finding(
                says=f"{len(endless)} columns of {fact['table']} hold infinities: {', '.join(f'{n} in {k} rows' for n, k in list(endless.items())[:5])}.",
                place=place_of(fact, column=one_or(list(endless)[:50]), stage="ingest"), stage="ingest", severity="warning",
                evidence=[(f"infinite values of {n}", k, 0) for n, k in list(endless.items())[:4]], confidence=0.95, verified="fact",
                remedy="Find the division by zero or the logarithm of zero that makes them; most models refuse them.",
            )  # fmt: skip
        for c in fact["columns"]:
            if c["name"] == fact["target"] and 0 < c["missing"] < fact["rows"]:
                yield Finding(
                    says=f"The label {c['name']} is missing in {c['missing']} of {fact['rows']} rows of {fact['table']}.",
                    place=place_of(fact, column=c["name"], row=fact.get("unlabelled") or [], stage="ingest"), stage="ingest", severity="warning",
                    evidence=[("rows without label", c["missing"], 0), ("rows", fact["rows"], None)], remedy="Leave these rows out of fit and score.",
                    confidence=0.95, verified="fact",
                )  # fmt: skip


def constants(facts: Iterable[Fact]) -> Iterator[Finding]:
    """Columns with one value in every row."""
    for fact in facts:
        found = {c["name"]: c["only"] for c in fact["columns"] if c["only"] is not None and c["missing"] == 0 and fact["rows"] >= 20}
        label = fact["target"] in found
        if label:
            yield _flat(fact, {fact["target"]: found.pop(fact["target"])}, "error")
        if found:
            yield _flat(fact, found, "note")


def _flat(fact: Fact, found: dict[str, str], severity: str) -> Finding:
    what = "The label" if severity == "error" else "Each column"
    told = ", ".join(f"{n} = {v}" for n, v in list(found.items())[:5])
    return Finding(
        says=f"{what} has one value in all {fact['rows']} rows of {fact['table']}: {told}.",
        place=place_of(fact, column=one_or(list(found)[:50]), stage="ingest"), severity=severity,
        evidence=[("columns with one value", len(found), 0), ("rows", fact["rows"], None)],
        remedy="Leave them out: they tell nothing." if severity == "note" else "Find the rows of the other classes: a filter or a join has taken them away.",
        confidence=0.95, verified="fact",
    )  # fmt: skip


def repeated(facts: Iterable[Fact]) -> Iterator[Finding]:
    """Rows that stand more than once in one table."""
    for fact in facts:
        twins = fact.get("repeated")
        if twins and twins["count"] >= max(3, 0.002 * fact["rows"]):
            grave = twins["count"] >= 0.01 * fact["rows"] and not twins.get("minority")
            yield Finding(
                says=f"{twins['count']} of the {fact['rows']} rows of {fact['table']} repeat an earlier row in all {twins['columns']} columns"
                     + (" (nearly all of the rarer class: oversampled?)." if twins.get("minority") else "."),
                place=place_of(fact, row=twins["rows"], stage="ingest"), severity="warning" if grave else "note",
                evidence=[("rows that repeat an earlier one", twins["count"], 0), ("rows", fact["rows"], None), ("columns", twins["columns"], None),
                          *weight(twins, "without them, after a random cut")],
                remedy="Drop the repeats (drop_duplicates) before the rows are cut into parts.", confidence=0.85, verified=tried(twins),
            )  # fmt: skip


def spellings(facts: Iterable[Fact]) -> Iterator[Finding]:
    """Levels of one column that are one level in several spellings."""
    for fact in facts:
        for v in fact.get("variants") or ():
            told = "; ".join(f"{a!r} for {b!r}" for a, b in list(v["spellings"].items())[:4])
            yield Finding(
                says=f"{v['count']} rows of {fact['table']} write a {v['column']} otherwise than the rest: {told}.",
                place=place_of(fact, column=v["column"], row=v["rows"], stage="ingest"), stage="ingest", severity="warning",
                evidence=[("rows in the rarer spelling", v["count"], 0), (f"levels of {v['column']}", v["levels"], v["after"])],
                remedy=f"Bring it into one spelling where it is read: table[{v['column']!r}].str.strip().str.casefold().", confidence=0.85, verified="fact",
            )  # fmt: skip


def changed(facts: Iterable[Fact], kind: str) -> Iterator[Finding]:
    """A column that is another one from some row on: in another unit, empty, stuck at one value."""
    for fact in facts:
        for c in fact.get("changes") or ():
            if c["kind"] == kind:
                yield _changed(fact, c)


def _changed(fact: Fact, c: dict[str, Any]) -> Finding:
    name, table = c["column"], fact["table"]
    since = f"From row {c['row']} on" if c["row"] else "In the first rows"
    if c["kind"] == "unit":
        same = f", where {c['same']} is another too" if c.get("same") else ""
        says = f"{name} of {table} is {shown(c['factor'])} times what it is elsewhere ({c['unit']}){same}"
        remedy = f"Convert these rows: {name} / {shown(c['factor'])}."
        evidence = [(f"median of {name} there", shown(c["now"]), shown(c["usual"])), ("factor", shown(c["factor"]), 1)]
    elif c["kind"] == "empty":
        says, remedy = f"{name} of {table} is empty", f"Find what stopped (or later began) filling {name}; leave it out or fit on the other rows alone."
        evidence = [(f"share of {name} missing there", c["after"], c["before"])]
    else:
        says, remedy = f"{name} of {table} is {c['value']:g} in every row", f"Find what stopped measuring {name}; treat these rows as missing."
        evidence = [(f"values of {name} there", 1, "many")]
    return Finding(
        says=f"{since} {says}: {c['share']:.0%} of the rows.", place=place_of(fact, column=name, row=c["rows"], stage="ingest"), stage="ingest",
        evidence=[*evidence, ("share of the rows", c["share"], 0)], remedy=remedy, confidence=0.85, verified="fact",
        severity="note" if c.get("same") or (c["kind"] == "empty" and not c["row"]) else "warning",
    )  # fmt: skip
