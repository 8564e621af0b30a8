"""dtype-changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ... import comparisons, stored_models
from ...catalogue import check
from ...derivation import number
from ...events import Fact
from ...findings import Finding
from ...skews import went_round, wrapped_number, wrapped_weights


@check(
    stage="deploy", severity="error", instead=("tables_apart", "unsigned_difference"),
    leads_to=("covariate-drift", "preprocess-skew", "unseen-category", "new-category", "label-drift", "unit-change"),
)  # fmt: skip
def dtype_changed(
    inputs: list[Fact] = None, remembered: list[Fact] = None, fed_twice: list[Fact] = None, integers_wrapped: list[Fact] = None,
    *, tables_apart: list[Fact] | None = None, unsigned_difference: list[Fact] | None = None, least: int = 8,
) -> Iterator[Finding]:  # fmt: skip
    """A value changes its type, and its meaning with it, on the way to the model.

    What it means
    -------------
    Values arrive as text and are turned into what they are not: `bool("False")` is True, `int(2.7)` is 2, the category 1 is not "1".

    Why it is bad
    -------------
    Different values become one, or known ones unknown; nothing fails.

    Evidence
    --------
    Of a request: fields of one name with different texts that reach the model as one number, or numbers that lose their fraction. Of rows given
    twice: a column off by multiples of 2**16 (or 8, 32). Of stored integers: rounded multiples of weights, once some are put back by 2**8 (or 16).
    Of pictures: differences of two arrays without a sign that lie below zero, and come out near the top of the type.
    Of tables: text at fit that comes as numbers (or the other way) and matches nothing.

    Remedy
    ------
    Parse each field by its meaning: `value == "True"`, `float(value)`, `str(value)`.

    Fault
    -----
        import numpy as np
        from flask import Flask, request
        from sklearn.tree import DecisionTreeRegressor
        rng = np.random.default_rng(0)
        x = np.column_stack([rng.integers(1, 6, 300), rng.random(300) < 0.4])
        model = DecisionTreeRegressor().fit(x, 100 * x[:, 0] + 50 * x[:, 1])
        app = Flask("rent")
        @app.get("/rent")
        def rent():
            row = [int(request.args["beds"]), bool(request.args["pool"])]
            return {"rent": float(model.predict([row])[0])}  # sabueso: dtype-changed
        client = app.test_client()
        for beds, pool in x[:40]:
            client.get("/rent", query_string={"beds": beds, "pool": bool(pool)})

    Control
    -------
        import numpy as np
        from flask import Flask, request
        from sklearn.tree import DecisionTreeRegressor
        rng = np.random.default_rng(0)
        x = np.column_stack([rng.integers(1, 6, 300), rng.random(300) < 0.4])
        model = DecisionTreeRegressor().fit(x, 100 * x[:, 0] + 50 * x[:, 1])
        app = Flask("rent")
        @app.get("/rent")
        def rent():
            row = [int(request.args["beds"]), request.args["pool"] == "True"]
            return {"rent": float(model.predict([row])[0])}
        client = app.test_client()
        for beds, pool in x[:40]:
            client.get("/rent", query_string={"beds": beds, "pool": bool(pool)})

    References
    ----------
    Python documentation, Truth value testing.
    """
    yield from (wrapped_weights(fact) for fact in integers_wrapped or [])
    yield from (f for fact in fed_twice or [] if (f := wrapped_number(fact)) is not None)
    yield from (went_round(fact) for fact in unsigned_difference or [])
    yield from comparisons.types(tables_apart or ())
    yield from (stored_models.kind(fact, c) for fact in remembered or [] for c in fact["columns"] if c["kind"] == "type")
    for fact in inputs or []:
        found = list(_requests(fact, least)) if fact.get("requests") else []
        if found:
            yield _told(fact, found)
        for column in fact["columns"]:
            if column["kind"] == "type" and column["types"][0] == "text":
                yield _types(fact, column)


def _requests(fact: Fact, least: int) -> Iterator[tuple[str, str, list[Any], Any]]:
    """(column, what happens, texts, value) of fields whose difference is lost on the way."""
    few = {c["index"]: dict(map(tuple, c.get("ref_few") or [])) for c in fact["columns"] if c["kind"] == "number"}
    for j, name in _fields(fact).items():
        pairs = [(raw[name], row[j]) for raw, row in zip(fact["requests"], fact["request_rows"]) if name in raw and j < len(row)]
        texts, values = sorted({str(t) for t, _ in pairs}), {v for _, v in pairs}
        if len(pairs) < least or len(texts) < 2:
            continue
        if len(values) == 1 and len(few.get(j, ())) >= 2:
            yield name, "become one value", texts[:5], next(iter(values))
        numbers = [(t, v, number(t)) for t, v in pairs if isinstance(v, (int, float))]
        lost = [(t, v) for t, v, x in numbers if x is not None and x != v and int(x) == v]
        if len(lost) >= 0.5 * len(pairs):
            yield name, "lose their fraction", [str(t) for t, _ in lost[:5]], [v for _, v in lost[:5]]


def _fields(fact: Fact) -> dict[int, str]:
    """Columns by the request's field that they are of: the same name, else equal numbers, else what is left in the same order."""
    raws, rows = fact["requests"], fact["request_rows"]
    fields = [f for f in raws[0] if all(f in r for r in raws)]
    named = {j: n for j, n in enumerate(fact.get("names") or []) if n in fields}
    if named or not rows:
        return named
    found: dict[int, str] = {}
    for f in fields:
        numbers = [number(r[f]) for r in raws]
        same = [j for j in range(len(rows[0])) if j not in found and None not in numbers and all(row[j] == v for row, v in zip(rows, numbers))]
        if len(same) == 1:
            found[same[0]] = f
    left, free = [f for f in fields if f not in found.values()], [j for j in range(len(rows[0])) if j not in found]
    return found | (dict(zip(free, left)) if len(left) == len(free) else {})


def _told(fact: Fact, found: list[tuple[str, str, list[Any], Any]]) -> Finding:
    name, what, texts, value = found[0]
    return Finding(
        says=f"the values of {name} {what} on the way to {fact['model']}: {', '.join(map(repr, texts))} reach it as {value}",
        place=fact.place.but(column=[f[0] for f in found], row=0, stage="deploy"),
        evidence=[(f"{n} in the requests", t, None) if i % 2 == 0 else (f"{n} in the model's rows", v, "as many values")
                  for n, _, t, v in found[:2] for i in range(2)],
        remedy=f'parse it by its meaning, as in {name} == "True" or float({name})', confidence=0.95, verified="fact",
    )  # fmt: skip


def _types(fact: Fact, column: dict[str, Any]) -> Finding:
    return Finding(
        says=f"{column['name']} was text where {fact['model']} was fitted and is a number here: none of its values is known",
        place=fact.place.but(column=column["name"], row=column.get("rows") or None, stage="deploy"),
        evidence=[(f"type of {column['name']} at fit", "text", None), (f"type of {column['name']} as fed", "number", "text"),
                  ("example", column["example"], None)],
        remedy=f'make it text before: {column["name"]}.astype(str)', confidence=0.85, verified="fact",
    )  # fmt: skip
