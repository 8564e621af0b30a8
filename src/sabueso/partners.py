"""Partners: rows that a join drops, beside what the same look-up does elsewhere, and how they differ from those that stay."""

from __future__ import annotations

from .events import Fact
from .findings import Finding


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
