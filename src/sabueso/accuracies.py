"""Accuracies: a share of equal answers where quantities are to be told, or of answers that are always the same."""

from __future__ import annotations

from collections.abc import Iterator

from .events import Fact
from .findings import Finding

ENDS_EARLY = ("underfitting", "not-learning", "learning-rate-too-low")


def of_quantities(accuracy_of_quantities: list[Fact], most: float = 0.05) -> Iterator[Finding]:
    """Hardly any answer equals a quantity: what is compiled as accuracy stays at 0, and a callback that watches it sees nothing get better."""
    for fact in accuracy_of_quantities:
        watching = fact["watching"]
        if fact["best"] > most or not watching and fact["columns"] > 1:  # beside the loss of an autoencoder it is idle, and does no harm
            continue
        name, ran, asked = fact["metric"], fact["ran"], fact["epochs"]
        says = f"{name} counts answers that equal their target, and the targets are quantities: it stays at {fact['best']:.2g} however good the model gets"
        evidence = [(f"best {name} of {ran} epochs", round(fact["best"], 4), None), ("values of the targets", fact["levels"], "a few classes")]
        remedy = "metrics=['mae'] (or RootMeanSquaredError)"
        if watching:
            says += f", and {watching[0]['callback']} goes by it"
            evidence += [(f"epochs that ran, with {watching[0]['callback']} on {watching[0]['monitor']}", ran, asked)]
            remedy += ", and monitor='val_loss' in " + ", ".join(w["callback"] for w in watching)
        found = Finding(says, fact.place.but(step=None), evidence, remedy, confidence=0.93 if watching else 0.75, verified="fact")
        found.severity, found.covers = ("", ENDS_EARLY) if watching else ("warning", ())
        yield found


def of_one_column(facts: list[Fact]) -> Iterator[Finding]:
    """The largest of one column is column 0 in every row: such an answer is the same whatever the model says."""
    fact = next((f for f in facts if f.get("one_column")), None)
    if fact is None:
        return
    told = fact["one_column"]
    file, line = told["line"] or (fact.place.file, fact.place.line)
    yield Finding(
        says=f"the answer is chosen among the columns of `{told.get('model') or fact['model']}`, which has a single one: it is 0 in every row, "
        "whatever the model says",
        place=fact.place.but(file=file, line=line, step=None),
        evidence=[("columns that the answer is chosen among", 1, "one for each class, at least 2"),
                  (f"share of the {told['rows']} true labels that are not 0", told["others"], None),
                  *([("accuracy with a threshold", told["better"], f"{1 - told['others']:.4g} as it is")] if "better" in told else [])],
        remedy="a threshold in place of argmax: 0 for scores, 0.5 behind a sigmoid", confidence=0.93,
        verified={"how": "a threshold tried on the same scores", "before": round(1 - told["others"], 4), "after": told["better"]}
        if "better" in told else "fact",
    )  # fmt: skip
