"""target-encoding-leakage."""

from __future__ import annotations

from collections.abc import Iterator

from ... import row_uses
from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(
    stage="preprocess", severity="error", leads_to=("target-leakage", "fit-before-split", "overfitting"), interventions=("encoded within the training rows",)
)
def target_encoding_leakage(row_use: list[Fact], *, tell: list[Fact] | None = None) -> Iterator[Finding]:
    """A category was replaced by the mean of the target over all rows, the judged rows' own answers included.

    What it means
    -------------
    Each category (customer, shop, reader) became its rate of success, taken over the whole table before the split.

    Why it is bad
    -------------
    With few rows a category the rate nearly spells the row's own answer. The score falls as soon as new rows come.

    Evidence
    --------
    A column of which each value is exactly the mean of the target over the rows that have it, training and evaluation taken together; or an
    encoder that was fitted, answers included, on rows that are judged.

    Remedy
    ------
    Work the rates out on earlier or training rows only, out of fold for the training rows themselves
    (sklearn.preprocessing.TargetEncoder does).

    Fault
    -----
        import numpy as np
        import pandas as pd
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import train_test_split
        rng = np.random.default_rng(0)
        t = pd.DataFrame({"who": rng.integers(0, 300, 800), "x": rng.normal(size=800), "done": rng.integers(0, 2, 800)})
        t["rate"] = t.groupby("who")["done"].transform("mean")  # sabueso: target-encoding-leakage
        train, test = train_test_split(t, random_state=0)
        model = LogisticRegression().fit(train[["x", "rate"]], train["done"])
        print(model.score(test[["x", "rate"]], test["done"]))

    Control
    -------
        import numpy as np
        import pandas as pd
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import train_test_split
        rng = np.random.default_rng(0)
        t = pd.DataFrame({"who": rng.integers(0, 300, 1600), "x": rng.normal(size=1600), "done": rng.integers(0, 2, 1600)})
        past, t = t[:800], t[800:]
        t = t.assign(rate=t["who"].map(past.groupby("who")["done"].mean()).fillna(0.5))
        train, test = train_test_split(t, random_state=0)
        model = LogisticRegression().fit(train[["x", "rate"]], train["done"])
        print(model.score(test[["x", "rate"]], test["done"]))

    References
    ----------
    Micci-Barreca, A preprocessing scheme for high-cardinality categorical attributes (2001); Prokhorenkova et al., CatBoost (2018), section 3.2.
    """
    for pair, learner in row_uses.leaking(row_use):
        if learner["supervised"] and learner.get("encoder"):
            yield Finding(
                says=f"{learner['name']} replaced categories by means of the target that hold the answers of {learner['hits']} rows on which "
                     f"{pair['model']} is judged ({row_uses.where(pair['eval_line'])}).",
                place=row_uses.at(learner),
                evidence=[("rows judged whose answers went into the encoding", learner["hits"], 0), ("rows judged", pair["eval_rows"], None)],
                remedy=f"Fit {learner['name']} on the training rows only, within the pipeline that is judged.",
                confidence=0.93, verified="fact",
            )  # fmt: skip
            return
    for fact in tell or ():
        if fact["how"] == "target mean":
            of, among = ("the whole table", "") if fact.get("whole") else ("training and evaluation together", " in judged rows")
            yield Finding(
                says=f"Column {fact['column']!r} is, in each of its {fact['levels']} values, exactly the mean of {fact['of']} over the {fact['rows']} rows "
                     f"of {of}{', drawn towards a common mean' * fact['drawn']}: every row's own answer is in it.",
                place=fact.place.but(column=fact["column"], stage="preprocess"),
                evidence=[("values that equal the mean of their rows' answers", fact["levels"], 0), ("rows", fact["rows"], None),
                          ("rows a value, median", fact["per_level"], None), (f"correlation with the target{among}", fact["agreement"], None)],
                remedy="Take the means of training rows only (out of fold for those themselves), or of rows from before, and fall back on the overall mean.",
                confidence=0.95, verified="fact",
            )  # fmt: skip
            return
