"""Comparisons: what two tables side by side (`tables_apart`, `rows_shared`) mean, for the checks that tell of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from .drift import DRIFTED, TOO_FEW
from .events import Fact
from .findings import Finding
from .places import Place
from .shifts import Rescaled, Turned, rescaled, shown, turned

MARKED = 0.2  # standard deviations: less is true, and seldom worth a warning
PARTS = ("its location", "its spread", "its skew", "its tails")


def place_of(fact: Fact, **parts: Any) -> Place:
    """The current table, with columns and rows."""
    return fact.place.but(**{k: v if v != [] else None for k, v in parts.items()})


def one_or(names: list[str]) -> Any:
    """A name by itself, several as a list."""
    return names[0] if len(names) == 1 else names


def drifted(fact: Fact) -> list[dict[str, Any]]:
    """Columns that moved, the furthest first; no label, and none that is told as a change of unit or by its new levels alone."""
    found = [c for c in fact["columns"] if c["verdict"]["answer"] == DRIFTED and c["name"] != fact["target"] and not unit_of(c) and not mostly_new(c)]
    return sorted(found, key=lambda c: -c["verdict"]["effect"])


def numbered(c: dict[str, Any]) -> bool:
    """Whole numbers none of which the other table's range holds: a year, a week, a machine's number, where no unit explains it."""
    a, b = c["ref"], c["cur"]
    return c["what"] == "number" and a["whole"] and b["whole"] and (b["min"] > a["max"] or b["max"] < a["min"])


def mostly_new(c: dict[str, Any]) -> bool:
    """Is it new levels that make the difference?"""
    return c["what"] == "levels" and c["new_count"] >= 0.02 * c["cur"]["count"] and c["new_p"] < 1e-4


def covariate(facts: Iterable[Fact]) -> Iterator[Finding]:
    """Columns whose values moved, as one incident; slight ones as a note."""
    for fact in facts:
        found = drifted(fact)
        marked = [c for c in found if c["verdict"]["effect"] >= MARKED and not numbered(c)]
        slight = [c for c in found if c not in marked]
        yield from (_moved(fact, some, severity) for some, severity in ((marked, "warning"), (slight, "note")) if some)
        unknown = [c for c in fact["columns"] if c["verdict"]["answer"] == TOO_FEW and min(c["rows"]) > 0]
        if unknown:
            yield _too_few(fact, unknown)


def _too_few(fact: Fact, columns: list[dict[str, Any]]) -> Finding:
    """No answer is an answer too."""
    visible, many = max(c["verdict"]["visible"] for c in columns), f"{len(columns)} columns" if len(columns) > 1 else columns[0]["name"]
    return Finding(
        says=f"Too few rows to tell whether {many} of {fact['current']} moved: only {shown(visible)} standard deviations would be seen.",
        place=place_of(fact, stage="monitor"), severity="note", confidence=0.9, verified="fact", remedy="Gather more rows before calling them the same.",
        evidence=[("rows compared", [fact["ref_rows"], fact["cur_rows"]], None), ("move that would be seen, in standard deviations", shown(visible), "0.2")],
    )  # fmt: skip


def _moved(fact: Fact, columns: list[dict[str, Any]], severity: str) -> Finding:
    names = [c["name"] for c in columns]
    first = columns[0]
    told = ", ".join(f"{c['name']} by {c['verdict']['effect']:.2f}" for c in columns[:4]) + (f" and {len(columns) - 4} more" if len(columns) > 4 else "")
    evidence = [e for c in columns[:2] for e in numbers_of(c)]
    begun = began(first)
    part = f" in {share(first)}" if first["what"] == "number" and first["parts"] else ""
    return Finding(
        says=f"{told}: moved{part} from {fact['reference']} to {fact['current']}, in standard deviations{begun}.",
        place=place_of(fact, column=one_or(names), row=first.get("beyond_rows") or [], stage="monitor"),
        evidence=[*evidence[:4], ("rows compared", [fact["ref_rows"], fact["cur_rows"]], None)], severity=severity,
        remedy=f"Ask what measures or fills {first['name']} since then; if the world has changed, fit again with such rows.",
        confidence=0.9 if severity == "warning" else 0.7, verified="fact",
    )  # fmt: skip


def began(c: dict[str, Any]) -> str:
    """In which rows the move lies, where it is not in all."""
    found = c.get("origin")
    if not found:
        return ""
    where = f"with {found['column']} = {found['value']!r}" if "column" in found else f"{found['row']} to {found['last']}"
    return f"; all of {c['name']}'s lies in the rows {where}"


def share(c: dict[str, Any]) -> str:
    """Which part of a distribution moved most."""
    return PARTS[max(range(len(c["parts"])), key=lambda i: abs(c["parts"][i]))]


def numbers_of(c: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """The numbers that show a column's move."""
    v, name = c["verdict"], c["name"]
    effect = (
        f"effect on {name}, in standard deviations ({v['low']:.2f} to {v['high']:.2f})",
        round(v["effect"], 3),
        f"below {shown(max(c.get('floor', 0.02), 0.02))}",
    )
    if c["what"] == "number" and c["ref"]["grid"] and c["cur"]["grid"]:
        at = 10 if "spread" not in share(c) else 15
        word = "median" if at == 10 else "upper quartile"
        return [(f"{word} of {name}", shown(c["cur"]["grid"][at]), shown(c["ref"]["grid"][at])), effect]
    if c["what"] == "levels":
        n, m = c["rows"]
        worst = max(range(len(c["values"])), key=lambda i: abs(c["cur_counts"][i] / m - c["ref_counts"][i] / n))
        return [(f"share of {name} = {c['values'][worst]!r}", round(c["cur_counts"][worst] / m, 4), round(c["ref_counts"][worst] / n, 4)), effect]
    return [effect]


