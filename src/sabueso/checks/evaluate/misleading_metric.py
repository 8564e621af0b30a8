"""misleading-metric."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...scoring import ACCURACY, Confusion


@check(stage="evaluate", severity="warning", leads_to=("class-imbalance",))
def misleading_metric(
    metric: list[Fact] = None, search: list[Fact] = None, hand_metric: list[Fact] = None, *,
    rare: float = 0.1, skill: float = 0.25, least: int = 5, gain: float = 0.1,
) -> Iterator[Finding]:  # fmt: skip
    """Accuracy is what decides, though one class is so rare that always answering the other is as good.

    What it means
    -------------
    A model is judged, or a setting is chosen, by accuracy on labels of which one class is rare.

    Why it is bad
    -------------
    Accuracy then measures the share of the frequent class. A model that never finds the rare one looks excellent, and a search picks it.

    Evidence
    --------
    The accuracy beside that of the majority's answer, and the recall of the rare class. Spoken only of a class under a tenth of the rows,
    beside one with over four fifths, where no metric that sees the rare class was reckoned (of accuracy made by hand: nor named in the
    program), and where accuracy gains less than a quarter of what the majority's answer leaves open. Of a search: where another
    candidate reaches a balanced accuracy that is higher by a tenth. (Thresholds: our own; the reference programs lie at gains of 0 and
    0.4 to 0.8.)

    Remedy
    ------
    Judge by balanced accuracy, average precision, F1 or recall at a given precision.

    Fault
    -----
        import numpy as np
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import accuracy_score
        rng = np.random.default_rng(0)
        y = (rng.random(4000) < 0.03).astype(int)
        x = rng.normal(size=(4000, 3)) + 0.8 * y[:, None]
        model = LogisticRegression().fit(x[:2000], y[:2000])
        print(accuracy_score(y[2000:], model.predict(x[2000:])))  # sabueso: misleading-metric

    Control
    -------
        import numpy as np
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import accuracy_score, average_precision_score
        rng = np.random.default_rng(0)
        y = (rng.random(4000) < 0.03).astype(int)
        x = rng.normal(size=(4000, 3)) + 0.8 * y[:, None]
        model = LogisticRegression().fit(x[:2000], y[:2000])
        print(accuracy_score(y[2000:], model.predict(x[2000:])))
        print(average_precision_score(y[2000:], model.predict_proba(x[2000:])[:, 1]))

    References
    ----------
    He and Garcia, Learning from imbalanced data, 2009.
    """
    searches = search or []
    yield from (f for s in searches if (f := _search(s, rare, gain)) is not None)
    places = {(s.place.file, s.place.line) for s in searches}
    sees = [m for m in metric or [] if m["metric"] not in ACCURACY and not (m["via"] != "call" and (m.place.file, m.place.line) in places)]
    by_hand = [h for h in hand_metric or [] if h.get("form") == "equal" and not h.get("named")]
    for m in [*(metric or []), *by_hand]:
        counts = Confusion.of(m.get("last") or m.get("confusion"))
        if m.get("metric", "accuracy_score") not in ACCURACY or counts is None or (m.place.file, m.place.line) in places or len(counts.truths) < 2:
            continue
        label, few = counts.rarest, counts.truths[counts.rarest]
        if few > rare * counts.rows or counts.majority < 1 - 2 * rare or few < least or any(_of_same(o, counts, rare) for o in sees):
            continue
        if (counts.accuracy - counts.majority) / (1 - counts.majority) < skill and counts.recall(label) < 0.6:
            yield Finding(
                says=f"accuracy {counts.accuracy:.3f} says nothing of class {label}: always answering the other gives {counts.majority:.3f}, "
                f"and {few - counts.counts.get((label, label), 0)} of its {few} rows are missed",
                place=m.place, evidence=_numbers(counts), remedy=REMEDY, confidence=0.9, verified="fact",
            )  # fmt: skip


REMEDY = "judge by balanced_accuracy_score, average_precision_score or recall_score beside (or in place of) accuracy"


def _numbers(counts: Confusion) -> list[tuple[str, float, object]]:
    label = counts.rarest
    return [("accuracy", round(counts.accuracy, 4), "well above the majority's answer"), ("accuracy of always answering the frequent class",
            round(counts.majority, 4), None), (f"recall of class {label}", round(counts.recall(label), 3), "> 0.6"),
            (f"rows of class {label}", counts.truths[label], f"of {counts.rows}")]  # fmt: skip


def _of_same(other: Fact, counts: Confusion, rare: float) -> bool:
    """Does another metric of the run look at labels of this kind (a rare class too)?"""
    seen = Confusion.of(other.get("pooled"))
    return seen is None or len(seen.truths) < 2 or min(seen.truths.values()) <= 2.5 * rare * seen.rows


def _search(s: Fact, rare: float, gain: float) -> Finding | None:
    """A search by accuracy that passed over a candidate which finds the rare class."""
    tables = [Confusion.of(c) for c in s.get("confusions") or []]
    if s.get("metric") not in ACCURACY or not tables or any(t is None or len(t.truths) < 2 for t in tables):
        return None
    best = max(range(len(tables)), key=lambda i: s["scores"][i])
    chosen, other = tables[best], max(tables, key=lambda t: t.balanced)
    label = chosen.rarest
    if chosen.truths[label] > rare * chosen.rows or chosen.majority < 1 - 2 * rare or other.balanced - chosen.balanced < gain:
        return None
    if (chosen.accuracy - chosen.majority) / (1 - chosen.majority) > 0.25:
        return None
    return Finding(
        says=f"{s['search']} chose by accuracy {s['candidates'][best]}, which finds {chosen.recall(label):.0%} of class {label} "
        f"({chosen.truths[label]} of {chosen.rows} rows); another candidate finds {other.recall(label):.0%}",
        place=s.place,
        evidence=[*_numbers(chosen)[:3], ("balanced accuracy of the chosen candidate", round(chosen.balanced, 3), None),
                  ("best balanced accuracy among the candidates", round(other.balanced, 3), None)],
        remedy='search with scoring="balanced_accuracy" or "average_precision"', confidence=0.95,
        verified={"how": "all candidates' answers on the same folds", "before": round(chosen.balanced, 3), "after": round(other.balanced, 3)},
    )  # fmt: skip
