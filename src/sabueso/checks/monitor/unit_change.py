"""unit-change."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ... import broken_rows as broken
from ... import comparisons, quality, stored_models
from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...shifts import Rescaled, Segment, drifted, factor_known, harm, rare, rescaled, segments, shown, together, unit_of

LEADS_TO = ("covariate-drift", "saturated-units", "not-learning", "preprocess-skew", "concept-drift", "unscaled-input", "label-drift",
            "misleading-metric")  # fmt: skip


@check(stage="monitor", severity="error", leads_to=LEADS_TO)
def unit_change(
    inputs: list[Fact] = None, moments: list[Fact] = None, broken_rows: list[Fact] = None, remembered: list[Fact] = None,
    tables_apart: list[Fact] = None, table_seen: list[Fact] = None, *, least: int = 8, clear: float = 4
) -> Iterator[Finding]:  # fmt: skip
    """A column comes in another unit than the one that the model learnt.

    What it means
    -------------
    From some row on (or in all rows of a later table) a column's values are those of the fit times a constant: mg/dL and mmol/L, Pa and hPa.
    Why it is bad
    -------------
    Every such row lies in a place where the model has seen nothing, or beyond its last split, and is answered alike.
    Evidence
    --------
    The medians and the factor between them. All quantiles from 15 to 85 per cent must agree with those of the fit after division by it. Spoken of
    known factors over 4 (rare pairs within 20 %), of others over 5 where the rows break off sharply, of smaller known ones where the error rises.
    Remedy
    ------
    Convert the rows named back where they are read.
    Fault
    -----
        import numpy as np
        import pandas as pd
        from sklearn.linear_model import LinearRegression
        rng = np.random.default_rng(0)
        def visits(n):
            return pd.DataFrame({"glucose": rng.normal(120, 25, n), "age": rng.uniform(20, 80, n)})
        past, later = visits(500), visits(200)
        later.loc[120:, "glucose"] /= 18.016
        model = LinearRegression().fit(past, 0.05 * past["glucose"] + rng.normal(size=500))
        print(model.predict(later).mean())  # sabueso: unit-change
    Control
    -------
        import numpy as np
        import pandas as pd
        from sklearn.linear_model import LinearRegression
        rng = np.random.default_rng(0)
        def visits(n):
            return pd.DataFrame({"glucose": rng.normal(120, 25, n), "age": rng.uniform(20, 80, n)})
        past, later = visits(500), visits(200)
        later.loc[120:, "glucose"] += 6
        model = LinearRegression().fit(past, 0.05 * past["glucose"] + rng.normal(size=500))
        print(model.predict(later).mean())
    References
    ----------
    Polyzotis et al., Data validation for machine learning, 2019.
    """
    yield from comparisons.unit(tables_apart or ())
    yield from quality.changed(table_seen if table_seen and not broken_rows else (), "unit")
    yield from (finding for fact in moments or [] for finding in _stored(fact, clear))
    yield from (stored_models.unit(fact, c) for fact in remembered or [] for c in fact["columns"] if c["kind"] == "beyond" and c["factor"])
    told: set[tuple[int, str]] = set()
    yield from (broken.of(f) for f in broken_rows or [] if f["kind"] == "unit")
    for fact in inputs or []:
        for column in fact["columns"]:
            if column["kind"] != "number" or "cur_counts" not in column or not drifted(column) or (fact["number"], column["name"]) in told:
                continue
            found = _rescaled(fact, column, inputs, least, clear)
            if found is not None:
                told.add((fact["number"], column["name"]))
                yield _finding(fact, column, *found)


def _stored(fact: Fact, clear: float) -> Iterator[Finding]:
    """Columns whose remembered mean and spread are the table's, or those of its rows on one side of a break, times a factor."""
    holder = "the file of moments" if fact["how"] == "file" else f"the {fact['how']}"
    for c in fact["columns"]:
        name, mean, sd = c["column"], c["mean"], c["sd"]
        if not all((mean, sd, c["table_mean"], c["table_sd"])):
            continue
        unit = factor_known(c["table_mean"], mean, c["table_sd"] / sd, name, clear)
        if unit:
            yield _beside(fact, c, c["table_mean"] / mean, unit, f"{name} is", f"{holder} holds of it", None)
            continue
        moved = c.get("moved")
        agrees = moved and abs(moved["rest_mean"] - mean) < sd and 0.4 < moved["rest_sd"] / sd < 1.8
        found = rescaled(moved["rest_grid"], moved["grid"], name) if agrees else None
        if found is None or found.offset:
            continue
        unit, size = unit_of(found.factor, name, 0.15), abs(math.log(found.factor))
        if (unit and size > math.log(clear)) or (size > math.log(5) and found.misfit < 0.25):
            since = f"from row {moved['row']} on" if moved["last"] else f"in the first {moved['count']} rows"
            yield _beside(fact, c, found.factor, unit, f"{name} {since} is", f"{holder} holds, and the other rows have,", moved)


