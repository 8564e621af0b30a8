"""tuned-on-test."""

from __future__ import annotations

from collections.abc import Iterator

from ... import row_uses
from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(stage="evaluate", severity="error", leads_to=("misleading-metric", "tested-on-train"))
def tuned_on_test(
    *, choice: list[Fact] | None = None, row_use: list[Fact] | None = None, metric: list[Fact] | None = None, many: int = 10
) -> Iterator[Finding]:
    """A model, its seed, threshold or length was chosen by the very rows that then give its score.

    What it means
    -------------
    Many candidates were compared on the test rows and the best one's score on them is reported, or training was stopped where the test rows
    liked it best.

    Why it is bad
    -------------
    The best of many scores is high by luck: of 25 seeds and thresholds on 60 rows several points. New rows don't repeat it.

    Evidence
    --------
    Fits on the same rows compared on the same others (at least five), one of which was judged on those again afterwards, while a part that
    was split off for choosing lies unused; without such a part ten fits of one kind are asked for, and no evaluation on other
    rows. Or rows that stopped a boosted training early and make up more than half of the only rows it is judged on.

    Remedy
    ------
    Choose on a validation part or by cross-validation of the training rows, and look at the test rows once.

    Fault
    -----
        import numpy as np
        from sklearn.model_selection import train_test_split
        from sklearn.tree import DecisionTreeClassifier
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 5))
        y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
        X_fit, X_rest, y_fit, y_rest = train_test_split(X, y, test_size=120, random_state=0)
        X_pick, X_test, y_pick, y_test = train_test_split(X_rest, y_rest, test_size=60, random_state=0)
        models = [DecisionTreeClassifier(max_depth=3, max_features=2, random_state=s).fit(X_fit, y_fit) for s in range(12)]
        scores = [m.score(X_test, y_test) for m in models]  # sabueso: tuned-on-test
        best = models[int(np.argmax(scores))]
        print(best.score(X_test, y_test))

    Control
    -------
        import numpy as np
        from sklearn.model_selection import train_test_split
        from sklearn.tree import DecisionTreeClassifier
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 5))
        y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
        X_fit, X_rest, y_fit, y_rest = train_test_split(X, y, test_size=120, random_state=0)
        X_pick, X_test, y_pick, y_test = train_test_split(X_rest, y_rest, test_size=60, random_state=0)
        models = [DecisionTreeClassifier(max_depth=3, max_features=2, random_state=s).fit(X_fit, y_fit) for s in range(12)]
        scores = [m.score(X_pick, y_pick) for m in models]
        best = models[int(np.argmax(scores))]
        print(best.score(X_test, y_test))

    References
    ----------
    Cawley and Talbot, On over-fitting in model selection and subsequent selection bias in performance evaluation (2010).
    """
    for fact in choice or ():
        spare = fact["spare_rows"] > 0
        if not spare and (fact["compared"] < many or fact["elsewhere"]):
            continue
        says = (
            f"{fact['compared']} models were compared on the {fact['rows']} rows on which the chosen one is then reported "
            f"({row_uses.where(fact['report_line'])})"
        )
        yield Finding(
            says=says + (f", while the {fact['spare_rows']} rows of {fact['spare']!r} lie unused." if spare else "; it is judged on no other rows."),
            place=fact.place,
            evidence=[("models compared on the reported rows", fact["compared"], 0), ("rows", fact["rows"], None),
                      ("other rows that the chosen model is judged on", fact["elsewhere"], "at least one set"),
                      ("rows split off and never used", fact["spare_rows"], 0)],
            remedy=f"Compare on {fact['spare']!r} and look at the reported rows once, at the end." if spare
            else "Compare by cross-validation on the training rows (or on a validation part), and look at the test rows once.",
            severity="error" if spare else "warning", confidence=0.93 if spare else 0.75, verified="fact",
        )  # fmt: skip
        return
    yield from (_swept(f, again) for f in metric or () if f.get("sweep") and (again := reported(f, metric or ())) is not None)
    pairs = [p for p in row_use or () if p["how"] != "folds" and row_uses.held_out(p)]
    for pair in pairs:
        watched = [e for e in pair["eval_sets"] if e["stops"] and e["hits"] > 0.5 * pair["eval_distinct"]]
        others = any(p["fit"] == pair["fit"] and not any(e["stops"] and e["hits"] for e in p["eval_sets"]) and row_uses.clean(p) for p in pairs)
        if watched and not others:
            yield Finding(
                says=f"Training of {pair['model']} was stopped early by {watched[0]['hits']} of the {pair['eval_distinct']} rows that then score it.",
                place=pair.place.but(file=pair["train_line"][0], line=pair["train_line"][1]),
                evidence=[("rows that stopped training and give the score", watched[0]["hits"], 0), ("rows judged", pair["eval_rows"], None)],
                remedy="Cut a validation part off the training rows for early stopping; keep the test rows for the score.",
                severity="warning", confidence=0.85, verified="fact",
            )  # fmt: skip
            return


def reported(swept: Fact, metrics: list[Fact]) -> Fact | None:
    """The call that gives the best value of a sweep over thresholds again, on as many rows; None where the metric is also told of other rows."""
    best = swept["sweep"]["best"]
    same = [m for m in metrics if m is not swept and m["metric"] == swept["metric"] and m["via"] == "call" and not m.get("sweep")]
    again = [m for m in same if set(m["sizes"]) == {swept["sweep"]["rows"]} and len(set(m["values"])) == 1 and m["values"][0] in best]
    return again[0] if again and len(again) == len(same) else None


def _swept(fact: Fact, again: Fact) -> Finding:
    name, cuts = fact["metric"], fact["calls"]
    return Finding(
        says=f"{name} was taken at {cuts} thresholds on the {fact['sweep']['rows']} rows on which the best of them is then reported "
             f"({row_uses.where([again.place.file, again.place.line])}).",
        place=fact.place,
        evidence=[("thresholds compared on the reported rows", cuts, 0), ("rows", fact["sweep"]["rows"], None),
                  (f"best {name} of the sweep, reported", again["values"][0], "that of other rows")],
        remedy="Choose the threshold on a validation part of the training rows, and apply it once to the test rows.",
        severity="error", confidence=0.88, verified="fact",
    )  # fmt: skip
