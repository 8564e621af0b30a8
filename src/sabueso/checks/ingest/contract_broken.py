"""contract-broken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...catalogue import check
from ...comparisons import place_of
from ...events import Fact
from ...findings import Finding

WORDS = {
    "rows": "has fewer rows than promised", "there": "is not there", "extra": "is not in the contract", "type": "is of another type",
    "missing": "is missing more often than promised", "range": "lies outside its range", "values": "has values that are not listed",
    "unique": "repeats values that must be unique",
}  # fmt: skip


@check(stage="ingest", severity="error", leads_to=("covariate-drift", "new-category", "unseen-category", "missing-rate-drift", "dtype-changed"))
def contract_broken(broken_rules: list[Fact]) -> Iterator[Finding]:
    """A table is not what its contract says.

    What it means
    -------------
    A rule that a person wrote down, or that was inferred from an earlier table and kept, does not hold: a type, a range, listed values, a
    share of gaps, uniqueness, a column that must be there.

    Why it is bad
    -------------
    What is built on the promise goes wrong silently.

    Evidence
    --------
    What was promised and what is there, with the rows that break it; exact, over all rows.

    Remedy
    ------
    Mend the rows where they are made, or edit the rule if the promise has changed.

    Fault
    -----
        from sabueso.events import Fact
        from sabueso.places import Place
        from sabueso.runs import Run
        broken = {"column": "age", "rule": "range", "expected": [0, 120], "seen": [-3.0, 77.0], "count": 2, "rows": [7, 31], "example": -3.0}
        value = {"table": "new.parquet", "rows": 400, "broken": [broken]}
        run = Run(facts=[Fact("broken_rules", value, Place(file="new.parquet", stage="ingest"))])

    Control
    -------
        from sabueso.events import Fact
        from sabueso.places import Place
        from sabueso.runs import Run
        value = {"table": "new.parquet", "rows": 400, "broken": []}
        run = Run(facts=[Fact("broken_rules", value, Place(file="new.parquet", stage="ingest"))])

    References
    ----------
    Breck et al., Data validation for machine learning, 2019.
    """
    for fact in broken_rules:
        for b in fact["broken"]:
            yield _told(fact, b)


def _told(fact: Fact, b: dict[str, Any]) -> Finding:
    name = b["column"] or fact["table"]
    example = [("example", b["example"], None)] if b["example"] is not None else []
    return Finding(
        says=f"{name} {WORDS[b['rule']]} in {fact['table']}" + (f": {b['count']} of {fact['rows']} rows." if b["count"] else "."),
        place=place_of(fact, column=b["column"] or [], row=b["rows"], stage="ingest"),
        evidence=[(f"{b['rule']} of {name}", b["seen"], b["expected"]), ("rows that break the rule", b["count"], 0), *example],
        remedy="Mend these rows where they are made, or edit the rule in the contract.", confidence=0.97, verified="fact",
    )  # fmt: skip
