"""label-drift."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ... import comparisons, drift
from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...shifts import moved_by, segments, shown


@check(stage="monitor", severity="warning", instead=("tables_apart",))
def label_drift(inputs: list[Fact], *, tables_apart: list[Fact] | None = None, effect: float = 0.2, sure: float = 1e-6, least: int = 50) -> Iterator[Finding]:
    """The answers that are right have another average than where the model learnt, its inputs do not, and its scores have not followed.

    What it means
    -------------
    The share of a class (or the mean of a quantity) has changed between the rows of the fit and the rows judged.

    Why it is bad
    -------------
    A model carries the share of its fit along: its probabilities and its threshold are off by what has changed.

    Evidence
    --------
    The mean of the labels at fit and in these rows, and the mean of what the model answered there, which lies nearer to the fit's. Spoken at
    a fifth of a standard deviation, beyond chance (p < 1e-6), where no input has moved by itself.

    Remedy
    ------
    Refit on recent rows, or correct the intercept for the new share (King and Zeng), and choose the threshold anew.

    Fault
    -----
        import numpy as np
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import log_loss
        rng = np.random.default_rng(0)
        def month(n, base):
            x = rng.normal(size=(n, 2))
            return x, (rng.random(n) < 1 / (1 + np.exp(-(base + 0.5 * x[:, 0])))).astype(int)
        x, y = month(2000, -2.5)
        model = LogisticRegression().fit(x, y)
        x, y = month(1500, 0.0)
        answer = model.predict_proba(x)[:, 1]  # sabueso: label-drift
        print(log_loss(y, answer))

    Control
    -------
        import numpy as np
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import log_loss
        rng = np.random.default_rng(0)
        def month(n, base):
            x = rng.normal(size=(n, 2))
            return x, (rng.random(n) < 1 / (1 + np.exp(-(base + 0.5 * x[:, 0])))).astype(int)
        x, y = month(2000, -2.5)
        model = LogisticRegression().fit(x, y)
        x, y = month(1500, -2.4)
        answer = model.predict_proba(x)[:, 1]
        print(log_loss(y, answer))

    References
    ----------
    Lipton et al., Detecting and correcting for label shift with black box predictors, 2018.
    """
    yield from comparisons.label(tables_apart or ())
    for fact in inputs:
        truth = fact.get("truth") or {}
        if truth.get("kind") != "number" or "fit_mean" not in truth or truth["rows"] < least or not truth["fit_sd"] or fact["method"] != "predict_proba":
            continue
        moved, sd = truth["true_mean"] - truth["fit_mean"], truth["fit_sd"]
        followed = (truth["answer_mean"] - truth["fit_mean"]) / moved if moved else 1.0
        error = math.hypot(sd / math.sqrt(truth["fit_count"]), truth["true_sd"] / math.sqrt(truth["rows"]))
        if abs(moved) < effect * sd or 2 * drift.normal_tail(abs(moved) / max(error, 1e-12)) > sure or not -0.2 < followed < 0.5:
            continue
        if any(moved_by(c, s).effect >= 0.3 for c in fact["columns"] if c["kind"] == "number" and "cur_counts" in c for s in segments(c)):
            continue
        since = truth.get("since") or {"rows": None}
        start = f" from row {since['rows'][0]} on, {shown(since['after'])} after {shown(since['before'])} before," if since["rows"] else ""
        yield Finding(
            says=f"the labels average {shown(truth['true_mean'])} here{start} and {shown(truth['fit_mean'])} where {fact['model']} learnt; its scores average "
            f"{shown(truth['answer_mean'])} still",
            place=fact.place.but(tensor="y", column=truth.get("column"), row=since["rows"], stage="monitor"),
            evidence=[("mean of the labels at fit", shown(truth["fit_mean"]), None),
                      ("mean of the labels here", shown(truth["true_mean"]), shown(truth["fit_mean"])),
                      ("mean of the model's scores here", shown(truth["answer_mean"]), shown(truth["true_mean"])),
                                ("rows judged", truth["rows"], None)],
            remedy="fit again on recent rows, or shift the intercept by the change of the log-odds; then choose the threshold anew",
            confidence=0.8, verified="fact",
        )  # fmt: skip
