"""group-leakage."""

from __future__ import annotations

from collections.abc import Iterator

from ... import comparisons, row_uses
from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(stage="evaluate", severity="error", leads_to=("overfitting", "misleading-metric"), instead=("rows_shared",))
def group_leakage(groups_shared: list[Fact], *, rows_shared: list[Fact] | None = None, share: float = 0.2) -> Iterator[Finding]:
    """Rows of one group (patient, farm, household) stand on both sides of an evaluation that should be of new groups.

    What it means
    -------------
    The program splits by group in one place, a search or a cross-validation, and by single rows in another, so that the final rows belong to
    groups that were trained on.

    Why it is bad
    -------------
    Rows of a group are alike; the model recognises the group. The score says nothing of groups that it has never met.

    Evidence
    --------
    The groups that the program itself split by, found for every row of the table they belong to; how many of the judged rows' groups are in
    training. Told from a fifth of the judged rows on. Without such a split a column is a group only by proof: it repeats as ids do, is no
    input, has one label a value, 60 % of judged rows have their nearest training row in it, and a model fitted again with its values held
    apart loses more than half of what it had over the commonest answer, or, where 90 % are so, errs three times as often. Beside a network
    the vote of the nearest rows is tried instead.

    Remedy
    ------
    Cut the final part by group too: `next(GroupShuffleSplit(1, test_size=0.25).split(X, y, groups))`.

    Fault
    -----
        import numpy as np
        from sklearn.model_selection import GridSearchCV, GroupKFold, train_test_split
        from sklearn.neighbors import KNeighborsRegressor
        rng = np.random.default_rng(0)
        farm = np.repeat(np.arange(40), 8)
        X = rng.normal(size=(40, 3))[farm] + 0.1 * rng.normal(size=(320, 3))
        y = rng.normal(size=40)[farm] + 0.1 * rng.normal(size=320)
        fit, test = train_test_split(np.arange(320), random_state=0)  # sabueso: group-leakage
        search = GridSearchCV(KNeighborsRegressor(), {"n_neighbors": [1, 5]}, cv=GroupKFold(4))
        search.fit(X[fit], y[fit], groups=farm[fit])
        print(search.score(X[test], y[test]))

    Control
    -------
        import numpy as np
        from sklearn.model_selection import GridSearchCV, GroupKFold, GroupShuffleSplit
        from sklearn.neighbors import KNeighborsRegressor
        rng = np.random.default_rng(0)
        farm = np.repeat(np.arange(40), 8)
        X = rng.normal(size=(40, 3))[farm] + 0.1 * rng.normal(size=(320, 3))
        y = rng.normal(size=40)[farm] + 0.1 * rng.normal(size=320)
        fit, test = next(GroupShuffleSplit(1, random_state=0).split(X, y, farm))
        search = GridSearchCV(KNeighborsRegressor(), {"n_neighbors": [1, 5]}, cv=GroupKFold(4))
        search.fit(X[fit], y[fit], groups=farm[fit])
        print(search.score(X[test], y[test]))

    References
    ----------
    Saeb et al., The need to approximate the use-case in clinical machine learning (2017); scikit-learn, user guide 3.1.2.4.
    """
    yield from comparisons.shared_groups(rows_shared or ())
    for fact in sorted(groups_shared, key=lambda f: ("before" in f.value, -f["rows_shared"])):
        if fact["rows_shared"] < share * fact["rows"]:
            continue
        if "before" in fact.value:
            if lost(fact):
                yield alike(fact)
                return
            continue
        column = fact.get("column") or "group"
        name = f"{fact['part']['name']!r}" if fact.get("part") else "the evaluation"
        yield Finding(
            says=f"{fact['rows_shared']} of the {fact['rows']} rows of {name} belong to a {column} that {fact['model']} was trained on "
                 f"({fact['shared']} of {fact['groups']}), though the program splits by {column} on {row_uses.where(fact['split_by'])}.",
            place=fact.place.but(column=fact.get("column"), row=fact["shared_rows"]),
            evidence=[("judged rows whose group is in training", fact["rows_shared"], 0), ("rows judged", fact["rows"], None),
                      ("groups judged that are in training", fact["shared"], 0), ("groups judged", fact["groups"], None)],
            remedy=f"Cut this part by {column} too: fit, test = next(GroupShuffleSplit(1, test_size=0.25).split(X, y, {column})).",
            confidence=0.95, verified="fact",
        )  # fmt: skip
        return


def lost(fact: Fact, *, least: float = 0.15, half: float = 0.5, near: float = 0.9, times: float = 3.0, least_wrong: float = 0.03) -> bool:
    """Is more than half of the score above the commonest answer gone once entities are held apart? Of sheer copies three errors for one will do."""
    gain = fact["before"] - fact["base"]
    wrong, before = 1 - fact["after"], 1 - fact["before"]
    copies = fact["nearest"] >= near and fact["base"] > 0 and wrong >= max(times * before, before + least_wrong)
    return bool(gain >= least and (copies or fact["after"] - fact["base"] < half * gain))


def alike(fact: Fact) -> Finding:
    """Rows of one entity, near copies of one another, on both sides of a cut by single rows."""
    column = fact["column"]
    of = f" of {fact['by']}" if fact.get("by") else ""
    return Finding(
        says=f"{fact['rows_shared']} of the {fact['rows']} judged rows belong to a {column} that {fact['model']} was trained on, whose rows are near "
             f"copies with one label; with each {column} on one side the score{of} falls from {fact['before']:.2f} to {fact['after']:.2f}.",
        place=fact.place.but(column=column, row=fact["shared_rows"]),
        evidence=[("judged rows whose group is in training", fact["rows_shared"], 0),
                  ("judged rows whose nearest training row is of the same group", fact["nearest"], fact["chance"]),
                  ("score with single rows held apart", fact["before"], None), ("score with groups held apart", fact["after"], "about the same"),
                  ("score of the commonest answer", fact["base"], None)],
        remedy=f"Cut by {column}: fit, test = next(GroupShuffleSplit(1, test_size=0.25, random_state=0).split(X, y, table[{column!r}])).",
        confidence=0.9, verified={"before": fact["before"], "after": fact["after"]},
    )  # fmt: skip
