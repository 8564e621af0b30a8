"""Partners: rows that a join drops, beside what the same look-up does elsewhere, and how they differ from those that stay."""

from __future__ import annotations

from typing import Any

from .events import Fact
from .findings import Finding


def nothing_found(joins: list[Fact], used: list[Fact]) -> list[tuple[Fact, Fact, dict[str, Any]]]:
    """Look-ups that found none of their keys though all are there in another spelling, with the fit that came next and its columns of one value.

    Of a column that is empty in every row the value is None.
    """
    found = []
    for join in joins:
        repair = join.get("repair") if not found_later(join, joins) else None
        if join["how"] in ("map", "code") and repair and join["unmatched_left"] == join["left_rows"] and repair["rows"] >= 0.5 * join["left_rows"]:
            fits = (
                (f, {**{c: None for c, n in (f.get("gaps") or {}).items() if n == f["rows"]}, **(f.get("constant") or {})})
                for f in used
                if f.order > join.order
            )
            fit, columns = next(((f, c) for f, c in fits if c), (None, {}))
            if fit is not None:
                found.append((join, fit, columns))
    return found


def found_later(join: Fact, joins: list[Fact]) -> bool:
    """Was the same look-up made once more, in a spelling that finds them all?"""
    return join["how"] in ("map", "code") and any(
        j["how"] == join["how"] and j.order > join.order and not j["unmatched_left"]
        and (j["left_rows"], j["right_rows"]) == (join["left_rows"], join["right_rows"]) for j in joins
    )  # fmt: skip


def kept_elsewhere(join: Fact, joins: list[Fact], share: float = 0.05) -> Finding | None:
    """An inner join that drops rows of a kind that the same look-up keeps elsewhere, for the rows to be answered."""
    lost, rows = join["unmatched_left"], join["left_rows"]
    if join["how"] != "inner" or join.get("repair") or lost < max(20, share * rows) or not join.get("selective"):
        return None
    same = [j for j in joins if j["how"] == "left" and j["on"] == join["on"] and j["right_rows"] == join["right_rows"] and j.place.line != join.place.line]
    other = next((j for j in same if j["unmatched_left"] >= 0.3 * lost / rows * j["left_rows"] and j["left_rows"] >= 20), None)
    if other is None:
        return None
    first = join["selective"][0]
    return Finding(
        says=f"{lost} of {rows} rows have no partner in the inner join on {join['on'][0]!r} and vanish; the join with the same table on line "
             f"{other.place.line} keeps such rows ({other['unmatched_left']} of {other['left_rows']}), and they differ in {first['column']!r}.",
        place=join.place.but(column=join["on"][0], row=join.get("unmatched_rows")),
        evidence=[("rows without partner", lost, 0), ("rows without partner that the other join keeps", other["unmatched_left"], other["left_rows"]),
                  *differences(join)],
        remedy="Join both with how='left' and fill what is missing alike.",
        confidence=0.85, verified="fact", covers=("missing-rate-drift", "covariate-drift", "label-drift", "unit-change", "new-category"),
    )  # fmt: skip


def differences(fact: Fact) -> list[tuple[str, object, object]]:
    """How the rows that go differ from those that stay, for the evidence."""
    return [(f"{d['column']}{' = ' + d['level'] if 'level' in d else ''}, lost rows", d["lost"], d["kept"]) for d in (fact.get("selective") or ())[:2]]
