"""covariate-drift."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ... import comparisons, stored_models
from ...catalogue import check
from ...drift import Moved
from ...events import Fact
from ...findings import Finding
from ...shifts import Harm, Segment, drifted, harm, moved_by, outside, segments, shown, together


@check(stage="monitor", severity="warning", leads_to=("concept-drift", "label-drift"), instead=("tables_apart",))
def covariate_drift(
    inputs: list[Fact] = None, remembered: list[Fact] = None, *, tables_apart: list[Fact] = None, effect: float = 0.3, sure: float = 1e-6, least: int = 20
) -> Iterator[Finding]:
    """A column's values have moved away from those that the model learnt, and the model is worse for it.

    What it means
    -------------
    Later rows of a column are distributed otherwise than at fit: a sensor's gain, another clientele, a season that was not there.

    Why it is bad
    -------------
    The model answers where it has seen little, and its error grows without any failure.

    Evidence
    --------
    The distance in standard deviations of mid-ranks (effect, noise taken off; 0.1 is small, 0.3 marked) with p of "no more than 0.02", the
    means, the first row, and the error before and after. Drift without harm is not told: two months always differ. Of a stored model harm is
    also answers off to one side beyond the learnt range. Not told where all of many columns move at once (lags of one series), unless stored.

    Remedy
    ------
    Mend the source of the column if it is one of measurement, else fit again with rows of the new kind.

    Fault
    -----
        import numpy as np
        from sklearn.ensemble import RandomForestRegressor
        from sklearn.metrics import mean_absolute_error
        rng = np.random.default_rng(0)
        def day(n, gain):
            x = rng.gamma(4, 0.5, (n, 2))
            y = 3 * x[:, 0] ** 1.5 + x[:, 1] + rng.normal(0, 0.5, n)
            return x * [gain, 1.0], y
        x, y = day(1000, 1.0)
        model = RandomForestRegressor(30, random_state=0).fit(x, y)
        for number in range(8):
            x, y = day(60, 1.0 if number < 4 else 1.7)
            answer = model.predict(x)  # sabueso: covariate-drift
            print(mean_absolute_error(y, answer))

    Control
    -------
        import numpy as np
        from sklearn.linear_model import LinearRegression
        from sklearn.metrics import mean_absolute_error
        rng = np.random.default_rng(0)
        def day(n, shift):
            x = rng.normal(shift, 1.0, (n, 2))
            return x, x @ [2.0, 1.0] + rng.normal(0, 0.5, n)
        x, y = day(1000, 0.0)
        model = LinearRegression().fit(x, y)
        for number in range(8):
            x, y = day(60, 0.0 if number < 4 else 1.5)
            answer = model.predict(x)
            print(mean_absolute_error(y, answer))

    References
    ----------
    Rabanser et al., Failing loudly, 2019.
    """
    yield from comparisons.covariate(tables_apart or ())
    yield from (
        stored_models.beyond(fact, c) for fact in remembered or [] for c in fact["columns"] if c["kind"] == "beyond" and not c["form"] and not c["factor"]
    )
    for fact in inputs or []:
        found = []
        for column in fact["columns"]:
            if column["kind"] != "number" or "cur_counts" not in column or not drifted(column):
                continue
            segment = next(s for s in segments(column) if s.counts is not None)
            moved = moved_by(column, segment)
            if segment.count >= least and moved.effect >= effect and moved.p < sure:
                found.append((moved, segment, column))
        if not found or not fact.get("loaded") and len(found) >= max(5, 0.8 * fact["width"]):  # all at once: lags of one series that wanders
            continue
        moved, segment, column = max(found, key=lambda f: f[0].effect)
        hurt = harm(fact, inputs, segment) or outside(fact, column["name"])
        if hurt is not None and together(fact, segment):
            yield _finding(fact, column, segment, moved, hurt, [f[2]["name"] for f in found])


def _finding(fact: Fact, column: dict[str, Any], segment: Segment, moved: Moved, hurt: Harm, names: list[str]) -> Finding:
    name, ref = column["name"], column["ref"]
    since = f" from row {segment.rows[0]} on" if segment.what == "moved" and segment.rows else ""
    also = f" (with {', '.join(n for n in names if n != name)})" if len(names) > 1 else ""
    return Finding(
        says=f"{name}{also}{since} has moved by {moved.effect:.2f} standard deviations from what {fact['model']} learnt, and its error goes from "
        f"{hurt.before:.3g} to {hurt.after:.3g}",
        place=fact.place.but(column=[name, *(n for n in names if n != name)] if len(names) > 1 else name, row=segment.rows or None,
        stage="monitor"),
        evidence=[(f"median of {name} at fit", shown(ref["grid"][10]), None),
                  (f"median of {name} in these rows", shown(segment.grid[10]), shown(ref["grid"][10])),
                  (f"effect on {name}, in standard deviations", round(moved.effect, 3), "< 0.1"),
                            ("error there", shown(hurt.after), shown(hurt.before))],
        remedy=f"check what measures or fills {name} since then; if the world changed, fit again with such rows",
        confidence=0.88, verified="fact",
    )  # fmt: skip