def label(facts: Iterable[Fact]) -> Iterator[Finding]:
    """The label is spread otherwise."""
    for fact in facts:
        for c in fact["columns"]:
            if c["name"] == fact["target"] and c["verdict"]["answer"] == DRIFTED:
                effect = c["verdict"]["effect"]
                yield Finding(
                    says=f"The label {c['name']} is spread otherwise in {fact['current']} than in {fact['reference']} ({effect:.2f} standard deviations).",
                    place=place_of(fact, column=c["name"], stage="monitor"),
                    evidence=[*numbers_of(c), ("rows compared", list(c["rows"]), None)], severity="warning" if effect >= MARKED / 2 else "note",
                    remedy="Fit again on recent rows, or correct for the new shares (priors); then choose the threshold anew.",
                    confidence=0.9, verified="fact",
                )  # fmt: skip


def missing(facts: Iterable[Fact]) -> Iterator[Finding]:
    """A column is empty more often, or less."""
    for fact in facts:
        for c in fact["columns"]:
            if not c["missing_moved"]:
                continue
            was, now = (p["missing"] / max(p["count"], 1) for p in (c["ref"], c["cur"]))
            yield Finding(
                says=f"{c['name']} is missing in {now:.1%} of the rows of {fact['current']} and in {was:.1%} of {fact['reference']}.",
                place=place_of(fact, column=c["name"], row=c.get("missing_rows") or [], stage="monitor"), severity="warning" if now - was >= 0.05 else "note",
                evidence=[(f"share of {c['name']} missing", round(now, 4), round(was, 4)), (f"rows that lack {c['name']}", c["cur"]["missing"], None),
                          ("rows", c["cur"]["count"], None)],
                remedy=f"Find what stopped (or began) filling {c['name']}; until then hold these rows back or fit without it.",
                confidence=0.92, verified="fact",
            )  # fmt: skip


