"""unseen-category."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ... import comparisons, quality
from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(stage="preprocess", severity="error", leads_to=("new-category", "covariate-drift", "label-drift", "concept-drift"))
def unseen_category(
    *, tables_apart: list[Fact] | None = None, table_seen: list[Fact] | None = None, spelling: list[Fact] | None = None,
    table_join: list[Fact] | None = None, crash: list[Fact] | None = None, least: float = 0.01,
) -> Iterator[Finding]:  # fmt: skip
    """Rows carry a category that was not learnt: a new one that an encoder refuses, or a known one in another spelling.

    What it means
    -------------
    The table that the model is applied to holds levels that the training table lacks. Often they look the same: a letter with a
    combining mark in place of one character, a blank at the end, another case.

    Why it is bad
    -------------
    An encoder refuses them, or they all fall into the bin of the unknown, whose value was learnt from a handful of rows.

    Evidence
    --------
    For a spelling: levels of a text column that an earlier table with that column lacks as they are written and has once composed (NFC),
    stripped or brought to one case; at least 10 rows and 1 per cent. Where the program's own text sees to that, nothing is said.
    For a numbering of levels by hand (`.map({level: number})`): rows whose level has no number and would have one under one change of
    spelling (1 per cent of the rows, half of those without). For a refusal: the exception's own list of categories and its column.

    Remedy
    ------
    Normalise the text where it is read (`unicodedata.normalize("NFC", s).strip()`); train with the new level, or have the encoder ignore it.

    Fault
    -----
        import numpy as np
        import pandas as pd
        from sklearn.preprocessing import OneHotEncoder
        rng = np.random.default_rng(0)
        before = pd.DataFrame({"carrier": rng.choice(["Paloma", "Zunzun"], 300)})
        after = pd.DataFrame({"carrier": rng.choice(["Paloma", "Zunzun", "Tortuga"], 100)})
        encoder = OneHotEncoder().fit(before[["carrier"]])
        encoder.transform(after[["carrier"]])  # sabueso: unseen-category

    Control
    -------
        import numpy as np
        import pandas as pd
        from sklearn.preprocessing import OneHotEncoder
        rng = np.random.default_rng(0)
        before = pd.DataFrame({"carrier": rng.choice(["Paloma", "Zunzun"], 300)})
        after = pd.DataFrame({"carrier": rng.choice(["Paloma", "Zunzun"], 100)})
        encoder = OneHotEncoder().fit(before[["carrier"]])
        encoder.transform(after[["carrier"]])

    References
    ----------
    Unicode Standard Annex 15, Normalization Forms.
    """
    yield from comparisons.category(tables_apart or (), "split")
    yield from quality.spellings(table_seen or ())
    yield from (spelt(f) for f in (spelling or ())[:1])
    yield from (f for join in table_join or () if join["how"] == "code" and not spelling and (f := unnumbered(join, least)))
    for fact in crash or ():
        match = re.search(r"Found unknown categories (\[.*?\]) in column (\d+)", fact.get("message", ""))
        if match:
            yield refused(fact, match.group(1), int(match.group(2)))


def spelt(fact: Fact) -> Finding:
    """Known levels in another spelling."""
    column = fact["column"]
    return Finding(
        says=f"{fact['count']} of {fact['of']} rows of {fact['table']} write {column} {fact['written']} where {fact['earlier']} has {fact['known_as']}: "
             f"to a program they are {fact['levels']} other levels.",
        place=fact.place.but(column=column, row=fact["rows"], stage="deploy"), stage="deploy",
        evidence=[(f"rows of {fact['table']} whose {column} is not in {fact['earlier']} as written", fact["count"], 0),
                  (f"of their {fact['levels']} levels known once {fact['how']}", fact["levels"], 0),
                  ("written, and known as", [fact["written"], fact["known_as"]], "equal")],
        remedy=f"Bring {column} into one spelling where it is read ({fact['how']}), in both tables.",
        confidence=0.94, verified="fact",
    )  # fmt: skip


def unnumbered(join: Fact, least: float) -> Finding | None:
    """Levels that a numbering does not hold as they are written."""
    repair, lost, rows, column = join.get("repair"), join["unmatched_left"], join["left_rows"], join["on"][0]
    if not repair or repair["rows"] < max(3, least * rows, 0.5 * lost):
        return None
    return Finding(
        says=f"{lost} of {rows} rows hold a {column} that has no number here: {repair['left']!r} is numbered as {repair['right']!r}, "
             "so that these rows go on as an unknown category.",
        place=join.place.but(column=column, row=join.get("unmatched_rows")),
        evidence=[("rows whose level has no number", lost, 0), (f"of them numbered once {repair['how']}", repair["rows"], 0),
                  ("levels numbered", join["right_keys"], None), ("written, and numbered as", [repair["left"], repair["right"]], "equal")],
        remedy=f"Bring {column} into one spelling before it is numbered ({repair['how']}), where the numbering is made too.",
        confidence=0.95, verified="fact", covers=("rows-lost",),
    )  # fmt: skip


def refused(fact: Fact, categories: str, index: int) -> Finding:
    """An encoder that met a level it was not fitted on."""
    inner = [g for g in (fact.get("inner") or {}).get("given", ()) if g.get("columns")]
    columns = inner[0]["columns"] if inner else []
    column = columns[index] if index < len(columns) else str(index)
    where = next((m for o in fact.get("operands", ()) if column in (o.get("columns") or ()) for m in o.get("made", ())), None)
    made = [("the rows come from line", where["line"], None)] if where else []
    return Finding(
        says=f"The encoder of {column!r} meets {categories}, which the rows that it was fitted on never had, and refuses.",
        place=fact.place.but(column=column, estimator=(fact.get("features") or {}).get("estimator") or "OneHotEncoder", stage="deploy"), stage="deploy",
        evidence=[("categories never met in fit", categories, "[]"), ("column", column, None), *made],
        remedy="Fit on data that holds every category to come, or set handle_unknown='ignore' (or 'infrequent_if_exist') and watch how often it happens.",
        confidence=0.94, verified="fact", covers=("shape-mismatch",),
    )  # fmt: skip
