"""selection-before-split."""

from __future__ import annotations

from collections.abc import Iterator

from ... import row_uses
from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(stage="preprocess", severity="error", leads_to=("fit-before-split", "overfitting"), interventions=("transformers refitted on the training rows",))
def selection_before_split(row_use: list[Fact], *, counterfactual: list[Fact] | None = None, chosen: list[Fact] | None = None) -> Iterator[Finding]:
    """Inputs were selected with the answers of rows that the model is then judged on.

    What it means
    -------------
    The columns were picked by their relation to the label over all rows, before the split or outside of the cross-validation.

    Why it is bad
    -------------
    Of many columns some agree with the labels by chance, in the evaluation's rows too: pure noise can score above 90 %.

    Evidence
    --------
    The selector's rows, the evaluation's rows, and how many of the latter it saw; how many columns it chose from. Selectors that don't look
    at labels (too little variance) are left alone.

    Remedy
    ------
    Select inside the pipeline that is cross-validated, or on the training part after the split.

    Fault
    -----
        import numpy as np
        from sklearn.feature_selection import SelectKBest
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import cross_val_score
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(60, 2000)), np.arange(60) % 2
        kept = SelectKBest(k=20).fit_transform(X, y)  # sabueso: selection-before-split
        print(cross_val_score(LogisticRegression(), kept, y).mean())

    Control
    -------
        import numpy as np
        from sklearn.feature_selection import SelectKBest
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import cross_val_score
        from sklearn.pipeline import make_pipeline
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(60, 2000)), np.arange(60) % 2
        print(cross_val_score(make_pipeline(SelectKBest(k=20), LogisticRegression()), X, y).mean())

    References
    ----------
    Ambroise and McLachlan, Selection bias in gene extraction (2002); Hastie, Tibshirani and Friedman, section 7.10.2.

    Known limits
    ------------
    A selection by hand is seen only where it went by correlation and the table that it chose from is still at hand.
    """
    yield from (_by_model(f) if "by" in f.value else _by_hand(f) for f in (chosen or ())[:1])
    for pair, learner in row_uses.leaking(row_use):
        if not learner["supervised"] or not (learner["selects"] or learner.get("selector")):
            continue
        experiment = row_uses.tried(counterfactual, "selection-before-split", fit_line=list(learner["fit_line"]))
        evidence = [("rows judged that chose the inputs", learner["hits"], 0), ("rows judged", pair["eval_rows"], None),
                    ("columns chosen", learner.get("kept"), None), ("columns to choose from", learner.get("columns"), None)]  # fmt: skip
        if experiment is not None:
            evidence.append(("score, and with the selection inside of each training part", experiment["before"], experiment["after"]))
        yield Finding(
            says=f"{learner['name']} chose the inputs with the labels of {learner['hits']} of the {learner['of']} rows on which {pair['model']} is judged "
                 f"({row_uses.where(pair['eval_line'])}).",
            place=row_uses.at(learner),
            evidence=[e for e in evidence if e[1] is not None],
            remedy=f"Select within the training part: cross-validate make_pipeline({learner['name']}(..), {pair['model']}(..)) on all columns, "
                   "or select after the split.",
            confidence=0.96, verified=row_uses.verified(experiment),
        )  # fmt: skip


def _by_hand(fact: Fact) -> Finding:
    """The best columns by the answers of all rows, taken by the person's own code."""
    return Finding(
        says=f"The {fact['kept']} inputs of {fact['model']} are just those of the {fact['columns']} columns of {fact['table']} that correlate best with the "
             f"answers of all {fact['rows']} rows, the {fact['judged']} judged ones included; by the training rows alone others are better.",
        place=fact.place,
        evidence=[("least correlation of a chosen column, over all rows", fact["least"], None), ("best of the others, over all rows", fact["best_left"], None),
                  ("least correlation of a chosen column, over the training rows", fact["least_train"], None),
                  ("best of the others, over the training rows", fact["best_left_train"], f"<= {fact['least_train']}")],
        remedy="Choose the columns by the training rows only, after the split.", confidence=0.95, verified="fact",
    )  # fmt: skip


def _by_model(fact: Fact) -> Finding:
    """The first columns of a model that saw all rows, taken by the person's own code."""
    return Finding(
        says=f"The {fact['kept']} inputs of {fact['model']} are those that {fact['by']} gave most weight among {fact['columns']} columns, and it was fitted "
             f"with the answers of {fact['hits']} of the {fact['judged']} judged rows.",
        place=fact.place,
        evidence=[("rows judged that chose the inputs", fact["hits"], 0), ("rows judged", fact["judged"], None), ("columns chosen", fact["kept"], None),
                  ("columns to choose from", fact["columns"], None), ("share of the chosen that come first by its weights", fact["share"], None)],
        remedy=f"Fit {fact['by']} on the training rows only, after the split, and choose by that.", confidence=0.92, verified="fact",
    )  # fmt: skip
