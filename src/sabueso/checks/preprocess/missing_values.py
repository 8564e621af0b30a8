"""missing-values."""

from __future__ import annotations

from collections.abc import Iterator

from ... import broken_rows as broken
from ... import quality
from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...places import Place


@check(stage="preprocess", severity="error", leads_to=("nonfinite-loss", "nonfinite-values"))
def missing_values(
    *, fill_lost: list[Fact] | None = None, coerced: list[Fact] | None = None, crash: list[Fact] | None = None, table_used: list[Fact] | None = None,
    broken_rows: list[Fact] | None = None, table_seen: list[Fact] | None = None, aligned_away: list[Fact] | None = None,
    least: float = 0.05,
) -> Iterator[Finding]:  # fmt: skip
    """Gaps that were to be filled stay, or gaps are made where there were values.

    What it means
    -------------
    A column is filled in place on a selection of a table (`table[c].fillna(m, inplace=True)`). The selection is a copy for that one statement
    (copy-on-write, the only way of pandas 3): the table keeps its gaps. Or texts that spell numbers or days become gaps by errors="coerce".
    Or values without an index of their own are set into a filtered table that kept its old one: paired by label, some rows get another row's.

    Why it is bad
    -------------
    The model refuses the gaps, or takes them for values of their own and never sees what the person meant to put there.

    Evidence
    --------
    Gaps in the column, that the object filled was held by nothing afterwards (a weak reference to it is dead), and that the column is given
    to a model. For a number that stands for missing (-9999): its rows, and that the label is explained better without it, or, of a series fed
    in windows, that it makes the spread of its column five times what it is. For coerced texts: how many there are (at least 5 per cent of
    the rows) and the share of them that spells a number
    or a day; a column that is converted more than once (one format after the other) is left alone.

    Remedy
    ------
    Assign the result: `table[c] = table[c].fillna(m)`.

    Fault
    -----
        import numpy as np
        import pandas as pd
        from sklearn.ensemble import HistGradientBoostingRegressor
        rng = np.random.default_rng(0)
        table = pd.DataFrame({"iron": rng.normal(14, 3, 300), "age": rng.uniform(20, 90, 300)})
        y = table["age"] / 10 + table["iron"]
        table.loc[::7, "iron"] = np.nan
        table["iron"].fillna(table["iron"].median(), inplace=True)  # sabueso: missing-values
        HistGradientBoostingRegressor(max_iter=5).fit(table[["iron", "age"]], y)

    Control
    -------
        import numpy as np
        import pandas as pd
        from sklearn.ensemble import HistGradientBoostingRegressor
        rng = np.random.default_rng(0)
        table = pd.DataFrame({"iron": rng.normal(14, 3, 300), "age": rng.uniform(20, 90, 300)})
        y = table["age"] / 10 + table["iron"]
        table.loc[::7, "iron"] = np.nan
        table["iron"] = table["iron"].fillna(table["iron"].median())
        HistGradientBoostingRegressor(max_iter=5).fit(table[["iron", "age"]], y)

    References
    ----------
    pandas user guide, "Copy-on-Write (CoW)".
    """
    yield from quality.marks(table_seen or ())
    yield from quality.gaps(table_seen or ())
    yield from quality.changed(table_seen or (), "empty")
    refused = next((c for c in crash or () if "contains NaN" in c.get("message", "") or "NaN" in c.get("message", "")), None)
    lost = list(lost_fills(list(fill_lost or ()), refused, list(table_used or ())))
    yield from lost
    yield from (broken.of(f) for f in broken_rows or () if f["kind"] == "sentinel")
    given = [f for f in table_used or () if f.get("gaps") and (refused is None or f.order < refused.order)]
    if refused is not None and given and not lost:
        yield never_filled(given[-1], refused)
    yield from (by_label(f) for f in aligned_away or ())
    for fact in coerced or ():
        if fact["lost"] >= least * fact["rows"] and fact["numbers"] > 0.8:
            yield forced(fact)