def _beside(fact: Fact, c: dict[str, Any], factor: float, unit: str, what: str, who: str, moved: dict[str, Any] | None) -> Finding:
    name, of = c["column"], "in these rows" if moved else "in the table"
    now, spread = (moved["part_mean"], moved["part_sd"]) if moved else (c["table_mean"], c["table_sd"])
    return Finding(
        says=f"{what} {shown(factor)} times what {who} ({unit or 'one factor'}): scaled with them it lies near {shown((now - c['mean']) / c['sd'])}",
        place=fact.place.but(column=name, row=moved["rows"] if moved else None, stage="preprocess"), stage="preprocess",
        evidence=[(f"mean of {name} as stored", shown(c["mean"]), None), (f"mean of {name} {of}", shown(now), shown(c["mean"])),
                  (f"spread of {name} {of}", shown(spread), shown(c["sd"])), ("rows", moved["count"] if moved else fact["rows"], 0)],
        remedy=f"bring {name} to the unit of the stored moments ({name} / {shown(factor)} in these rows), or store them anew",
        confidence=0.96 if unit else 0.85, verified="fact",
    )  # fmt: skip


def _rescaled(fact: Fact, column: dict[str, Any], inputs: list[Fact], least: int, clear: float) -> tuple[Segment, Rescaled] | None:
    """The first segment of a column whose values are rescaled beyond doubt."""
    for segment in segments(column):
        if segment.count < least or len(column["ref"].get("grid", ())) < 21:
            continue
        found = rescaled(column["ref"]["grid"], segment.grid, column["name"])
        if found is None or segment.sharp < 0.4:
            continue
        size = abs(math.log(found.factor))
        sure = found.unit and (size > math.log(clear) or found.offset) and not (found.misfit > 0.2 and not found.offset and rare(found.factor, column["name"]))
        sharp = segment.what != "all" and size > math.log(5) and found.misfit < 0.25
        hurt = found.unit and found.misfit < 0.15 and together(fact, segment) and harm(fact, inputs, segment) is not None
        if sure or sharp or hurt:
            return segment, found
    return None


def _finding(fact: Fact, column: dict[str, Any], segment: Segment, found: Rescaled) -> Finding:
    name, usual, now = column["name"], column["ref"]["grid"][10], segment.grid[10]
    since = f" from row {segment.rows[0]} on" if segment.what == "moved" and segment.rows else ""
    factor = found.factor if found.factor >= 1 else 1 / found.factor
    by = f"{shown(factor)} times {'larger' if found.factor >= 1 else 'smaller'}" if not found.offset else f"{shown(found.factor)} x + {shown(found.offset)}"
    unit = f" ({found.unit})" if found.unit else ""
    back = f"/ {shown(found.factor)}" if found.factor >= 1 else f"* {shown(1 / found.factor)}"
    return Finding(
        says=f"{name}{since} is {by} than where {fact['model']} was fitted{unit}: {segment.count} of {fact['rows']} rows",
        place=fact.place.but(column=name, row=segment.rows or None, stage="monitor"),
        evidence=[(f"median of {name} at fit", shown(usual), None), (f"median of {name} in these rows", shown(now), shown(usual)),
                  ("factor", shown(found.factor), 1), ("rows", segment.count, 0),
                            ("misfit of the quantiles after conversion", shown(found.misfit), "< 0.35")],
        remedy=f"convert these rows where they are read: {name} {back}", confidence=0.95 if found.unit else 0.8, verified="fact",
    )  # fmt: skip
