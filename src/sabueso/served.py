"""Served: what the requests of `inputs` say of the rows that they were made into."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .derivation import Derived, by_request, otherwise
from .events import Fact
from .findings import Finding
from .shifts import BASES, SIDES, shown


def fields(fact: Fact) -> list[str] | None:
    """The field of the requests that stands in each column of the rows made of them; None where that is not told by the values."""
    raws = fact.get("requests") or []
    if len(raws) < 3:
        return None
    held = _of_values(fact) or _of_lines(fact)
    return held if held is not None and len(set(held)) == len(held) else None


def _of_values(fact: Fact) -> list[str] | None:
    """By equal values, as 32-bit floats: networks have no others."""
    raws, rows, found = fact["requests"], fact["request_rows"], []
    for j in range(len(rows[0])):
        fits = [f for f in raws[0] if all(_equal(r.get(f), row[j]) for r, row in zip(raws, rows))]
        if len(fits) != 1:
            return None
        found.append(fits[0])
    return found


def _of_lines(fact: Fact) -> list[str] | None:
    """By columns that are derived of a field, a standardised one for example."""
    of: dict[int, list[str]] = {}
    for j, found, _, _ in by_request(fact["requests"], fact["request_rows"]):
        of.setdefault(j, []).append(found[0].name)
    width = len(fact["request_rows"][0])
    return [of[j][0] for j in range(width)] if all(len(of.get(j, ())) == 1 for j in range(width)) else None


def _equal(a: object, b: object) -> bool:
    numbers = isinstance(a, (int, float)) and isinstance(b, (int, float))
    return bool(a == b or numbers and np.float32(a) == np.float32(b))  # type: ignore[call-overload]


def prepared_otherwise(fact: Fact) -> Iterator[Finding]:
    """Fields that the service makes into a column by another function than the rows of the fit were made by."""
    if not fact.get("requests") or not any(fact.get("derived") or ()):
        return
    learnt = [[Derived(*d) for d in mine] for mine in fact["derived"]]
    refs = {c["index"]: c["ref"] for c in fact["columns"] if c["kind"] == "number"}
    found = otherwise(learnt, fact["requests"], fact["request_rows"], refs)
    if not found:
        return
    first, names = found[0], [f.now.name for f in found]
    raw, usual, now = (shown(v) for v in first.example)
    how = (first.fit.form or "own value", first.now.form or "own value")
    what = f"is made of its {how[1]} here and of its {how[0]} there" if how[0] != how[1] else "is scaled otherwise here than there"
    if all(h.startswith("logarithm") for h in how) and (based := rebased_by(first.now.slope / first.fit.slope)):
        what = f"is a logarithm {based[1]} here and one {based[0]} there"
    yield Finding(
        says=f"the service prepares {', '.join(names)} otherwise than the rows that {fact['model']} learnt: {names[0]} {what}",
        place=fact.place.but(line=fact.get("row_line") or fact.place.line, column=names, row=0, stage="deploy"),
        evidence=[(f"what {names[0]} = {raw} of one request reaches the model as", now, usual),
                  ("distance of both, in standard deviations of the fit", shown(first.off), 0),
                  ("requests whose row follows exactly from the field", first.rows, None)],
        remedy=f"prepare {', '.join(names)} by the very function that the fit used", confidence=0.95, verified="fact",
        covers=("covariate-drift", "unit-change"),
    )  # fmt: skip


def rebased_by(ratio: float) -> tuple[str, str] | None:
    """The bases of two logarithms, at fit and here, of which the second is so many times the first."""
    return next(((a, b) for a, b in SIDES if abs(ratio * np.log(BASES[b]) / np.log(BASES[a]) - 1) < 1e-3), None)
