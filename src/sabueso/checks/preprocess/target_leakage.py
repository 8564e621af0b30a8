"""target-leakage."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...comparisons import tried
from ...events import Fact
from ...findings import Finding
from ...tells import numbers

MEANING = {
    "gaps": "is empty just where the label is one of its two values",
    "running number": "numbers the rows in an order sorted by the label, so that a threshold on it is the label",
    "copy": "is the target itself in another unit or code",
    "filled after": "has one same value just where the label is one of its two values, and is spread elsewhere",
    "left in": "is the target itself, a column a class",
    "image": "is the target itself up to a rounding or a trifle, and the other inputs can't tell it",
    "composed": "was reckoned from the row's own answer",
    "drawn later": "tells the answer in the rows of the fit alone, where one class has values that no row has that was judged later",
}
RANK = ("left in", "copy", "gaps", "filled after", "running number", "image", "composed", "drawn later")


@check(
    stage="preprocess", severity="error", leads_to=("overfitting", "missing-values", "constant-column", "misleading-metric"), interventions=("column left out",)
)
def target_leakage(tell: list[Fact] | None = None, future_seen: list[Fact] | None = None) -> Iterator[Finding]:
    """An input gives the answer away: it was written after the answer was known, or is the answer.

    What it means
    -------------
    A column that is filled only in one outcome, a running number given after sorting by the outcome, or the outcome in another unit
    stands among the inputs.

    Why it is bad
    -------------
    The score is near perfect and nothing of it is left where the answer is not known yet.

    Evidence
    --------
    One of six patterns in the training rows: gaps of a column, or its one usual value (0, say), agree with a two-valued label in 98 % of
    rows, with errors under a tenth of the rarer label; a column of unrepeated whole numbers sorts the rows into one run a class; a column is
    an affine copy of a continuous target, or maps one to one to its classes, or is its copy but for a rounding (correlation 0.9995) while the
    others explain less than 95 % of it; or the line that makes the column names the label, and with one other input, by one of the four
    operations, it is the target in 90 % of rows. Or, in a step of a network: the classes of just the rows that the loss asks for stand among the inputs,
    and the result of an operation that should have taken them out was thrown away. Or, where the targets of a sequence are its inputs one place
    later: the input at a place is exchanged on a copy, and the answer at the place before, which it is, moves. Or, where later rows are judged:
    the column alone parts the classes at the fit (area under the curve 0.95) and no more then (0.8), 60 % of one class's values lie outside
    of the later rows', and the other class is as before. A column that is merely a good predictor is none of these.

    Remedy
    ------
    Leave the column out (mask later places in a sequence), and ask of each input whether it is known when the forecast is made.

    Fault
    -----
        import numpy as np
        import pandas as pd
        from sklearn.ensemble import HistGradientBoostingClassifier
        rng = np.random.default_rng(0)
        t = pd.DataFrame({"price": rng.gamma(3, 9, 600), "photos": rng.integers(0, 9, 600)})
        t["sold"] = (rng.random(600) < 0.4 + 0.04 * t["photos"]).astype(int)
        t["fee"] = np.where(t["sold"] == 1, 0.1 * t["price"], np.nan)  # sabueso: target-leakage
        X = t[["price", "photos", "fee"]]
        print(HistGradientBoostingClassifier(max_iter=20).fit(X[:400], t["sold"][:400]).score(X[400:], t["sold"][400:]))

    Control
    -------
        import numpy as np
        import pandas as pd
        from sklearn.ensemble import HistGradientBoostingClassifier
        rng = np.random.default_rng(0)
        t = pd.DataFrame({"price": rng.gamma(3, 9, 600), "photos": rng.integers(0, 9, 600)})
        t["sold"] = (rng.random(600) < 0.4 + 0.04 * t["photos"]).astype(int)
        t["fee"] = np.where(rng.random(600) < 0.5, 0.1 * t["price"], np.nan)
        X = t[["price", "photos", "fee"]]
        print(HistGradientBoostingClassifier(max_iter=20).fit(X[:400], t["sold"][:400]).score(X[400:], t["sold"][400:]))

    References
    ----------
    Kaufman et al., Leakage in data mining: formulation, detection and avoidance (2012).

    Known limits
    ------------
    A column that predicts well for reasons that only its meaning tells is not spoken of.
    """
    yield from map(ahead, (future_seen or [])[:1])
    found = [f for f in tell or [] if f["how"] in MEANING]
    for fact in sorted(found, key=lambda f: RANK.index(f["how"])):
        if fact["how"] == "left in":
            yield left_in(fact)
            return
        means = MEANING[fact["how"]]
        if fact["how"] == "composed":
            means += f" ({fact['label']!r}): {fact['way']} {fact['other']!r}, which is an input too, it is {fact['of']}"
        later = fact["how"] == "drawn later"
        share = "" if later else f" ({fact['agreement']:.1%} of {fact['rows']} training rows)"
        yield Finding(
            says=f"Input {fact['column']!r} {means}{share}.",
            place=fact.place.but(column=fact["column"], stage="preprocess"),
            evidence=numbers(fact),
            remedy=f"Leave {fact['column']!r} out of the inputs: it is not known when the answer is to be given.",
            confidence=0.95 if fact["how"] != "running number" and not later else 0.9, verified=tried(fact), edit=("without", fact["column"]),
            covers=("concept-drift", "covariate-drift", "label-drift") if later else (),
        )  # fmt: skip
        return


def left_in(fact: Fact) -> Finding:
    """The labels were to be taken out, and what did so gave a new tensor that nothing uses."""
    name, call = fact["column"], fact["operation"]
    return Finding(
        says=f"{name} goes into the model with the class of all {fact['rows']} rows that the loss asks for: what {call} returns, the tensor without them, "
        "is thrown away",
        place=fact.place.but(column=name, stage="preprocess"),
        evidence=[("rows whose class stands in their input", fact["rows"], 0), ("columns that say it", len(fact["columns"]), 0)],
        remedy=f"Keep what it returns ({name} = {name}.{call}(..)), or call {call}_, which changes the tensor in place.",
        confidence=0.95, verified="fact", edit=("assign",),
    )  # fmt: skip


def ahead(fact: Fact) -> Finding:
    """A network that is to tell the next of a sequence and is given it."""
    at, module = fact["at"], fact["module"]
    return Finding(
        says=f"the answer at place {at - 1} of a sequence moves with the input at place {at}, which is that very answer"
        + (f": `{module}` lets later places through" if module else ""),
        place=fact.place,
        evidence=[
            (f"rows whose answer at place {at - 1} moved when the input at place {at} alone was exchanged, on a copy", fact["rows"], 0),
            (f"rows in which it was exchanged, of sequences of {fact['places']} places", fact["exchanged"], None),
        ],
        remedy="give the attention a causal mask (nn.Transformer.generate_square_subsequent_mask, is_causal=True); pad convolutions on the left alone; "
        "no bidirectional recurrence",
        confidence=0.95, verified="fact",
    )  # fmt: skip
