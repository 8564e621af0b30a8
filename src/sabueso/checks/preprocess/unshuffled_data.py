"""unshuffled-data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ... import row_uses
from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...places import Place


@check(
    stage="preprocess",
    severity="error",
    leads_to=("not-learning", "overfitting", "underfitting", "label-drift", "covariate-drift", "class-imbalance", "label-out-of-range",
              "unseen-category", "metric-averaging", "learning-rate-too-high", "exploding-gradient"),
    interventions=("rows shuffled",),
)  # fmt: skip
def unshuffled_data(
    *,
    folds: list[Fact] | None = None,
    label_order: list[Fact] | None = None,
    counterfactual: list[Fact] | None = None,
    lacking: float = 0.3,
    gain: float = 0.1,
) -> Iterator[Finding]:
    """Rows stand sorted by their label and were cut, or fed in batches, in that order.

    What it means
    -------------
    The table comes out of its file or query ordered by the answer. Folds, a hold-out or batches made in file order then hold other answers
    than those that the model was trained on, or one answer at a time.

    Why it is bad
    -------------
    Each fold asks for what its training part hardly holds, so every model looks useless; in training each epoch ends on one class and the
    network answers that.

    Evidence
    --------
    Labels in one run a class, or numbers that only rise or only fall (a trend in time has steps back); and the share of judged rows whose class (or tenth of
    the range) is in training with less than a quarter of its share, told from 30 % on. Where it can be tried the same
    cross-validation on shuffled rows must gain a tenth of the scale, else nothing is said: data in the order of time stays as it is.

    Remedy
    ------
    Shuffle before cutting: `KFold(5, shuffle=True, random_state=0)`, `StratifiedKFold`, `train_test_split`, `DataLoader(.., shuffle=True)`.

    Fault
    -----
        import numpy as np
        from sklearn.model_selection import KFold, cross_val_score
        from sklearn.naive_bayes import GaussianNB
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1, 2], 60)
        X = rng.normal(size=(180, 3)) + y[:, None]
        print(cross_val_score(GaussianNB(), X, y, cv=KFold(3)).mean())  # sabueso: unshuffled-data

    Control
    -------
        import numpy as np
        from sklearn.model_selection import KFold, cross_val_score
        from sklearn.naive_bayes import GaussianNB
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1, 2], 60)
        X = rng.normal(size=(180, 3)) + y[:, None]
        print(cross_val_score(GaussianNB(), X, y, cv=KFold(3, shuffle=True, random_state=0)).mean())

    References
    ----------
    scikit-learn, user guide 3.1.3: a note on shuffling.
    """
    for run in sorted(folds or (), key=lambda f: -f["lacking"]):
        if run["sorted"] and run["contiguous"] and run["lacking"] >= lacking:
            tried = [c for c in counterfactual or () if c["fault"] == "unshuffled-data"]
            best = max(tried, key=lambda c: c["after"] - c["before"], default=None)
            if best is None or best["after"] - best["before"] >= gain:
                yield of_folds(run, best)
                return
    for part in label_order or ():
        if part["sorted"] and part["lacking"] >= lacking:
            yield of_part(part)
            return


def of_folds(run: Fact, tried: Fact | None) -> Finding:
    """A cross-validation in file order."""
    labels = run.get("labels") or {}
    name = labels.get("column") or labels.get("name")
    evidence: list[tuple[str, Any, Any]] = [
        ("judged rows whose label training hardly holds", run["lacking"], "near 0"), (f"such rows in fold {run['worst_fold']}", run["worst"], "near 0"),
        ("runs of equal labels along the rows", run["runs"], "many more than there are labels" if run["classes"] else None),
    ]  # fmt: skip
    if run["scores"]:
        evidence.append(("scores by fold", run["scores"][:10], None))
    if tried is not None:
        evidence.append(("score, and with the rows shuffled", tried["before"], tried["after"]))
    return Finding(
        says=f"The rows are sorted by {name or 'their label'} and {run['folds']} folds are cut in that order without shuffling: {run['lacking']:.0%} of "
             "the judged rows have a label that their fold's training part hardly holds.",
        place=run.place.but(column=labels.get("column"), tensor=labels.get("name"), row=run["worst_rows"], stage="evaluate"),
        evidence=[e for e in evidence if e[2] is not None or "scores" in e[0]],
        remedy=f"Shuffle the folds: KFold({run['folds']}, shuffle=True, random_state=0)" + (", or StratifiedKFold." if run["classes"] else "."),
        edit=("keyword", "KFold", "shuffle", "True"),
        confidence=0.96 if tried is not None else 0.85, verified=row_uses.verified(tried) if tried is not None else None,
    )  # fmt: skip


def of_part(part: Fact) -> Finding:
    """A hold-out or batches in file order."""
    batches = part["how"] in ("batches", "turns")
    name = part.get("name") or "the labels"
    what = f"{name!r} feeds them in batches in that order" if batches else f"the last {part['judged']} are held out in that order"
    what = f"{part['folds']} folds are cut in that order" if part["how"] == "folds" else what
    what = f"{part['model']} is given them by partial_fit in that order" if part["how"] == "turns" else what
    lacks = "of the batches hold one label only" if batches else "of them have a label that training hardly holds"
    return Finding(
        says=f"The rows are sorted by their label and {what}, without shuffling: {part['lacking']:.0%} {lacks}.",
        place=Place(file=part.place.file, line=part.place.line, tensor=part.get("name"), column=part.get("column"), stage="preprocess", row=part.get("rows")),
        evidence=[(f"share {lacks}", part["lacking"], "near 0"), ("runs of equal labels along the rows", part["runs"], "many more"),
                  *([tuple(part["harm"])] if part.get("harm") else ()),
                  ("labels in training" if not batches else "labels in all", part["levels_train"], part["levels"])],
        edit=("keyword", "DataLoader", "shuffle", "True") if batches and "DataLoader(" in (part.get("remedy") or "") else (),
        remedy=part.get("remedy") or "Shuffle the rows before they are cut (one permutation for inputs and labels).",
        confidence=0.93, verified="fact",
    )  # fmt: skip
