"""metric-inputs."""

from __future__ import annotations

from collections.abc import Iterator

from ...accuracies import of_one_column, of_quantities
from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...scoring import Confusion


@check(stage="evaluate", severity="error", leads_to=("misleading-metric",))
def metric_inputs(
    metric: list[Fact] = None, hand_broadcast: list[Fact] = None, accuracy_of_quantities: list[Fact] = None, evaluation: list[Fact] = None,
    hand_metric: list[Fact] = None, *, off: float = 0.01,
) -> Iterator[Finding]:  # fmt: skip
    """A metric is given something else than it asks for.

    What it means
    -------------
    Labels where scores are asked for (an area under a curve of hard 0 and 1), truth and answer exchanged, a column (n, 1) and a vector (n,)
    whose difference is a table of all pairs, the largest of a single column; or quantities where classes are asked for.

    Why it is bad
    -------------
    The value is a plausible number of something else: models are ranked by it all the same.

    Evidence
    --------
    Hard labels: the second argument has two values and is what `predict` answered (or scores cut at a threshold). Exchanged: the first
    argument is what a model answered, the second is not, and the value changes by more than 0.01 when they are put right. Pairs: the table's
    entries equal the differences of all pairs of the two variables named. The other class: a classifier's scores rank the two classes the wrong way
    round in every call, six standard errors below an area of 0.5.

    Remedy
    ------
    Give `predict_proba(X)[:, 1]` or `decision_function(X)` to metrics of scores, the truth first, and vectors of one shape.

    Fault
    -----
        import numpy as np
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import roc_auc_score
        rng = np.random.default_rng(0)
        x = rng.normal(size=(600, 3))
        y = (x[:, 0] + rng.normal(size=600) > 0.4).astype(int)
        model = LogisticRegression().fit(x[:300], y[:300])
        answer = model.predict(x[300:])
        print(roc_auc_score(y[300:], answer))  # sabueso: metric-inputs

    Control
    -------
        import numpy as np
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import roc_auc_score
        rng = np.random.default_rng(0)
        x = rng.normal(size=(600, 3))
        y = (x[:, 0] + rng.normal(size=600) > 0.4).astype(int)
        model = LogisticRegression().fit(x[:300], y[:300])
        answer = model.predict_proba(x[300:])[:, 1]
        print(roc_auc_score(y[300:], answer))

    References
    ----------
    Fawcett, An introduction to ROC analysis, 2006.
    """
    yield from (*of_quantities(accuracy_of_quantities or []), *of_one_column([*(evaluation or ()), *(metric or ()), *(hand_metric or ())]))
    for m in metric or []:
        if m.get("hard"):
            yield _hard(m)
        elif m.get("clipped"):
            yield _clipped(m)
        elif m.get("swapped"):
            yield from filter(None, [_swapped(m, off)])
        elif m.get("inverse"):
            yield _inverse(m)
    for b in hand_broadcast or []:
        right, n = b["value_by_row"], b["rows"]
        if abs(b["value"] - right) > off * (abs(right) + 1e-12):
            yield Finding(
                says=f"{b['row']} has shape ({n},) and {b['column']} has shape ({n}, 1): their {b['form']} is a {n} x {n} table of all pairs",
                place=b.place.but(tensor=b["column"]),
                evidence=[("shape of what is averaged", b["shape"], [n]), (f"mean {b['form']} of all pairs", b["value"], right)],
                remedy=f"flatten the column first: {b['column']}.ravel() (or squeeze(1))", confidence=0.97,
                verified={"how": "reckoned row by row from the same variables", "before": b["value"], "after": right},
            )  # fmt: skip


def _hard(m: Fact) -> Finding:
    hard, name = m["hard"], m["metric"]
    what = f"what {hard['model']}.predict answered" if hard["direct"] else f"scores of {hard['model']} cut at a threshold"
    return Finding(
        says=f"{name} is given hard labels ({what}), {hard['distinct']} values in {hard['rows']} rows: it measures one threshold, not the ranking",
        place=m.place.but(tensor="y_score", **dict(zip(("file", "line"), hard.get("line") or ()))),
        evidence=[("distinct values of the scores", hard["distinct"], "about as many as rows"),
                  (name, [round(v, 4) for v in m["values"][:5]], "of scores")],
        remedy=f"give {name} the scores: predict_proba(X)[:, 1] or decision_function(X)", confidence=0.95, verified="fact",
    )  # fmt: skip


def _clipped(m: Fact) -> Finding:
    cut, name = m["clipped"], m["metric"]
    return Finding(
        says=f"{name} is given the raw output of {cut['model']} cut off at 0 and 1, and no probabilities: {cut['outside']:.0%} of it lay outside",
        place=m.place.but(tensor="y_score"),
        evidence=[("range of the raw output", [cut["low"], cut["high"]], "0 to 1"), ("share that was cut off", cut["outside"], 0),
                  (name, [round(v, 4) for v in m["values"][:5]], "of probabilities")],
        remedy="make probabilities of the logits by sigmoid (softmax for several classes), and not by clamp", confidence=0.93, verified="fact",
    )  # fmt: skip


def _inverse(m: Fact) -> Finding:
    turned, name = m["inverse"], m["metric"]
    what = f"column {turned['column']} of {turned['model']}.{turned['method']}" if turned["columns"] else f"{turned['model']}.{turned['method']}"
    other = f"[:, {1 - turned['column']}]" if turned["columns"] and turned["column"] in (0, 1) else ""
    return Finding(
        says=f"{name} is given the scores of the other class: {what} is low where the truth is {turned['positive']}",
        place=m.place.but(tensor="y_score"),
        evidence=[("area under the ROC curve", turned["auc"], f"{1 - turned['auc']:.4g} with the other class"), ("rows", turned["rows"], None)],
        remedy=f"take the class that the truth counts as positive: look it up in {turned['model']}.classes_"
        + (f" ({turned['method']}(X){other})" if other else ""),
        confidence=0.9,
        verified={"how": "reckoned from the same scores turned round", "before": turned["auc"], "after": round(1 - turned["auc"], 4)},
    )


def _swapped(m: Fact, off: float) -> Finding | None:
    name, counts = m["metric"], Confusion.of(m.get("last"))
    now = right = None
    if counts is not None:
        now, right = counts.score(name, m.get("settings") or {}), counts.swapped().score(name, m.get("settings") or {})
    elif name == "r2_score" and m.get("sums") and m["values"]:
        return _exchanged(m, m["values"][-1], None) if m["swapped"] else None
    if right is None or now is None or abs(now - right) < off:
        return None
    return _exchanged(m, now, right)


def _exchanged(m: Fact, now: float, right: float | None) -> Finding:
    name = m["metric"]
    shown = f": {now:.3f} in place of {right:.3f}" if right is not None else ""
    return Finding(
        says=f"{name} is given the model's answer first and the truth second{shown}",
        place=m.place.but(tensor="y_true"),
        evidence=[(f"{name} as called", round(now, 4), right and round(right, 4)), ("first argument", f"answer of {m['swapped']['model']}", "the truth")],
        remedy=f"exchange the arguments: {name}(truth, answer)", confidence=0.93, verified="fact", edit=("exchange", name),
    )  # fmt: skip
