"""duplicate-rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ... import quality, row_uses
from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(stage="preprocess", severity="warning", leads_to=("overfitting",), instead=("table_seen",), interventions=("judged rows left out of the fit",))
def duplicate_rows(row_use: list[Fact], *, table_seen: list[Fact] | None = None, least: int = 8, share: float = 0.05) -> Iterator[Finding]:
    """The table holds rows more than once, and copies of one row stand in training and in evaluation.

    What it means
    -------------
    A file was appended or joined twice, a form sent twice. The split puts one copy here and another there.

    Why it is bad
    -------------
    The model has seen the judged row. The score rises by what it has learnt by heart.

    Evidence
    --------
    Judged rows with an equal training row, where the table itself repeats them. Tables of few coarse columns repeat rows by nature, so the
    repeated rows must be too rich for chance: their values' frequencies, columns taken as independent, must make any pair among the
    training rows less likely than one in a thousand (2 log2 n + 10 bits); or equal rows carry equal labels (95 %), where any two rows hardly
    ever do. Told from 5 % of the judged rows on.

    Remedy
    ------
    Drop the repeats before the split (`drop_duplicates()`), or split by what makes a row one (an id).

    Fault
    -----
        import numpy as np
        from sklearn.ensemble import ExtraTreesRegressor
        from sklearn.model_selection import train_test_split
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 6))
        y = X[:, 0] + rng.normal(size=300)
        again = np.concatenate([np.arange(300), rng.integers(0, 300, 150)])
        X, y = X[again], y[again]
        a, b, c, d = train_test_split(X, y, random_state=0)  # sabueso: duplicate-rows
        print(ExtraTreesRegressor(10, random_state=0).fit(a, c).score(b, d))

    Control
    -------
        import numpy as np
        from sklearn.ensemble import ExtraTreesRegressor
        from sklearn.model_selection import train_test_split
        rng = np.random.default_rng(0)
        X = rng.integers(0, 3, size=(300, 4))
        y = X[:, 0] + rng.normal(size=300)
        a, b, c, d = train_test_split(X, y, random_state=0)
        print(ExtraTreesRegressor(10, random_state=0).fit(a, c).score(b, d))

    References
    ----------
    Barz and Denzler, Do we train on test data? Purging CIFAR of near-duplicates (2020).
    """
    yield from quality.repeated(table_seen or ())
    for pair in row_use:
        twins = pair.get("eval_twins", 0)
        if pair["how"] == "folds" or not pair["supervised"] or not pair["exact"] or row_uses.made_twice(pair):
            continue
        natural = pair.get("twice", 0) <= 0.2 * pair["shared"] if pair.get("counted") else (pair.get("labels") or 0) < 0.2
        if not natural or twins < max(least, share * pair["eval_rows"]) or pair["shared"] == pair["train_distinct"]:
            continue
        need = 2 * np.log2(max(pair["train_rows"], 2)) + 10
        if pair.get("twin_bits", 0) < need and not copies(pair) or pair["shared"] >= 0.95 * pair["eval_distinct"]:
            continue
        stacked = pair.get("stacked")
        place = row_uses.part_place(pair)
        if stacked:
            place = place.but(file=stacked["file"], line=stacked["line"], column=stacked["column"])
        yield Finding(
            says=f"{twins} of the {pair['eval_rows']} judged rows have an equal row among the {pair['train_rows']} training rows: "
                 f"{pair.get('source') or 'the table'} holds rows more than once"
                 + (f", {stacked['repeated']} of them since the tables that are set one below the other share them." if stacked else "."),
            place=place.but(row=pair.get("repeats") or row_uses.rows_of(pair), stage="preprocess"),
            evidence=[("judged rows with an equal training row", twins, 0), ("judged rows", pair["eval_rows"], None),
                      ("bits of such a row (chance would need fewer)", pair["twin_bits"], round(float(need), 1)) if pair["twin_bits"] >= need else
                      ("equal training rows with one label", pair["twin_labels"][0], f"{pair['twin_labels'][1]}, as any two rows")],
            remedy="Drop the repeats before the split (drop_duplicates), or keep all copies of one row on one side.",
            confidence=0.75, verified="fact",
        )  # fmt: skip
        return


def copies(pair: Fact) -> bool:
    """Do equal rows carry equal labels too, of so many labels that any two rows hardly ever do, and are there far more of them than chance gives?"""
    same, any_two = pair.get("twin_labels") or (0.0, 1.0)
    chance = np.log2(max(pair["train_rows"], 2)) + np.log2(pair["eval_rows"] / max(pair["eval_twins"], 1))
    return bool(same > 0.95 and any_two < 0.05 and pair["twin_bits"] > chance + 5)
