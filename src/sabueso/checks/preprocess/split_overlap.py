"""split-overlap."""

from __future__ import annotations

from collections.abc import Iterator

from ... import comparisons, row_uses
from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(
    stage="preprocess",
    severity="error",
    leads_to=("tested-on-train", "duplicate-rows", "group-leakage"),
    instead=("rows_shared",),
    interventions=("judged rows left out of the fit",),
)
def split_overlap(row_use: list[Fact], *, rows_shared: list[Fact] | None = None, least: int = 3, share: float = 0.01) -> Iterator[Finding]:
    """Rows of the evaluation are training rows as well: the two parts were not cut apart.

    What it means
    -------------
    Training and evaluation rows were drawn from one table in two steps that don't know of each other: slices that reach over each other,
    two independent samples, stored lists of ids with common members.

    Why it is bad
    -------------
    A model knows the answers of rows that it was fitted on. The score rises with the overlap and says little of new rows.

    Evidence
    --------
    Rows are known by their content and by where they stand in their table. A row counts as shared if training and evaluation hold it more
    often together than its table does, so that natural repeats don't count. Spoken of from 1 % of the evaluation's rows (at least three)
    on, where either side has rows that the other lacks and the same model has no evaluation on rows of its own; or where the shared rows are the
    end of one part and the beginning of the other in one shuffled order; or where a split ran twice on one line, the model learnt from the parts
    of the one and is judged by those of the other, from which nothing learnt.

    Remedy
    ------
    Cut the parts from one permutation (`train, test = rows[:n], rows[n:]`), or take what is left: `test = table.drop(train.index)`.

    Fault
    -----
        import numpy as np
        from sklearn.tree import DecisionTreeRegressor
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 4))
        y = X[:, 0] + rng.normal(size=400)
        order = rng.permutation(400)
        model = DecisionTreeRegressor().fit(X[order[:300]], y[order[:300]])
        late = order[200:]  # sabueso: split-overlap
        print(model.score(X[late], y[late]))

    Control
    -------
        import numpy as np
        from sklearn.tree import DecisionTreeRegressor
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 4))
        y = X[:, 0] + rng.normal(size=400)
        order = rng.permutation(400)
        model = DecisionTreeRegressor().fit(X[order[:300]], y[order[:300]])
        late = order[300:]
        print(model.score(X[late], y[late]))

    References
    ----------
    Kapoor and Narayanan, Leakage and the reproducibility crisis in machine-learning-based science (2023), L1.1.

    Known limits
    ------------
    Rows that were changed by hand between table and fit are known only where most of their columns are unchanged.
    """
    yield from comparisons.shared_rows(rows_shared or ())
    judged = row_uses.cleanly_judged(row_use)
    for pair in row_use:
        twice = pair.get("twice", 0)
        if pair["how"] == "folds" or not pair["supervised"] or twice < max(least, share * pair["eval_distinct"]):
            continue
        if pair["fit"] in judged and not (pair.get("split_again") or pair.get("run_over")):
            continue
        within = pair["shared"] in (pair["eval_distinct"], pair["train_distinct"])
        if within or not pair["exact"] or row_uses.made_twice(pair) or not same_rows(pair):
            continue
        yield told(pair)
        return


def same_rows(pair: Fact) -> bool:
    """Are they the same rows, and not just equal ones? By the table's count, by index labels, or by values too rich for chance."""
    if pair["counted"]:
        return True
    return (pair.get("labels") or 0) > 0.8


def told(pair: Fact) -> Finding:
    """The finding of one pair."""
    part, source, again = pair.get("part"), pair.get("source"), pair.get("split_again")
    name = f"{part['name']!r}" if part else "the evaluation"
    share = pair["twice"] / pair["eval_distinct"]
    place = row_uses.part_place(pair).but(row=row_uses.rows_of(pair), stage="preprocess")
    remedy = "Cut both parts from one order of the rows: the evaluation takes what training leaves over (rows[n:], table.drop(train.index))."
    if again:
        name, place = "the evaluation, which the same line split off anew,", place.but(file=again["file"], line=again["line"])
        remedy = "Split once and keep the parts, or give the split a seed of its own: random_split(.., generator=torch.Generator().manual_seed(0))."
    return Finding(
        says=f"{pair['twice']} of the {pair['eval_distinct']} rows of {name} ({share:.0%}) are training rows of {pair['model']} as well "
             f"(fitted on {row_uses.where(pair['train_line'])}).",
        place=place,
        evidence=[("rows in training and evaluation", pair["twice"], 0), ("rows evaluated", pair["eval_rows"], None),
                  ("rows trained on", pair["train_rows"], None), (f"table of the rows: {source or 'unnamed'}", len(pair.get("rows", ())), "first 50")],
        remedy=remedy,
        confidence=0.96, verified="fact",
    )  # fmt: skip