def category(facts: Iterable[Fact], role: str) -> Iterator[Finding]:
    """Levels that the reference never met: another spelling of known ones, or more of them than a long tail explains."""
    for fact in facts:
        for c in fact["columns"] if fact["role"] == role else ():
            count, rows = c.get("new_count", 0), c["cur"]["count"]
            if count >= 0.95 * (rows - c["cur"]["missing"]) and len(c.get("values") or ()) - c["ref"]["distinct"] not in range(2, 5):
                continue  # a name of the table itself, or of groups that were held apart
            alike = c.get("alike") or {}
            if c["what"] != "levels" or c["name"] == fact["target"] and not alike or count < max(3, 0.001 * rows) or (c["new_p"] > 1e-4 and not alike):
                continue
            told = "; ".join(f"{ascii(k)} for {ascii(v)}" for k, v in list(alike.items())[:4]) or ", ".join(map(repr, list(c["new"])[:4]))
            yield Finding(
                says=f"{count} of {rows} rows of {fact['current']} have a {c['name']} that {fact['reference']} never has: {told}.",
                place=place_of(fact, column=c["name"], row=c.get("new_rows") or [], stage="monitor" if role == "period" else "preprocess"),
                evidence=[(f"rows with a new {c['name']}", count, f"about {round(c['once'] / max(c['ref']['count'], 1) * rows)}"),
                          (f"new values of {c['name']}", {str(k): v for k, v in list(c["new"].items())[:5]}, {}),
                          ("p of so many by a long tail", float(f"{c['new_p']:.2g}"), "> 1e-4")],
                remedy=f"Bring {c['name']} into one spelling where it is read ({c['how']})." if alike else
                       f"Give the encoder a place for what it does not know (handle_unknown), or fit with rows of the new {c['name']}.",
                severity="warning", confidence=0.93 if alike else 0.88, verified="fact",
            )  # fmt: skip


def unit_of(c: dict[str, Any]) -> Rescaled | None:
    """The change of unit that stands between both: a known pair, or one factor far from 1 that fits all quantiles."""
    if c["what"] != "number" or c["verdict"]["answer"] != DRIFTED or len(c["ref"]["grid"]) < 21 or len(c["cur"]["grid"]) < 21 or c["cur"]["count"] < 30:
        return None
    found = rescaled(c["ref"]["grid"], c["cur"]["grid"], c["name"])
    if found is None or not (found.unit or (found.misfit < 0.25 and abs(math.log(found.factor)) > math.log(5))):
        return None
    return found


def unit(facts: Iterable[Fact]) -> Iterator[Finding]:
    """A column comes in another unit, a time in another zone."""
    for fact in facts:
        yield from (_zone(fact, c["name"], found) for c in fact.get("clocks") or () if (found := turned(c)) and turned_for_sure(found))
        for c in fact["columns"]:
            found = unit_of(c)
            if found is None:
                continue
            by = f"{shown(found.factor)} times" + (f" plus {shown(found.offset)}" if found.offset else "")
            back = f"({c['name']} - {shown(found.offset)}) / {shown(found.factor)}" if found.offset else f"{c['name']} / {shown(found.factor)}"
            yield Finding(
                says=f"{c['name']} in {fact['current']} is {by} what it is in {fact['reference']}" + (f" ({found.unit})." if found.unit else "."),
                place=place_of(fact, column=c["name"], row=c.get("beyond_rows") or [], stage="monitor"),
                evidence=[(f"median of {c['name']}", shown(c["cur"]["grid"][10]), shown(c["ref"]["grid"][10])), ("factor", shown(found.factor), 1),
                          ("misfit of the quantiles after conversion", shown(found.misfit), "< 0.35"), ("rows", c["cur"]["count"], None)],
                remedy=f"Convert it where it is read: {back}.", severity="error" if found.unit else "warning",
                confidence=0.95 if found.unit else 0.8, verified="fact", covers=("covariate-drift",),
            )  # fmt: skip


def turned_for_sure(found: Turned) -> bool:
    """Do the hours of day agree once they are turned back, and surely not before?"""
    return found.effect >= 0.3 and found.p < 1e-6 and found.p_turned > 1e-3


def _zone(fact: Fact, name: str, found: Turned) -> Finding:
    return Finding(
        says=f"{name} of {fact['current']} stands {found.steps:+d} hours off {fact['reference']}: turned back, the hours of day agree (another time zone).",
        place=place_of(fact, column=name, stage="monitor"), severity="error", confidence=0.92,
        evidence=[("hours off", found.steps, 0), ("effect on the hour, in standard deviations", shown(found.effect), "below 0.02"),
                  ("p of the same hours after the turn", shown(found.p_turned), "> 0.001")],
        remedy=f"Read {name} with its zone in both tables (tz_localize, tz_convert).",
        verified={"how": "the hours turned back", "before": found.p, "after": found.p_turned},
    )  # fmt: skip


