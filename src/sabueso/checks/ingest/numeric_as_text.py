"""numeric-as-text."""

from __future__ import annotations

from collections.abc import Iterator

from ... import quality
from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(stage="ingest", severity="error", leads_to=("misaligned-labels", "unseen-category", "not-learning", "underfitting", "covariate-drift"))
def numeric_as_text(
    *, text_encoded: list[Fact] | None = None, text_order: list[Fact] | None = None, order_used: list[Fact] | None = None,
    crash: list[Fact] | None = None, table_seen: list[Fact] | None = None, ordered: float = 0.98,
) -> Iterator[Finding]:  # fmt: skip
    """Numbers are held as text, and are then ordered or encoded as words.

    What it means
    -------------
    A decimal comma, a unit or a stray word keeps a column from being read as numbers. As words they are one-hot encoded or ranked
    ('10,2' before '9,8'); a sequence number stored as text is sorted 1, 10, 100, 2.

    Why it is bad
    -------------
    The order of the values, which is what they say, is lost. Lags and windows taken in text order mix moments that are far apart.

    Evidence
    --------
    The share of texts that spell a number (at least 0.9, a fifth with decimals, so that codes and postcodes don't count) and the rank
    correlation of what they became with what they spell (1 for a cast). For an order: rows in text order of whole numbers,
    a numeric column whose steps between the neighbours that text order makes are 1.5 times those between true neighbours or more, and an
    operation that relies on the order; or the last row of each group, in the text order of what counts the group's rows.

    Remedy
    ------
    Read the column as numbers (`decimal=","`, `decimal_comma=True`, `astype(float)`, `cast(.. as integer)` in the query).

    Fault
    -----
        import numpy as np
        import pandas as pd
        from sklearn.linear_model import Ridge
        from sklearn.preprocessing import OrdinalEncoder
        rng = np.random.default_rng(0)
        km = rng.gamma(2.0, 20.0, 400)
        table = pd.DataFrame({"km": [f"{v:.1f}".replace(".", ",") for v in km], "cost": 3 + 0.4 * km})
        x = OrdinalEncoder().fit_transform(table[["km"]])  # sabueso: numeric-as-text
        print(Ridge().fit(x, table["cost"]).score(x, table["cost"]))

    Control
    -------
        import numpy as np
        import pandas as pd
        from sklearn.linear_model import Ridge
        rng = np.random.default_rng(0)
        km = rng.gamma(2.0, 20.0, 400)
        table = pd.DataFrame({"km": [f"{v:.1f}".replace(".", ",") for v in km], "cost": 3 + 0.4 * km})
        x = table[["km"]].apply(lambda c: c.str.replace(",", ".").astype(float))
        print(Ridge().fit(x, table["cost"]).score(x, table["cost"]))

    References
    ----------
    Hynes, Sculley, Terry: The Data Linter (NIPS ML systems workshop 2017), "number as string".
    """
    yield from quality.as_text(table_seen or ())
    encoded = [f for f in text_encoded or () if refusal(f, crash) or not f.get("refused") and (f["agreement"] is None or f["agreement"] < ordered)]
    yield from of_encoded(encoded)
    used = [f for f in order_used or ()]
    for fact in text_order or ():
        after = [f for f in used if f.order > fact.order]
        if fact.get("groups"):
            yield of_group(fact)
            return
        if fact["smooth"] and after:
            yield of_order(fact, after[0]["method"])
            return


def refusal(fact: Fact, crash: list[Fact] | None) -> bool:
    """Did the program end at a cell of this column that is no number to a step that measures?"""
    said = next((m for c in crash or () if "could not convert string to float" in (m := c.get("message", ""))), None)
    return bool(fact.get("refused") and said and any(repr(t) in said for t in (fact.get("odd") or fact["examples"])))


def of_encoded(facts: list[Fact]) -> Iterator[Finding]:
    """One finding for all columns that went on as words."""
    if not facts:
        return
    columns = list(dict.fromkeys(f["column"] for f in facts))
    worst = min(facts, key=lambda f: 2.0 if f["agreement"] is None else f["agreement"])
    place = worst.place.but(column=columns if len(columns) > 1 else columns[0], row=worst.get("rows") or None)
    if worst.get("read_line"):
        place = place.but(file=worst["read_file"], line=worst["read_line"])
    became = "refused" if worst.get("refused") else "given as words" if worst["agreement"] is None else "replaced by numbers that are not those spelt"
    cause = worst.get("cause")
    kept = f" ({cause})" if cause else f" (for {worst['others']})" if worst["others"] else ""
    evidence = [("texts that spell a number, share", worst["numeric_share"], "read as numbers"), ("examples", worst["examples"], "numbers")]
    if worst["agreement"] is not None:
        evidence.append(("rank correlation of the encoded column with the numbers", worst["agreement"], 1.0))
    evidence.append(("distinct words", worst["distinct"], None))
    if worst.get("count"):
        evidence.append((f"cells of {worst['column']} that are no plain number, such as {worst['odd'][0]!r}", worst["count"], 0))
    hint = "decimal=',' in pandas, decimal_comma=True in polars" if cause == "decimal comma" else "strip units, name the words for missing values (na_values)"
    yield Finding(
        says=f"Numbers in {', '.join(columns)} are read as text{kept} and {became} by {worst['how']}.",
        place=place, evidence=evidence, remedy=f"Read them as numbers: {hint}.", confidence=0.93, verified="fact",
    )  # fmt: skip


def of_order(fact: Fact, method: str) -> Finding:
    """Rows in text order under an operation that relies on their order."""
    series = fact["smooth"][0]
    return Finding(
        says=f"{fact['column']!r} holds whole numbers as text, so {fact['table']} is sorted {', '.join(fact['examples'][:3])}, ..., and {method} "
             f"takes neighbours in that order.",
        place=fact.place.but(column=fact["column"], row=fact["wrong"] or fact["first"]),
        evidence=[("first rows", fact["examples"], "1, 2, 3, .."), (f"typical step of {series['column']} between neighbours that text order makes",
                  round(series["made"], 4), round(series["true"], 4)), ("first row out of place", fact["first"], None)],
        remedy=f"Sort by the number: cast({fact['column']} as integer) in the query, or astype(int) before sort_values.",
        confidence=0.95, verified="fact",
    )  # fmt: skip


def of_group(fact: Fact) -> Finding:
    """The last row of each group, where last is meant of a number."""
    column, by, which = fact["column"], ", ".join(fact["by"]), "last" if fact["last"] else "first"
    taken, meant = fact["examples"]
    return Finding(
        says=f"{column!r} holds whole numbers as text, by which the rows of each {by} are sorted: of {fact['wrong_groups']} of {fact['groups']} groups "
             f"the {which} row is not the {which} ({column} {taken!r} where there is {meant}).",
        place=fact.place.but(column=column, row=fact["wrong"]),
        evidence=[(f"groups whose {which} row is another", fact["wrong_groups"], 0), ("groups", fact["groups"], None),
                  (f"{column} of the row taken", taken, meant)],
        remedy=f"Sort by the number: pl.col({column!r}).cast(pl.Int64), or astype(int) before sort_values.",
        confidence=0.96, verified="fact",
    )  # fmt: skip
