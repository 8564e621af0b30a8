"""time-leakage."""

from __future__ import annotations

from collections.abc import Iterator

from ... import comparisons
from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(stage="preprocess", severity="error", leads_to=("target-leakage", "overfitting"), instead=("rows_shared",))
def time_leakage(window: list[Fact] | None = None, *, windows_shared: list[Fact] | None = None, rows_shared: list[Fact] | None = None) -> Iterator[Finding]:
    """An input holds the row's own answer or later values, or windows over one series were split at random.

    What it means
    -------------
    A moving mean or sum ends on the day that is forecast, is centred, or a column was shifted the wrong way, so that each row's inputs hold
    values which will not exist when the forecast is made.

    Why it is bad
    -------------
    Any split, in time too, shows an excellent score, and the model is useless on the day it is used.

    Evidence
    --------
    The input equals, in at least 80 % of sampled rows and to five digits, a mean or sum of the target over a window that ends at the row itself
    or later; or of another input over a window that reaches as far ahead as the target lies (its later value, or whether it rises).
    Windows that end before the row fit none of these. Or, in the windows given to a network: a channel is a weighted sum of another one and of the
    value to be predicted, to four digits, and is none without it. Or: each row is the one before it moved on by a step, and a fifth of the judged rows and more
    have training rows on either side, which hold their values and their answers (a half cut off at random: a quarter).

    Remedy
    ------
    Shift before rolling (`sales.shift(1).rolling(7).mean()`), let filters look back only, and ask of each input when it is known.

    Fault
    -----
        import numpy as np
        import pandas as pd
        from sklearn.linear_model import Ridge
        rng = np.random.default_rng(0)
        t = pd.DataFrame({"sales": rng.gamma(20, 5, 500), "promo": rng.integers(0, 2, 500)})
        t["recent"] = t["sales"].rolling(3).mean()  # sabueso: time-leakage
        t["before"] = t["sales"].shift(1)
        t = t.dropna()
        X, y = t[["promo", "recent", "before"]], t["sales"]
        print(Ridge().fit(X[:400], y[:400]).score(X[400:], y[400:]))

    Control
    -------
        import numpy as np
        import pandas as pd
        from sklearn.linear_model import Ridge
        rng = np.random.default_rng(0)
        t = pd.DataFrame({"sales": rng.gamma(20, 5, 500), "promo": rng.integers(0, 2, 500)})
        t["recent"] = t["sales"].shift(1).rolling(3).mean()
        t["before"] = t["sales"].shift(1)
        t = t.dropna()
        X, y = t[["promo", "recent", "before"]], t["sales"]
        print(Ridge().fit(X[:400], y[:400]).score(X[400:], y[400:]))

    References
    ----------
    Kapoor and Narayanan, Leakage and the reproducibility crisis in machine-learning-based science (2023), L3.1 temporal leakage.

    Known limits
    ------------
    Rows must follow each other as in the series; weighted windows, medians and smoothing by Fourier transforms are not recognised.
    """
    yield from comparisons.shared_times(rows_shared or ())
    yield from cut_at_random(windows_shared or [])
    yield from ({"own value": own_value, "centred": centred}[f["how"]](f) for f in (window or [])[:1] if f.get("how"))
    if not window or window[0].get("how"):
        return
    first = min(window, key=lambda w: (w["of"] != "the target", w["length"], w["position"]))
    names = list(dict.fromkeys(w.get("name") or w["column"] for w in window))
    own = first["of"] == "the target"
    span = f"{first['length']} rows" if first["length"] > 1 else "one row"
    reach = "the row's own answer" if own and not first["ahead"] else f"{first['ahead']} row{'s' * (first['ahead'] > 1)} ahead"
    remedy = f"Let {names[0]!r} look back only: shift the series by one before the window ({names[0]} = series.shift(1).rolling({first['length']}).mean())"
    yield Finding(
        says=f"{names[0]!r} is the mean of {first['of']} over {span} that hold {reach}: it knows what is to be forecast.",
        place=first.place.but(column=[w["column"] for w in window if w["of"] == first["of"]], stage="preprocess"),
        evidence=[("rows of the window", first["length"], None), ("rows that it reaches ahead of the last known one", first["ahead"] + own, 0),
                  ("sampled rows in which it is just that mean", first["share"], 0.0), ("inputs that look ahead", len(names), 0)],
        remedy=remedy + (", and drop the rows that have no past." if own else ", with no centring."),
        confidence=0.95, verified="fact",
    )  # fmt: skip


def own_value(fact: Fact) -> Finding:
    """Windows over a series that hold what is to be predicted from them."""
    late = fact["length"] - fact["position"]
    return Finding(
        says=f"each window of {fact['name']!r} holds, as value {fact['position'] + 1} of {fact['length']}, the very value of {fact['series']!r} that "
             f"{fact['model']} is to predict from it",
        place=fact.place.but(stage="preprocess"),
        evidence=[("rows in which the window holds its own target", fact["rows"], 0), ("values of a window", fact["length"], None),
                  ("its place in the window", fact["position"] + 1, "after the window's end")],
        remedy=f"let each window end before its target: begin it {late} step{'s' * (late > 1)} earlier, or take the target {late} later",
        confidence=0.95, verified="fact",
    )  # fmt: skip


def centred(fact: Fact) -> Finding:
    """A smoothing of the series that looks both ways, cut into windows afterwards."""
    return Finding(
        says=f"channel {fact['channel'] + 1} of each window is a smoothing of the series that looks {fact['ahead']} values ahead: value "
             f"{fact['position'] + 1} of its {fact['length']} was reckoned from the very value that is to be predicted",
        place=fact.place.but(stage="preprocess"),
        evidence=[("values that the smoothing looks ahead", fact["ahead"], 0), ("rows in which it is a weighted sum with the target", fact["rows"], 0),
                  ("values of a window", fact["length"], None)],
        remedy="smooth within each window, once it is cut (filter(series[end - length : end])), or with a filter that looks back only",
        confidence=0.94, verified="fact",
    )  # fmt: skip


def cut_at_random(facts: list[Fact]) -> Iterator[Finding]:
    """Windows that overlap on both sides of a split."""
    for fact in facts[:1]:
        yield Finding(
            says=f"the rows are windows of {fact['width']} values over one series, {fact['step']} apart, split at random: {fact['between']} of the "
                 f"{fact['rows']} rows that {fact['model']} is judged on lie between training rows, which hold their values and answers",
            place=fact.place.but(row=fact["row_numbers"] or None, stage="preprocess"),
            evidence=[("judged windows with a training window just before and after", fact["between"], 0), ("rows judged", fact["rows"], None),
                      ("values that two windows in a row share", fact["width"] - fact["step"], 0)],
            remedy="split the series in time first (the last part for the test), then cut windows out of each part; or TimeSeriesSplit with a gap",
            confidence=0.93, verified="fact",
        )  # fmt: skip
