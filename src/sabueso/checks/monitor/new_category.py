"""new-category."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import comparisons, drift
from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(stage="monitor", severity="warning", leads_to=("covariate-drift", "concept-drift", "label-drift"))
def new_category(
    inputs: list[Fact] = None,
    remembered: list[Fact] = None,
    *,
    tables_apart: list[Fact] | None = None,
    least_share: float = 0.02,
    least: int = 5,
    sure: float = 1e-6,
    much: float = 0.1,
    harmless: float = 1.05,
) -> Iterator[Finding]:
    """Later rows hold categories that the model has never met, and far more of them than a long tail explains.

    What it means
    -------------
    A value of a text column appears that was not there at fit: a new carrier, another spelling of a known one.

    Why it is bad
    -------------
    An encoder that ignores unknown values makes all of them zeros (or the rare bin): the column falls silent for these rows.

    Evidence
    --------
    The new values with their rows, held against how many new ones the values met once at fit would lead to expect (Good-Turing): spoken at two
    rows in a hundred and p < 1e-6, unless the truth of these rows is known and they are answered as well as the others. Of a model read from a
    file only the encoder's categories are known: spoken of other spellings of them at two rows in a hundred, of a wholly new one from a tenth
    of the rows on.

    Remedy
    ------
    Bring spellings together where the table is read; fit again with rows of new kinds.

    Fault
    -----
        import numpy as np
        import pandas as pd
        from sklearn.linear_model import Ridge
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder
        rng = np.random.default_rng(0)
        past = pd.DataFrame({"carrier": rng.choice(["post", "bike", "van"], 400)})
        later = pd.DataFrame({"carrier": rng.choice(["post", "bike", "van", "drone"], 200)})
        model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), Ridge()).fit(past, (past["carrier"] == "van") * 2.0 + 1)
        print(model.predict(later).mean())  # sabueso: new-category

    Control
    -------
        import numpy as np
        import pandas as pd
        from sklearn.linear_model import Ridge
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder
        rng = np.random.default_rng(0)
        streets = [f"s{i}" for i in range(300)]
        weight = 1 / np.arange(1, 301)
        past, later = (pd.DataFrame({"street": rng.choice(streets, n, p=weight / weight.sum())}) for n in (600, 200))
        model = make_pipeline(OneHotEncoder(handle_unknown="ignore", min_frequency=5), Ridge()).fit(past, past["street"].str.len() * 1.0)
        print(model.predict(later).mean())

    References
    ----------
    Good, The population frequencies of species and the estimation of population parameters, 1953.
    """
    yield from comparisons.category(tables_apart or (), "period")
    told: set[tuple[int, str]] = set()
    for fact in remembered or []:
        for column in fact["columns"]:
            if column["kind"] == "levels" and column["count"] >= max(least, least_share * column["of"]) and _clear(column, much):
                yield _spelt(fact, column)
    for fact in inputs or []:
        for column in fact["columns"]:
            if not column.get("new") or (fact["number"], column["name"]) in told:
                continue
            rows = column["cur"]["count"]
            p = drift.unseen(np.array(column["ref_counts"], float), np.array(column["cur_counts"], float))
            if column["new_count"] < max(least, least_share * rows) or p > sure or max(column["new"].values()) < least:
                continue
            told.add((fact["number"], column["name"]))
            missed = column.get("missed")
            if missed and missed[0] <= harmless * missed[1]:
                continue  # the truth is known: these rows are answered as well as the others
            yield _finding(fact, column, rows, p)


def _clear(column: dict[str, Any], much: float) -> bool:
    """Another spelling of a known level is; a new one is where it is common, there are few levels and the unknown have no bin."""
    if column["alike"]:
        return True
    return not column["pooled"] and column["known"] <= 50 and max(column["new"].values()) >= max(10, much * column["of"])


def _spelt(fact: Fact, column: dict[str, Any]) -> Finding:
    name, alike, new = column["column"], column["alike"], column["new"]
    what = "; ".join(f"{ascii(v)} for {ascii(k)}" for v, k in list(alike.items())[:4]) or ", ".join(map(repr, list(new)[:4]))
    return Finding(
        says=f"{column['count']} of {column['of']} rows have a {name} that the {column['encoder']} of the stored model never met: {what}",
        place=fact.place.but(column=name, row=column["rows"], stage="monitor"),
        evidence=[(f"rows with a new {name}", column["count"], 0), (f"new values of {name}", new, {}), (f"values of {name} at fit", column["known"], None)],
        remedy=f"bring {name} to the spelling of the fit where it is read" if alike else f"fit again with rows of the new {name}",
        confidence=0.92 if alike else 0.8, verified="fact",
    )  # fmt: skip


def _finding(fact: Fact, column: dict[str, Any], rows: int, p: float) -> Finding:
    name, new = column["name"], list(column["new"])
    return Finding(
        says=f"{column['new_count']} of {rows} rows have a {name} that {fact['model']} never met: {', '.join(map(repr, new[:4]))}",
        place=fact.place.but(column=name, row=column["new_rows"], stage="monitor"),
        evidence=[(f"rows with a new {name}", column["new_count"], f"about {round(column['once'] / max(column['ref']['count'], 1) * rows)}"),
                  (f"new values of {name}", dict(list(column["new"].items())[:5]), {}),
                            ("p of so many by a long tail", float(f"{p:.2g}"), "> 1e-6")],
        remedy=f"bring spellings of {name} together where it is read, or fit again with these rows", confidence=0.88, verified="fact",
    )  # fmt: skip
