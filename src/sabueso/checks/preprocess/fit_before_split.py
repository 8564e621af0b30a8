"""fit-before-split."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ... import row_uses
from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(stage="preprocess", severity="error", leads_to=("overfitting",), interventions=("transformers refitted on the training rows",))
def fit_before_split(row_use: list[Fact], *, counterfactual: list[Fact] | None = None) -> Iterator[Finding]:
    """A transformer learnt from rows of the evaluation: it was fitted before the split.

    What it means
    -------------
    Means, deviations, components, imputed values or projections were worked out over all rows, the evaluation's included; what the model is
    then trained on already knows of them.

    Why it is bad
    -------------
    The score is not that of new rows. With projections that see the answers (LDA, PLS) or imputers that see the target, noise looks like skill.

    Evidence
    --------
    Which rows the transformer was fitted on and which of them are judged without having been trained on: identities, not guesses. Stateless
    transformers and encoders that only list levels are left alone, as is a program whose last evaluation is of rows that nothing saw. Scaling
    by hand is known by its numbers: training and evaluation together have mean 0 and deviation 1 to five digits, training alone has not.

    Remedy
    ------
    Split first; fit the transformer on the training rows, or put it into a pipeline that is cross-validated as a whole.

    Fault
    -----
        import numpy as np
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import train_test_split
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(90, 60)), rng.integers(0, 2, 90)
        axis = LinearDiscriminantAnalysis().fit_transform(X, y)  # sabueso: fit-before-split
        a, b, c, d = train_test_split(axis, y, random_state=0)
        print(LogisticRegression().fit(a, c).score(b, d))

    Control
    -------
        import numpy as np
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import train_test_split
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(90, 60)), rng.integers(0, 2, 90)
        a, b, c, d = train_test_split(X, y, random_state=0)
        axis = LinearDiscriminantAnalysis().fit(a, c)
        print(LogisticRegression().fit(axis.transform(a), c).score(axis.transform(b), d))

    References
    ----------
    Kaufman et al., Leakage in data mining (2012); scikit-learn, Common pitfalls: data leakage during pre-processing.
    """
    found = [(p, t) for p, t in row_uses.leaking(row_use) if not (t["selects"] or t.get("selector")) and not (t["supervised"] and t.get("encoder"))]
    for pair, learner in sorted(found, key=lambda f: -weight(f[1])):
        yield told(pair, learner, row_uses.tried(counterfactual, "fit-before-split", fit_line=list(learner["fit_line"])))


def weight(learner: dict[str, Any]) -> float:
    """What saw the answers first, then imputers, then whatever saw the most rows."""
    return 2.0 * learner["supervised"] + bool(learner.get("imputes")) + learner["rows"] / 1e9


def told(pair: Fact, learner: dict[str, Any], experiment: Fact | None) -> Finding:
    """The finding of one transformer."""
    what = "cross-validated" if pair["how"] == "folds" else "judged"
    saw = ", answers included," if learner["supervised"] else ""
    evidence: list[tuple[str, Any, Any]] = [
        (f"rows {what} that {learner['name']} had learnt from", learner["hits"], 0), (f"rows {what}", pair["eval_rows"], None),
        ("rows that it learnt from", learner["rows"], pair["train_distinct"] if pair["how"] != "folds" else "those of each fold's training part"),
    ]  # fmt: skip
    if experiment is not None:
        evidence.append(("score, and with the transformer fitted on training rows", experiment["before"], experiment["after"]))
    if learner.get("filled"):
        evidence.append((f"gaps filled so in {', '.join(learner['names'][:5])}", learner["filled"], 0))
    elif learner["kind"] == "hand":
        evidence.append((f"{learner['shows']} over both parts together", learner["columns"], 0))
    return Finding(
        says=f"{learner['name']} learnt from {learner['hits']} of the {learner['of']} rows{saw} on which {pair['model']} is {what} "
             f"({row_uses.where(pair['eval_line'])}).",
        place=row_uses.at(learner),
        evidence=evidence[:5],
        remedy=f"Split first and fit {learner['name']} on the training rows only, or cross-validate make_pipeline({learner['name']}(..), {pair['model']}(..)) "
               "on the raw rows." if learner["kind"] != "hand" else
               "Take mean and deviation of the training rows only, after the split, and use them for both parts.",
        severity="error" if learner["supervised"] or learner.get("imputes") else "warning",
        confidence=0.95 if learner["supervised"] or learner.get("imputes") else 0.85,
        verified=row_uses.verified(experiment),
    )  # fmt: skip
