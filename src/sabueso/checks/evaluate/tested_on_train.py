"""tested-on-train."""

from __future__ import annotations

from collections.abc import Iterator

from ... import row_uses
from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(stage="evaluate", severity="error", leads_to=("misleading-metric",), interventions=("judged rows left out of the fit",))
def tested_on_train(
    row_use: list[Fact],
    *,
    held_out: list[Fact] | None = None,
    metric: list[Fact] | None = None,
    hand_metric: list[Fact] | None = None,
    least: int = 8,
) -> Iterator[Finding]:
    """A model is judged on rows that it was fitted on, though others had been set aside.

    What it means
    -------------
    The rows of the final score are all among the model's training rows: it was fitted anew on everything, or the wrong part was passed.

    Why it is bad
    -------------
    The score measures memory. A model that overfits gets the best one.

    Evidence
    --------
    Identity of rows. Printing a training score beside a test score is fine and not spoken of: the model must have no evaluation on other
    rows, the judged rows must be a part that earlier fits left out or that was split off, or a part split off must lie unused.

    Remedy
    ------
    Fit on the training part alone before the last score, or pass the part that was held out.

    Fault
    -----
        import numpy as np
        from sklearn.model_selection import cross_val_score, train_test_split
        from sklearn.ensemble import ExtraTreesRegressor
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 4))
        y = X[:, 0] + rng.normal(size=400)
        X_fit, X_test, y_fit, y_test = train_test_split(X, y, random_state=0)
        model = ExtraTreesRegressor(10, random_state=0)
        print(cross_val_score(model, X_fit, y_fit).mean())
        model.fit(X, y)  # sabueso: tested-on-train
        print(model.score(X_test, y_test))

    Control
    -------
        import numpy as np
        from sklearn.model_selection import cross_val_score, train_test_split
        from sklearn.ensemble import ExtraTreesRegressor
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 4))
        y = X[:, 0] + rng.normal(size=400)
        X_fit, X_test, y_fit, y_test = train_test_split(X, y, random_state=0)
        model = ExtraTreesRegressor(10, random_state=0)
        print(cross_val_score(model, X_fit, y_fit).mean())
        model.fit(X_fit, y_fit)
        print(model.score(X_test, y_test), model.score(X_fit, y_fit))

    References
    ----------
    Kapoor and Narayanan, Leakage and the reproducibility crisis in machine-learning-based science (2023), L1.1.
    """
    judged = row_uses.cleanly_judged(row_use)
    unused = [h for h in held_out or () if not h["used"] and h["rows"] >= least]
    for pair in row_use:
        if pair["how"] == "folds" or not pair["supervised"] or pair["fit"] in judged or pair["eval_distinct"] < least:
            continue
        if pair["shared"] < pair["eval_distinct"]:
            continue
        strict = pair["eval_distinct"] < 0.75 * pair["train_distinct"]
        if strict and pair.get("left_out_before"):
            yield told(pair, f"It was left out of {pair['left_out_before']} earlier fits, then taken in on", pair["train_line"], 0.95)
            return
        rest = next((h for h in unused if h["rows"] + pair["eval_distinct"] == pair["train_distinct"]), None)
        if strict and rest is not None and pair["scored"] and not any(row_uses.clean(p) for p in row_use):
            yield told(pair, f"A split had cut them off from the {rest['rows']} of {rest['name']!r}, which lie unused: fitted on all", pair["train_line"], 0.94)
            return
        if unused and (pair["scored"] or measured(pair, metric, hand_metric)) and not strict and not any(row_uses.clean(p) for p in row_use):
            yield told(
                pair,
                f"The {unused[0]['rows']} rows set aside as {unused[0]['name']!r} are never looked at; fitted on",
                pair["eval_line"],
                0.9,
            )
            return
    whole = fitted_on_all(row_use, least)
    if whole is not None:
        yield told(whole, "A split had cut it off, but the model was fitted on all rows on", whole["train_line"], 0.93)


def measured(pair: Fact, *metrics: list[Fact] | None) -> bool:
    """Was a metric made of as many answers, behind the line at which the model was asked for them?"""
    return any(pair["eval_rows"] in (m.get("sizes") or ()) and m.place.file == pair.place.file for ms in metrics for m in ms or ())


def fitted_on_all(row_use: list[Fact], least: int) -> Fact | None:
    """The smallest part of a split that a model is judged on which was fitted on the whole, where nothing in the program is an honest figure."""
    if any(row_uses.clean(p) for p in row_use):
        return None
    folds = any(p["how"] == "folds" for p in row_use)
    found = [
        p for p in row_use
        if p.get("split_off") and p["how"] != "folds" and p["supervised"] and least <= p["eval_distinct"] == p["shared"] < 0.75 * p["train_distinct"]
        and (p["scored"] or not folds)
    ]  # fmt: skip
    return min(found, key=lambda p: p["eval_distinct"], default=None)


def told(pair: Fact, how: str, line: list[object], confidence: float) -> Finding:
    """The finding of one pair, at the line that is to be changed."""
    part = pair.get("part")
    name = f"{part['name']!r}" if part else "the evaluation"
    return Finding(
        says=f"All {pair['eval_distinct']} rows of {name} are training rows of {pair['model']}. {how} {row_uses.where(pair['train_line'])}.",
        place=pair.place.but(file=line[0], line=line[1], row=row_uses.rows_of(pair)),
        evidence=[("rows judged that were trained on", pair["shared"], 0), ("rows judged", pair["eval_rows"], None),
                  ("rows trained on", pair["train_rows"], pair["train_rows"] - pair["shared"] if pair["shared"] < pair["train_distinct"] else None)],
        remedy="Fit on the training part alone before the last score, or give the score the part that was held out.",
        confidence=confidence, verified="fact",
    )  # fmt: skip
