"""preprocess-skew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ... import stored_models
from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...served import prepared_otherwise
from ...skews import foreign_scale, in_another_zone, renumbered, reshaped_column, served_otherwise, step_left_out, turned_column


@check(
    stage="deploy",
    severity="error",
    leads_to=("covariate-drift", "concept-drift", "label-drift", "fit-before-split", "unscaled-input", "unit-change", "misleading-metric"),
)
def preprocess_skew(
    inputs: list[Fact] = None,
    remembered: list[Fact] = None,
    fed_twice: list[Fact] = None,
    scale_foreign: list[Fact] = None,
    tokens_shifted: list[Fact] = None,
    *,
    strong: float = 0.3,
    sure: float = 1e-6,
    same: float = 1e-3,
) -> Iterator[Finding]:
    """Rows are prepared otherwise where the model is used than where it learnt.

    What it means
    -------------
    A scaler or encoder is fitted anew on the rows to be judged, an hour is read in another time zone, a logarithm or a scaling is left out:
    the model gets numbers that mean something else than those it was fitted on.

    Why it is bad
    -------------
    The model is right and its answers are wrong; offline scores do not show it.

    Evidence
    --------
    Which fit made the rows learnt from and which those fed (by identity of the tables); or the step that makes both agree again: a part of a
    time in another zone, a turn of a cyclic column (p < 1e-6 as it is, > 1e-3 after), a logarithm, a power, a scaling.
    Of rows that are answered offline and by request: a column that is another one by such a rule, row for row, while the others are equal. Of
    requests: a column that is exactly one function of a field, which in the table of the fit was exactly another one.
    Of stored means and spreads: the residuals of the stored coefficients are in balance with every input, as those of a fit are, by a table's own
    means and spreads and not by the stored ones.

    Remedy
    ------
    Keep the fitted steps with the model (one Pipeline) and use the very same function on both sides.

    Fault
    -----
        import numpy as np
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import StandardScaler
        rng = np.random.default_rng(0)
        x = rng.normal(5.0, 2.0, size=(500, 2))
        scaler = StandardScaler().fit(x)
        model = LogisticRegression().fit(scaler.transform(x), x[:, 0] > 5)
        for row in rng.normal(5.0, 2.0, size=(40, 2)):
            row = StandardScaler().fit_transform(row[None])  # sabueso: preprocess-skew
            model.predict(row)

    Control
    -------
        import numpy as np
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import StandardScaler
        rng = np.random.default_rng(0)
        x = rng.normal(5.0, 2.0, size=(500, 2))
        scaler = StandardScaler().fit(x)
        model = LogisticRegression().fit(scaler.transform(x), x[:, 0] > 5)
        for row in rng.normal(5.0, 2.0, size=(40, 2)):
            row = scaler.transform(row[None])
            model.predict(row)

    References
    ----------
    Breck et al., The ML test score, 2017 (training-serving skew).
    """
    yield from (foreign_scale(fact) for fact in scale_foreign or [])
    yield from (renumbered(fact) for fact in tokens_shifted or [])
    yield from (f for fact in fed_twice or [] if (f := served_otherwise(fact)) is not None)
    yield from (stored_models.step_missing(fact, c) for fact in remembered or [] for c in fact["columns"] if c["kind"] == "beyond" and c["form"])
    for fact in inputs or []:
        learnt, fed = fact.get("made_by"), fact.get("fed_by")
        if learnt and fed and learnt["class"] == fed["class"] and (learnt["number"], learnt["fits"]) != (fed["number"], fed["fits"]):
            yield _refitted(fact, learnt, fed)
            continue
        if told := list(prepared_otherwise(fact)):
            yield from told
            continue
        clocks = [f for c in fact.get("clock") or [] if (f := in_another_zone(fact, c)) is not None]
        yield from clocks
        for column in fact["columns"] if not clocks else ():
            if column["kind"] == "number" and "cur_counts" in column:
                found = turned_column(fact, column, strong, sure, same) or reshaped_column(fact, column)
                if found is not None:
                    yield found
        scaled = step_left_out(fact)
        if scaled is not None:
            yield scaled


def _refitted(fact: Fact, learnt: dict[str, Any], fed: dict[str, Any]) -> Finding:
    cls, n = learnt["class"], fed["rows"]
    alike = " A single row minus its own mean is all zeros." if n == 1 and "Scaler" in cls else ""
    return Finding(
        says=f"{fact['model']} learnt from what a {cls} fitted on {learnt['rows']} rows made, and is fed what another {cls}, fitted on {n} "
        f"row{'s' if n != 1 else ''} in use, makes.{alike}",
        place=fact.place.but(file=fed["file"], line=fed["line"], estimator=cls, row=0, stage="deploy"),
        evidence=[(f"rows that the {cls} of the fit learnt from", learnt["rows"], None),
                  (f"rows that the {cls} in use learnt from", n, learnt["rows"]),
                  ("rows fed", fact["rows"], None)],
        remedy=f"store the {cls} of the fit with the model and call its transform here", confidence=0.95, verified="fact",
    )  # fmt: skip
