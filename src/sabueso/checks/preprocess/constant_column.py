"""constant-column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ... import broken_rows as broken
from ... import comparisons, quality
from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...partners import nothing_found


@check(
    stage="ingest",
    severity="warning",
    leads_to=("covariate-drift", "underfitting", "class-imbalance"),
    instead=("tables_apart", "broken_rows", "part_cut", "table_join"),
)
def constant_column(
    table_seen: list[Fact],
    *,
    tables_apart: list[Fact] | None = None,
    broken_rows: list[Fact] | None = None,
    part_cut: list[Fact] | None = None,
    table_join: list[Fact] | None = None,
    table_used: list[Fact] | None = None,
) -> Iterator[Finding]:
    """A column that should vary has one value in every row, or in a long stretch of rows.

    What it means
    -------------
    A sensor is stuck, a default was written, a filter left one class: the column says nothing any more.

    Why it is bad
    -------------
    Nothing fails. A model loses an input that it was given before, or has but one answer to learn.

    Evidence
    --------
    The value, and how many values the other table has. A warning where the column varies in the reference (p < 1e-6 of that by chance), an
    error for a label of one class, else a note: a column may be constant by design. Within a table that a model is fitted on: a run five times as
    long as any other, at no zero and at no end of the column's range, where the column matters to the label and the label is foretold clearly
    worse within the run (Sharma et al., Sensor faults, 2010: the CONSTANT fault). In a program: a part of a time (`.dt.hour`) taken after it was
    cut off (`.dt.floor("D")`), which had several values before and is one in every row of a fit; or a look-up (`.map(table)`) that finds none of
    its keys, though most are there in another type or spelling, and whose gaps are filled.

    Remedy
    ------
    Find what stopped measuring it, or leave it out of the fit.

    Fault
    -----
        from sabueso.events import Fact
        from sabueso.places import Place
        from sabueso.runs import Run
        label = {"name": "churned", "missing": 0, "only": "0"}
        seen = {"table": "train.parquet", "rows": 500, "target": "churned", "columns": [label]}
        run = Run(facts=[Fact("table_seen", seen, Place(file="train.parquet", stage="ingest"))])

    Control
    -------
        from sabueso.events import Fact
        from sabueso.places import Place
        from sabueso.runs import Run
        columns = [{"name": "churned", "missing": 0, "only": None}]
        seen = {"table": "train.parquet", "rows": 500, "target": "churned", "columns": columns}
        run = Run(facts=[Fact("table_seen", seen, Place(file="train.parquet", stage="ingest"))])

    References
    ----------
    Breck et al., Data validation for machine learning, 2019.
    """
    yield from comparisons.went_constant(tables_apart or ())
    yield from quality.constants(table_seen)
    yield from quality.changed(table_seen, "constant")
    yield from (broken.of(f) for f in broken_rows or () if f["kind"] == "stuck")
    yield from (cut(f) for f in part_cut or ())
    yield from (looked_up(join, fit, columns) for join, fit, columns in nothing_found(table_join or [], table_used or []))


def looked_up(join: Fact, fit: Fact, columns: dict[str, Any]) -> Finding:
    """A look-up that found nothing, in any row."""
    repair, names, key = join["repair"], list(columns), join["on"][0]
    value = columns[names[0]]
    told = "empty" if value is None else f"{value!r}"
    return Finding(
        says=f"The look-up of {key!r} finds nothing in any of {join['left_rows']} rows ({repair['left']!r} there is {repair['right']!r} in the table), "
             f"so {' and '.join(names[:3])} is {told} in every row that {fit['estimator']} is given.",
        place=join.place.but(column=names if len(names) > 1 else names[0], stage="preprocess"), stage="preprocess",
        evidence=[("rows without an entry", join["left_rows"], 0), (f"of them with an entry once {repair['how']}", repair["rows"], 0),
                  (f"values of {names[0]} in {fit['rows']} rows", int(value is not None), "several"),
                  ("key, and the table's", [repr(repair["left"]), repr(repair["right"])], "of one type")],
        remedy=f"Bring {key!r} into the table's type and spelling before the look-up ({repair['how']}), and see that no gap is left before filling any.",
        severity="error", confidence=0.95, verified="fact", covers=("rows-lost", "missing-values"),
    )  # fmt: skip


def cut(fact: Fact) -> Finding:
    """A part of a time that was cut off before it was taken."""
    column, part, line = fact["column"], fact["part"], fact["cut_line"]
    return Finding(
        says=f"{column} is {fact['value']} in every row that {fact['estimator']} is given: the {part} is taken after {fact['how']} cut it off "
             f"(line {line}), before which it had {fact['distinct']} values.",
        place=fact.place.but(column=column, stage="preprocess"), stage="preprocess",
        evidence=[(f"values of {column} in {fact['rows']} rows", 1, fact["distinct"]), (f"values of the {part} before {fact['how']}", fact["distinct"], None)],
        remedy=f"Take the {part} from the times as they were before line {line}.", severity="error", confidence=0.95, verified="fact",
    )  # fmt: skip