def concept(facts: Iterable[Fact]) -> Iterator[Finding]:
    """The same inputs go with other labels."""
    for fact in facts:
        found = fact.get("concept")
        if not found:
            continue
        yield Finding(
            says=f"What tells {fact['target']} in {fact['reference']} tells it less in {fact['current']}: the error of a plain fit goes from "
                 f"{shown(found['before'])} to {shown(found['after'])}" + (f", most of it along {found['column']}." if found["column"] else "."),
            place=place_of(fact, column=found["column"] or fact["target"], stage="monitor"),
            evidence=[("error on rows held back of the reference", shown(found["before"]), None),
                      ("error on the current rows", shown(found["after"]), shown(found["before"])),
                      ("error of a fit on the current rows themselves", shown(found["refitted"]), shown(found["after"])),
                      ("standard errors between", round(found["z"], 1), "< 5")],
            remedy="Fit again on rows since the change, or find which column means something else now.", severity="warning",
            confidence=0.85, verified={"how": "a fit on the reference and one on the current rows", "before": found["after"], "after": found["refitted"]},
        )  # fmt: skip


def types(facts: Iterable[Fact]) -> Iterator[Finding]:
    """A column is of another type."""
    for fact in facts:
        for c in fact["types"]:
            was, now = c["types"]
            yield Finding(
                says=f"{c['name']} is {was} in {fact['reference']} and {now} in {fact['current']}.",
                place=place_of(fact, column=c["name"], row=c["rows"], stage="ingest"), stage="ingest",
                evidence=[(f"type of {c['name']}", now, was), ("example", c["example"], None)],
                remedy=f"Read {c['name']} as {was} from both (dtype=, astype), and find the cells that are no {was}.", confidence=0.93, verified="fact",
                covers=("numeric-as-text", "covariate-drift"),
            )  # fmt: skip


def columns(facts: Iterable[Fact]) -> Iterator[Finding]:
    """Columns that one of the tables lacks."""
    for fact in facts:
        if fact["absent"]:
            alone = len(fact["absent"]) == 1 and not fact["target"]  # it may be the label, that is not known yet
            yield Finding(
                says=f"{fact['current']} lacks {len(fact['absent'])} of the columns of {fact['reference']}: {', '.join(fact['absent'][:6])}.",
                place=place_of(fact, column=one_or(fact["absent"][:50]), stage="ingest"), stage="ingest",
                evidence=[("columns that are not there", len(fact["absent"]), 0), ("columns only there", fact["added"][:10], [])],
                remedy="Write both tables by the same query, or rename the columns that were renamed.", confidence=0.95, verified="fact",
                severity="note" if alone else "error",
            )  # fmt: skip


def order(facts: Iterable[Fact]) -> Iterator[Finding]:
    """The same columns in another order: harmless by name, wrong by position."""
    for fact in facts:
        if fact["reordered"]:
            yield Finding(
                says=f"The columns of {fact['current']} stand in another order than in {fact['reference']}: by position they are other quantities.",
                place=place_of(fact, column=one_or(fact["reordered"][:50]), stage="ingest"), stage="ingest", severity="note",
                evidence=[("columns that stand elsewhere", len(fact["reordered"]), 0)], remedy="Take them by name: current[list(reference.columns)].",
                confidence=0.95, verified="fact",
            )  # fmt: skip


def its_own(c: dict[str, Any], value: Any) -> bool:
    """May the value be the table's own: its source, or its number in a count that goes on?"""
    if c["kind"] == "text":
        return value in c["new"]
    return isinstance(value, (int, float)) and value == int(value) and c["ref"]["max"] is not None and value > c["ref"]["max"]