def lost_fills(facts: list[Fact], refused: Fact | None, used: list[Fact]) -> Iterator[Finding]:
    """Fills without effect, by the line that made them."""
    given = {c: n for f in used for c, n in (f.get("gaps") or {}).items()}
    for line in dict.fromkeys((f.place.file, f.place.line) for f in facts):
        here = [f for f in facts if (f.place.file, f.place.line) == line]
        columns = list(dict.fromkeys(f["column"] for f in here))
        still = {c: given[c] for c in columns if given.get(c)}
        if not still and refused is None:
            continue
        first = here[0]
        then = f"; the model is given {still[next(iter(still))]} gaps in {next(iter(still))!r}" if still else "; the model then refuses NaN"
        yield Finding(
            says=f"{first['method']}(.., inplace=True) on {first['owner']} fills a copy that is thrown away: the gaps of {', '.join(columns)} stay{then}.",
            place=Place(file=line[0], line=line[1], stage="preprocess", column=columns if len(columns) > 1 else columns[0]),
            evidence=[*[(f"gaps of {f['column']} after the statement", f["gaps"], 0) for f in here[:3]], ("objects that hold what was filled", 0, 1)],
            remedy=f"Assign the result: {first['owner']} = {first['owner']}.{first['method']}(..).",
            confidence=0.95, verified="fact", covers=("nonfinite-values", "nonfinite-loss"), edit=("assign",),
        )  # fmt: skip


def never_filled(given: Fact, refused: Fact) -> Finding:
    """Gaps that nothing fills and the model refuses."""
    gaps = dict(sorted(given["gaps"].items(), key=lambda t: -t[1]))
    columns = list(gaps)
    return Finding(
        says=f"{given['estimator']} is given {sum(gaps.values())} gaps in {', '.join(columns[:4])}, which nothing has filled, and refuses them.",
        place=refused.place.but(column=columns if len(columns) > 1 else columns[0], row=given.get("gap_rows") or None, stage="preprocess"),
        evidence=[*[(f"gaps in {c}", n, 0) for c, n in list(gaps.items())[:4]], ("rows given", given["rows"], None)],
        remedy="Fill them with what the training rows say (SimpleImputer in the pipeline), or use a model that takes gaps (HistGradientBoosting).",
        confidence=0.9, verified="fact", covers=("nonfinite-values",),
    )  # fmt: skip


def forced(fact: Fact) -> Finding:
    """Numbers or days spelt otherwise that became gaps."""
    what, call, then = ("day", "to_datetime", "read each form with its own format") if fact.get("what") == "date" else (
        "number", "to_numeric", "Bring the texts into one spelling first (decimal mark, thousands marks, units)")  # fmt: skip
    return Finding(
        says=f"{call}(errors='coerce') turns {fact['lost']} of {fact['rows']} values of {fact['column']!r} into gaps, though "
             f"{fact['numbers']:.0%} of them spell a {what}, such as {fact['examples'][0]!r}.",
        place=fact.place.but(column=fact["column"], row=fact["rows_lost"]),
        evidence=[("values turned into gaps", fact["lost"], 0), (f"of them spelling a {what}, share", fact["numbers"], None),
                  ("examples", fact["examples"], None)],
        remedy=f"{then[0].upper()}{then[1:]}, then convert with errors='raise'.",
        severity="warning", confidence=0.8, verified="fact",
    )  # fmt: skip


def by_label(fact: Fact) -> Finding:
    """As many values as rows, paired by an index that means the place on one side only."""
    n, gaps, moved, index = fact["rows"], fact["gaps"], fact["moved"], fact["index"]
    then = f"{n} rows and {n} rows become {fact['result']}" if fact["how"] == "concat" else f"{gaps} of {n} rows get none and {moved} another row's"
    return Finding(
        says=f"The {fact['how']} pairs {fact['column']!r}, whose values are numbered from 0 on, by label with rows of which row {fact['first']} "
             f"is numbered {index[0]}: {then}.",
        place=fact.place.but(row=fact["rows_empty"]),
        evidence=[("rows that get no value", gaps, 0), ("rows that get the value of another row", moved, 0), ("values, and rows", [n, n], None)],
        remedy="Give the plain array (values.to_numpy()) or values with the table's own index (pd.Series(.., index=table.index)), or number the table anew "
               "where it was filtered (reset_index(drop=True)).",
        confidence=0.95, verified="fact", covers=("missing-rate-drift", "covariate-drift", "misaligned-labels", "not-learning", "rows-lost"),
    )  # fmt: skip
