"""label-encoding-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from ... import alignment
from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...scoring import Confusion


@check(
    stage="preprocess", severity="error", leads_to=("label-conflict", "misaligned-labels", "label-drift", "concept-drift", "misleading-metric", "not-learning")
)
def label_encoding_mismatch(
    *, label_codes: list[Fact] | None = None, label_agreement: list[Fact] | None = None, metric: list[Fact] | None = None,
    hand_metric: list[Fact] | None = None, labels_compared: list[Fact] | None = None,
) -> Iterator[Finding]:  # fmt: skip
    """One number stands for one class where the model learnt and for another where it is judged or asked.

    What it means
    -------------
    Labels are numbered twice: an encoder is fitted again on other labels, or names are stored in another order than the one that numbered
    them for training.

    Why it is bad
    -------------
    Right answers count as wrong, or are given out under another name.

    Evidence
    --------
    Both orders, and how many classes have another number. Spoken where the labels compared were made by another fit of an encoder than those
    of the training, or where a stored list holds just the names that a dictionary numbers, in another order, and the dictionary is not stored.

    Remedy
    ------
    Fit one encoder, keep it, and only transform elsewhere; store names in the order of their numbers.

    Fault
    -----
        import numpy as np
        from sklearn.metrics import accuracy_score
        from sklearn.preprocessing import LabelEncoder
        from sklearn.tree import DecisionTreeClassifier
        rng = np.random.default_rng(0)
        names = np.array(["ant", "bee", "cat"])
        kind = rng.integers(0, 3, 300)
        x = kind[:, None] + rng.normal(0, 0.1, (300, 2))
        y = LabelEncoder().fit_transform(names[kind[:200]])
        model = DecisionTreeClassifier().fit(x[:200], y)
        late = kind[200:] > 0
        truth = LabelEncoder().fit_transform(names[kind[200:][late]])  # sabueso: label-encoding-mismatch
        print(accuracy_score(truth, model.predict(x[200:][late])))

    Control
    -------
        import numpy as np
        from sklearn.metrics import accuracy_score
        from sklearn.preprocessing import LabelEncoder
        from sklearn.tree import DecisionTreeClassifier
        rng = np.random.default_rng(0)
        names = np.array(["ant", "bee", "cat"])
        kind = rng.integers(0, 3, 300)
        x = kind[:, None] + rng.normal(0, 0.1, (300, 2))
        encoder = LabelEncoder().fit(names[kind[:200]])
        model = DecisionTreeClassifier().fit(x[:200], encoder.transform(names[kind[:200]]))
        late = kind[200:] > 0
        truth = encoder.transform(names[kind[200:][late]])
        print(accuracy_score(truth, model.predict(x[200:][late])))

    References
    ----------
    scikit-learn documentation, LabelEncoder.
    """
    for fact in label_codes or ():
        yield _encoded(fact) if fact["how"] == "encoded" else _stored(fact)
    yield from (alignment.of(f) for f in label_agreement or () if f["kind"] == "renamed")  # one part of the rows is numbered otherwise
    if not label_codes:
        yield from _renamed([*(metric or ()), *(f for f in hand_metric or () if f.get("form") == "equal"), *(labels_compared or ())])


def _renamed(comparisons: list[Fact]) -> Iterator[Finding]:
    """Answers that are right but for the names of the classes, which change places one to one."""
    for fact in comparisons:
        counts = Confusion.of(fact.get("last") or fact.get("confusion"))
        named = counts.renaming() if counts is not None and not fact.get("clusters") else None
        if counts is None or named is None:
            continue
        moved = {t: p for t, p in named.items() if t != p}
        right = sum(counts.counts.get(pair, 0) for pair in named.items()) / counts.rows
        first = ", ".join(f"{p} for {t}" for t, p in list(moved.items())[:4])
        yield Finding(
            says=f"{counts.accuracy:.0%} of {counts.rows} answers equal the truth, but with the classes renamed one to one it is {right:.0%} ({first}): "
            f"{len(moved)} of {len(named)} classes are numbered otherwise here than where the model learnt",
            place=fact.place.but(stage="preprocess"),
            evidence=[("share of answers that equal the truth", round(counts.accuracy, 3), round(right, 3)), ("classes with another name", len(moved), 0),
                      ("answer by true class", named, {t: t for t in named})],
            remedy="number the classes by one stored order (sorted names, encoder.classes_) on both sides", confidence=0.92, verified="fact",
            covers=("concept-drift", "label-drift", "misleading-metric", "preprocess-skew"),
        )  # fmt: skip
        return


def _encoded(fact: Fact) -> Finding:
    lacks = f" (they have no {', '.join(map(repr, fact['lacks'][:3]))})" if fact["lacks"] else ""
    return Finding(
        says=f"the labels compared are numbered by a second {fact['encoder']} fitted on {fact['rows']} other labels{lacks}: {fact['moved']} of "
        f"{fact['classes']} classes have another number than in training",
        place=fact.place.but(tensor="y_true"),
        evidence=[("classes by number in training", fact["numbered"], None), ("classes by number here", fact["stored"], fact["numbered"]),
                  ("classes with another number", fact["moved"], 0)],
        remedy=f"keep the {fact['encoder']} of the training (line {fact['fit_line']}) and call its transform here",
        confidence=0.97, verified="fact",
    )  # fmt: skip


def _stored(fact: Fact) -> Finding:
    return Finding(
        says=f"{fact['name']} numbers the classes {', '.join(fact['numbered'][:5])}, but {fact['where'] or 'the list'} is stored as "
        f"{', '.join(fact['stored'][:5])}: {fact['moved']} of {fact['classes']} numbers decode to another name",
        place=fact.place.but(tensor=fact["where"] or None, stage="deploy"),
        evidence=[(f"names by number in {fact['name']}", fact["numbered"], None), ("names as stored", fact["stored"], fact["numbered"]),
                  ("classes with another number", fact["moved"], 0)],
        remedy=f"store the names in the order of their numbers: sorted({fact['name']}, key={fact['name']}.get)", confidence=0.9,
        verified="fact",
        stage="deploy",
    )  # fmt: skip