def went_constant(facts: Iterable[Fact]) -> Iterator[Finding]:
    """A column that varies in one table and has one value in the other."""
    for fact in facts:
        for c in fact["columns"]:
            held = [v for v, n in zip(c.get("values") or [], c.get("cur_counts") or []) if n]
            flat = len(held) == 1 if "values" in c else c["cur"]["min"] is not None and c["cur"]["min"] == c["cur"]["max"]
            if not flat or c["cur"]["count"] - c["cur"]["missing"] < 20 or c["verdict"]["answer"] != DRIFTED or c["verdict"]["p"] > 1e-6:
                continue
            value = held[0] if held else c["cur"]["min"]
            yield Finding(
                says=f"{c['name']} is {value!r} in every row of {fact['current']}, and varies in {fact['reference']}.",
                place=place_of(fact, column=c["name"], stage="ingest"), severity="note" if its_own(c, value) else "warning",
                evidence=[(f"values of {c['name']}", 1, c["ref"]["distinct"] or "many"), ("rows", c["cur"]["count"], None)],
                remedy=f"Find what stopped measuring {c['name']} (a default, a stuck sensor, a filter), or fit without it.",
                confidence=0.93, verified="fact", covers=("covariate-drift",),
            )  # fmt: skip


def weight(value: Any, without: str) -> list[tuple[str, Any, Any]]:
    """What a small model scores with what leaks, and without it, where that was tried."""
    weighed = value.get("weighed")
    return [(f"{weighed['score']}, with and {without}", shown(weighed["before"]), shown(weighed["after"]))] if weighed else []


def tried(value: Any) -> dict[str, Any] | str:
    """How it is verified: by that trial, else by the rows themselves."""
    weighed = value.get("weighed")
    return {k: weighed[k] for k in ("how", "before", "after")} if weighed else "fact"


def shared_rows(facts: Iterable[Fact]) -> Iterator[Finding]:
    """Rows that stand in both parts."""
    for fact in facts:
        if fact["how"] == "rows" and fact["count"] >= max(3, 0.005 * fact["of"]):
            yield Finding(
                says=f"{fact['count']} of the {fact['of']} rows of {fact['current']} ({fact['count'] / fact['of']:.1%}) stand in {fact['reference']} too.",
                place=place_of(fact, row=fact["rows"], stage="preprocess"),
                evidence=[("rows in both tables", fact["count"], 0), (f"rows of {fact['current']}", fact["of"], None),
                          ("columns in which they are equal", fact["columns"], None), *weight(fact, "without them")],
                remedy="Cut both from one order of the rows, drop repeats before the cut, and drop these from the test rows.",
                severity="error" if fact["count"] >= 0.01 * fact["of"] else "warning", confidence=0.95, verified=tried(fact),
            )  # fmt: skip


def shared_groups(facts: Iterable[Fact]) -> Iterator[Finding]:
    """Groups that stand in both parts."""
    for fact in facts:
        if fact["how"] == "group" and fact["count"]:
            name = fact["column"]
            yield Finding(
                says=f"{fact['count']} of the {fact['of']} rows of {fact['current']} belong to a {name} that {fact['reference']} holds "
                     f"({fact['shared']} of {fact['groups']}).",
                place=place_of(fact, column=name, row=fact["rows"], stage="preprocess"),
                evidence=[("test rows whose group is in training", fact["count"], 0), (f"values of {name} in both", fact["shared"], 0),
                          (f"values of {name} in the test rows", fact["groups"], None)],
                remedy=f"Cut by {name}: GroupShuffleSplit(1, test_size=0.25).split(X, y, groups=table[{name!r}]).", confidence=0.95, verified="fact",
            )  # fmt: skip


def shared_times(facts: Iterable[Fact]) -> Iterator[Finding]:
    """Training rows that are later than the first test row."""
    for fact in facts:
        if fact["how"] == "time" and fact["count"]:
            name = fact["column"]
            yield Finding(
                says=f"{fact['count']} of the {fact['ref_rows']} rows of {fact['reference']} are later ({name}) than the first row of {fact['current']}: "
                     f"the model learns from what is to be forecast.",
                place=fact.place.but(file=fact.get("ref_file"), column=name, row=fact["rows"] or None, stage="preprocess"),
                evidence=[("training rows later than the first test row", fact["count"], 0), (f"first {name} of the test rows", fact["first"], None),
                          (f"last {name} of the training rows", fact["last"], f"before {fact['first']}")],
                remedy=f"Cut at one time: train = table[table[{name!r}] < cut], test = table[table[{name!r}] >= cut].", confidence=0.95, verified="fact",
            )  # fmt: skip
