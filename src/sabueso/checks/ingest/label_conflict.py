"""label-conflict."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(stage="ingest", severity="error", leads_to=("duplicate-rows", "join-explosion", "group-leakage", "underfitting", "split-overlap"))
def label_conflict(label_twins: list[Fact]) -> Iterator[Finding]:
    """The same thing stands in the table more than once, with different labels.

    What it means
    -------------
    Rows that are equal in every feature are one object that was labelled twice, by two people or at two times, and the two don't agree.

    Why it is bad
    -------------
    No model can fit both labels; one of them is wrong, in training and in the score.

    Evidence
    --------
    How many rows repeat an earlier one, and how many of those carry another label (at least 20 and 1 per cent of the rows). Equal rows
    must be no chance (expected number under independence at most 2 per cent of them), and must disagree at least twice as often as
    similar but unequal rows do: where labels are a matter of chance, as clicks are, nothing is said.

    Remedy
    ------
    Keep one label an object: that of the better source, or the majority; join on the last grading only.

    Fault
    -----
        import numpy as np
        import pandas as pd
        from sklearn.tree import DecisionTreeClassifier
        rng = np.random.default_rng(0)
        birds = pd.DataFrame({"bill": rng.normal(44, 5, 300), "mass": rng.normal(4200, 700, 300)})
        birds["kind"] = np.where(birds["bill"] > 44, "gentoo", "adelie")
        again = birds.iloc[:80].assign(kind=lambda t: np.where(t["kind"] == "adelie", "gentoo", "adelie"))
        table = pd.concat([birds, again], ignore_index=True)
        DecisionTreeClassifier().fit(table[["bill", "mass"]], table["kind"])  # sabueso: label-conflict

    Control
    -------
        import numpy as np
        import pandas as pd
        from sklearn.tree import DecisionTreeClassifier
        rng = np.random.default_rng(0)
        birds = pd.DataFrame({"bill": rng.normal(44, 5, 300), "mass": rng.normal(4200, 700, 300)})
        birds["kind"] = np.where(birds["bill"] > 44, "gentoo", "adelie")
        again = birds.iloc[:80]
        table = pd.concat([birds, again], ignore_index=True)
        DecisionTreeClassifier().fit(table[["bill", "mass"]], table["kind"])

    References
    ----------
    Deepchecks, "Conflicting Labels"; Northcutt et al., Pervasive Label Errors in Test Sets (2021).
    """
    for fact in label_twins[:1]:
        table = f" of {fact['table']}" if fact["table"] else ""
        yield Finding(
            says=f"{fact['conflicting']} rows{table} equal an earlier row in every feature but carry another {fact['labels']}.",
            place=fact.place.but(column=fact["labels"], row=fact["row_numbers"], stage="ingest"),
            evidence=[("rows that repeat an earlier one", fact["repeated"], None), ("of them with another label", fact["conflicting"], 0),
                      ("share of repeats that disagree", fact["share"], f"{fact['similar_disagree']} among similar rows")],
            remedy=f"Decide which {fact['labels']} holds for each repeated row (source, date) and drop the other before the split.",
            confidence=0.93, verified="fact",
        )  # fmt: skip
