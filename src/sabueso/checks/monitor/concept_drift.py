"""concept-drift."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ... import comparisons
from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...shifts import moved_by, segments, shown


@check(stage="monitor", severity="warning", leads_to=("label-drift", "metric-inputs"), instead=("tables_apart",))
def concept_drift(
    inputs: list[Fact], *, tables_apart: list[Fact] | None = None, worse: float = 1.5, explained: float = 0.25, least: int = 30
) -> Iterator[Finding]:
    """What the inputs mean for the answer has changed: the same inputs now go with other answers.

    What it means
    -------------
    From some row on the model's errors follow one of its inputs, which they did not before, while that input itself is as it was.

    Why it is bad
    -------------
    No look at the inputs can show it; the model must be fitted on rows since the change.

    Evidence
    --------
    The mean error before and after the row, and how much of the error's variance the column explains (chance taken off): after at least a
    quarter more than before. Spoken where the error grows by half and the column's own distribution has not moved. Or the area under the ROC curve
    of two classes, clearly above a half before (0.65) and clearly below it after: the order of the scores has turned round.

    Remedy
    ------
    Refit on rows since the change, or leave the earlier ones out.

    Fault
    -----
        import numpy as np
        from sklearn.ensemble import RandomForestRegressor
        from sklearn.metrics import mean_absolute_error
        rng = np.random.default_rng(0)
        def days(n, sign):
            x = np.column_stack([rng.integers(0, 7, n), rng.normal(15, 5, n)])
            return x, 100 + sign * 40 * (x[:, 0] > 4) + x[:, 1] + rng.normal(0, 4, n)
        x, y = days(400, 1)
        model = RandomForestRegressor(30, random_state=0).fit(x, y)  # sabueso: concept-drift
        for month in range(6):
            x, y = days(40, 1 if month < 3 else -1)
            print(mean_absolute_error(y, model.predict(x)))

    Control
    -------
        import numpy as np
        from sklearn.ensemble import RandomForestRegressor
        from sklearn.metrics import mean_absolute_error
        rng = np.random.default_rng(0)
        def days(n, sign):
            x = np.column_stack([rng.integers(0, 7, n), rng.normal(15, 5, n)])
            return x, 100 + sign * 40 * (x[:, 0] > 4) + x[:, 1] + rng.normal(0, 4, n)
        x, y = days(400, 1)
        model = RandomForestRegressor(30, random_state=0).fit(x, y)
        for month in range(6):
            x, y = days(40, 1)
            print(mean_absolute_error(y, model.predict(x)))

    References
    ----------
    Gama et al., A survey on concept drift adaptation, 2014.
    """
    yield from comparisons.concept(tables_apart or ())
    for fact in inputs:
        change = (fact.get("truth") or {}).get("change")
        if not change or change["from"] == 0 or change["to"] - change["from"] < least or change["from"] < least:
            continue
        if turned(fact, change):
            yield _turned(fact, change)
            continue
        if change["error_after"] < worse * change["error_before"]:
            continue
        moved = {c["name"]: max((moved_by(c, s).effect for s in segments(c)), default=0.0) for c in fact["columns"] if c["kind"] == "number"}
        rows = change["to"] - change["from"]  # among many columns one explains a quarter of few rows by chance
        enough = max(explained, 20 / rows)
        best = next((e for e in change.get("explains") or [] if e["after"] - e["before"] >= enough and moved.get(e["column"], 0.0) < 0.3), None)
        if best is not None:
            yield _finding(fact, change, best)


def _finding(fact: Fact, change: dict[str, Any], best: dict[str, Any]) -> Finding:
    name, first = best["column"], change["from"]
    return Finding(
        says=f"from row {change['row']} on (the {first + 1}th that {fact['model']} judged) its errors follow {name}, which itself is as before: "
        f"what {name} means for the answer has changed",
        place=fact.place.but(file=fact["fit_file"], line=fact["fit_line"], column=name, row=change["rows"], stage="monitor"),
        evidence=[("mean error before", shown(change["error_before"]), None),
                  ("mean error after", shown(change["error_after"]), shown(change["error_before"])),
                  (f"share of the error's variance that {name} explains before", round(best["before"], 3), None),
                  (f"share of the error's variance that {name} explains after", round(best["after"], 3), round(best["before"], 3))],
        remedy=f"fit again on rows from row {change['row']} on (or with what changed then as an input)", confidence=0.9, verified="fact",
    )  # fmt: skip


def turned(fact: Fact, change: dict[str, Any], well: float = 0.65, clear: float = 5.0) -> bool:
    """Do scores that put the classes in order before put them in the other order after, while no input has moved?"""
    before, after = change.get("ranked") or (None, None)
    rows = change["to"] - change["from"]
    if before is None or after is None or before < well or 0.5 - after < clear * 0.6 / rows**0.5:
        return False
    return all(moved_by(c, s).effect < 0.3 for c in fact["columns"] if c["kind"] == "number" and "cur_counts" in c for s in segments(c))


def _turned(fact: Fact, change: dict[str, Any]) -> Finding:
    before, after = change["ranked"]
    name = next((e["column"] for e in change.get("explains") or [] if e["after"] - e["before"] >= 0.05), None)
    return Finding(
        says=f"from row {change['row']} on (the {change['from'] + 1}th that {fact['model']} judged) its scores put the classes in the wrong order, though "
        f"its inputs are as before{f': what {name} means for the answer has changed' if name else ''}",
        place=fact.place.but(column=name, row=change["rows"], stage="monitor"),
        evidence=[("area under the ROC curve before", round(before, 3), None), ("area under the ROC curve after", round(after, 3), round(before, 3)),
                  ("rows since", change["to"] - change["from"], None)],
        remedy=f"fit again on rows from row {change['row']} on (or with what changed then as an input)", confidence=0.9, verified="fact",
    )  # fmt: skip
