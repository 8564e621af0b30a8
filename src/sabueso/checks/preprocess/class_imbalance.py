"""class-imbalance."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(stage="preprocess", severity="warning")
def class_imbalance(
    metric: list[Fact], counterfactual: list[Fact], *, missed: float = 0.1, found: float = 0.5, balanced: float = 0.75,
) -> Iterator[Finding]:  # fmt: skip
    """One class is so rare in training that the model never answers it, though the inputs tell it apart.

    What it means
    -------------
    A classifier was fitted on rows of which less than a tenth belong to one class, with nothing that makes up for it.

    Why it is bad
    -------------
    Answering the frequent class is nearly free of loss, so the rare rows, mostly those that the model is for, are not found.

    Evidence
    --------
    The program's own metric has hardly a row of the rare class right (a tenth at most). The same model was fitted again on folds of its training
    rows, as they are and with the rare rows repeated until the classes are even: the rare class is found then (half of it and more) at a mean
    recall of the classes of 0.75. (Thresholds: our own. A class that the inputs don't tell apart stays at 0.5 however it is weighted.)

    Remedy
    ------
    `class_weight="balanced"`, `scale_pos_weight`, resampling of the training rows alone, or a threshold chosen on validation rows.

    Fault
    -----
        import numpy as np
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import recall_score
        rng = np.random.default_rng(0)
        y = (rng.random(6000) < 0.02).astype(int)
        x = rng.normal(size=(6000, 3)) + 0.9 * y[:, None]
        model = LogisticRegression().fit(x[:4000], y[:4000])  # sabueso: class-imbalance
        print(recall_score(y[4000:], model.predict(x[4000:])))

    Control
    -------
        import numpy as np
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import recall_score
        rng = np.random.default_rng(0)
        y = (rng.random(6000) < 0.02).astype(int)
        x = rng.normal(size=(6000, 3)) + 0.9 * y[:, None]
        model = LogisticRegression(class_weight="balanced").fit(x[:4000], y[:4000])
        print(recall_score(y[4000:], model.predict(x[4000:])))

    References
    ----------
    He and Garcia, Learning from imbalanced data, 2009. King and Zeng, Logistic regression in rare events data, 2001.
    """
    for fact in counterfactual:
        if fact["fault"] != "class-imbalance":
            continue
        before, after = fact["recall"]
        if before > missed or after < found or fact["after"] < balanced:
            continue
        file, line = fact["line"]
        yield Finding(
            says=f"class {fact['label']} makes up {fact['rows']} of {fact['of']} training rows and {fact['estimator']} finds {before:.0%} of it; "
            f"with the classes made even it finds {after:.0%}",
            place=fact.place.but(stage="preprocess", file=file, line=line, estimator=fact["estimator"]),
            evidence=[(f"recall of class {fact['label']}, cross-validated on the training rows", before, f"{after} with the classes made even"),
                      (f"training rows of class {fact['label']}", fact["rows"], f"of {fact['of']}")],
            remedy='set class_weight="balanced" (or scale_pos_weight), or resample the training rows', confidence=0.85,
            verified={"how": fact["how"], "before": fact["before"], "after": fact["after"]},
        )  # fmt: skip
        return
