"""missing-rate-drift."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ... import comparisons, drift
from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(stage="monitor", severity="warning", leads_to=("covariate-drift", "concept-drift", "missing-values", "label-drift"))
def missing_rate_drift(
    inputs: list[Fact] = None,
    remembered: list[Fact] = None,
    *,
    tables_apart: list[Fact] | None = None,
    rise: float = 0.2,
    times: float = 3.0,
    least: int = 10,
    weighty: float = 0.25,
) -> Iterator[Finding]:
    """A column is empty far more often than where the model was fitted.

    What it means
    -------------
    In later rows a column lacks values that it had at fit: a form, a sensor or a service upstream has changed.

    Why it is bad
    -------------
    An imputer fills one value in, so nothing fails, and the model goes on without that input.

    Evidence
    --------
    The share that is missing at fit and in the later rows (from the break on, where there is one), and the rows. Spoken where it rises by
    0.2 and threefold, beyond chance (p < 1e-6). Of a model read from a file the rate at fit is not known: spoken where most rows lack a
    column that carries at least a quarter of the mean weight, and no indicator tells the model of gaps.

    Remedy
    ------
    Ask where the column comes from since then; hold the rows back, or refit without the column.

    Fault
    -----
        import numpy as np
        import pandas as pd
        from sklearn.impute import SimpleImputer
        from sklearn.linear_model import LinearRegression
        from sklearn.pipeline import make_pipeline
        rng = np.random.default_rng(0)
        past, later = (pd.DataFrame(rng.normal(size=(300, 2)), columns=["score", "age"]) for _ in range(2))
        later.loc[rng.random(300) < 0.7, "score"] = np.nan
        model = make_pipeline(SimpleImputer(), LinearRegression()).fit(past, past["score"] + rng.normal(size=300))
        print(model.predict(later).mean())  # sabueso: missing-rate-drift

    Control
    -------
        import numpy as np
        import pandas as pd
        from sklearn.impute import SimpleImputer
        from sklearn.linear_model import LinearRegression
        from sklearn.pipeline import make_pipeline
        rng = np.random.default_rng(0)
        past, later = (pd.DataFrame(rng.normal(size=(300, 2)), columns=["score", "age"]) for _ in range(2))
        target = past["score"] + rng.normal(size=300)
        for part in (past, later):
            part.loc[rng.random(300) < 0.7, "score"] = np.nan
        model = make_pipeline(SimpleImputer(), LinearRegression()).fit(past, target)
        print(model.predict(later).mean())

    References
    ----------
    Breck et al., Data validation for machine learning, 2019.
    """
    yield from comparisons.missing(tables_apart or ())
    told: set[tuple[int, str]] = set()
    for fact in remembered or []:
        yield from (_filled(fact, c) for c in fact["columns"] if c["kind"] == "gaps" and not c["indicated"] and (c["weight"] or 0) >= weighty)
    for fact in inputs or []:
        for column in fact["columns"]:
            if column["kind"] == "type" or (fact["number"], column["name"]) in told or not column["cur"].get("missing"):
                continue
            ref, cur, since = column["ref"], column["cur"], column.get("missing_from")
            usual = ref["missing"] / max(ref["count"], 1)
            count = since["count"] if since else cur["count"]
            share = since["after"] if since else cur["missing"] / cur["count"]
            whole = cur["missing"] / cur["count"]
            if whole - usual < 0.25 * rise or drift.share(ref["missing"], ref["count"], cur["missing"], cur["count"]) > 1e-4:
                continue  # rows that are merely sorted: all together they lack no more than at fit
            if share - usual < rise or share < times * usual or share * count < least:
                continue
            if drift.share(ref["missing"], ref["count"], share * count, count) > 1e-6:
                continue
            told.add((fact["number"], column["name"]))
            name, rows = column["name"], column.get("missing_rows", [])
            first = f" from row {since['row']} on" if since and since["count"] < cur["count"] else ""
            yield Finding(
                says=f"{name} is missing in {share:.0%} of rows{first}; where {fact['model']} was fitted it was in {usual:.1%}",
                place=fact.place.but(column=name, row=rows or None, stage="monitor"),
                evidence=[(f"share of {name} missing at fit", round(usual, 4), None),
                          (f"share of {name} missing{first or ' now'}", round(share, 4), round(usual, 4)),
                          (f"rows that lack {name}", cur["missing"], None), ("rows fed", fact["rows"], None)],
                remedy=f"find what stopped filling {name}; until then refit without it or hold these rows back", confidence=0.92,
                verified="fact",
            )  # fmt: skip


def _filled(fact: Fact, c: dict[str, Any]) -> Finding:
    name, share = c["column"], c["count"] / c["of"]
    return Finding(
        says=f"{name} is missing in {share:.0%} of rows: the {c['filler']} of the stored {fact['model']} makes them all one value, and {name} weighs in it",
        place=fact.place.but(column=name, row=c["rows"], stage="monitor"),
        evidence=[(f"share of {name} missing", round(share, 4), "< 0.5"), (f"rows that lack {name}", c["count"], None),
                  ("filled in", c["fill"], None), (f"weight of {name}, of the mean of all columns", round(c["weight"], 2), "< 0.25")],
        remedy=f"find what stopped filling {name}; until then hold these rows back or use a model without it", confidence=0.8, verified="fact",
    )  # fmt: skip
