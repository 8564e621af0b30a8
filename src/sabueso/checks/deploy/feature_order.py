"""feature-order."""

from __future__ import annotations

from collections.abc import Iterator

from ... import comparisons, served, stored_models
from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(
    stage="deploy",
    severity="error",
    leads_to=("covariate-drift", "concept-drift", "preprocess-skew", "unit-change", "label-drift", "dtype-changed"),
    instead=("tables_apart",),
)
def feature_order(
    inputs: list[Fact] = None, remembered: list[Fact] = None, *, tables_apart: list[Fact] = None, seen: float = 0.5, apart: float = 0.4, alike: float = 0.15
) -> Iterator[Finding]:
    """The columns are fed in another order than they were learnt in.

    What it means
    -------------
    A model was fitted on columns in one order and is asked with the same columns in another; a bare array carries no names to compare.

    Why it is bad
    -------------
    Each number is read as another quantity. Nothing fails, the answers are plausible and wrong.

    Evidence
    --------
    The order in which the fed columns stand, found by the values that each column held at fit (or by the distance of distributions): in
    their own places half of the values or more are strangers, in the places found they are not. Where both tables have names, these.

    Remedy
    ------
    Build the row by the names kept with the model: `[body[name] for name in columns]`.

    Fault
    -----
        import numpy as np
        from sklearn.linear_model import LinearRegression
        rng = np.random.default_rng(0)
        def patients(n):
            return np.column_stack([rng.integers(20, 80, n), rng.integers(90, 180, n), rng.uniform(18, 40, n)])
        past, now = patients(400), patients(60)
        model = LinearRegression().fit(past, past @ [0.2, 0.1, 0.5])
        for age, pressure, bmi in now:
            model.predict([[bmi, age, pressure]])  # sabueso: feature-order

    Control
    -------
        import numpy as np
        from sklearn.linear_model import LinearRegression
        rng = np.random.default_rng(0)
        def patients(n):
            return np.column_stack([rng.integers(20, 80, n), rng.integers(90, 180, n), rng.uniform(18, 40, n)])
        past, now = patients(400), patients(60)
        model = LinearRegression().fit(past, past @ [0.2, 0.1, 0.5])
        for age, pressure, bmi in now:
            model.predict([[age, pressure, bmi]])

    References
    ----------
    Breck et al., The ML test score, 2017.
    """
    yield from comparisons.order(tables_apart or ())
    yield from (stored_models.order(fact, c) for fact in remembered or [] for c in fact["columns"] if c["kind"] == "order")
    for fact in inputs or []:
        own, fed = fact.get("names"), fact.get("fed_names")
        if fact.get("named") and own and fed and own != fed and sorted(own) == sorted(fed):
            yield _finding(fact, [a for a, b in zip(own, fed) if a != b], own, fed, "the names of both tables", 1.0, 0.0)
            continue
        if fact.get("apart"):
            own, fed = fact["apart"]
            yield _finding(fact, [a for a, b in zip(own, fed) if a != b], own, fed, "the names of both tables", 1.0, 0.0)
            continue
        fields = served.fields(fact)
        if own and fields and own != fields and sorted(own) == sorted(fields):
            moved = [a for a, b in zip(own, fields) if a != b]
            if fact.get("named") or any(fact.get("derived") or ()) or {c["name"] for c in fact["columns"]} & set(moved):
                yield _finding(fact, moved, own, fields, "the requests' own fields", 1.0, 0.0)
                continue
        order = fact.get("order")
        if not order:
            continue
        strangers = order["seen_best"] - order["seen"] >= seen and order.get("alone", 1.0) >= 0.3  # lags of one series hold one another's values
        many = order["rows"] >= 50 or order["rows"] >= 20 and order["effect"] >= 1.5 and len(order["moved"]) > 2
        drifted = order["effect"] >= apart and order["effect_best"] < max(alike, 0.15 * order["effect"]) and many
        if strangers or drifted:
            found = [order["names"][j] for j in order["mapping"]]
            how = "values held at fit" if strangers else "distributions"
            best, now = (order["seen_best"], order["seen"]) if strangers else (order["effect_best"], order["effect"])
            yield _finding(fact, order["moved"], order["names"], found, how, best, now)


def _finding(fact: Fact, moved: list[str], own: list[str], found: list[str], how: str, best: float, now: float) -> Finding:
    return Finding(
        says=f"{fact['model']} learnt {', '.join(own[:8])} in this order and is fed {', '.join(found[:8])}: {len(moved)} of {len(own)} columns stand elsewhere",
        place=fact.place.but(line=fact.get("row_line") or fact.place.line, column=moved, row=0, stage="deploy"),
        evidence=[("order at fit", own[:20], None), ("order fed", found[:20], own[:20]),
                  (f"agreement by {how}, in the order found", round(best, 3), None),
                  (f"agreement by {how}, as fed", round(now, 3), None)],
        remedy="build the row by the names of the fit: [body[name] for name in columns], or give a DataFrame[columns]",
        confidence=0.95, verified="fact",
    )  # fmt: skip
