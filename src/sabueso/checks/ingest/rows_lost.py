"""rows-lost."""

from __future__ import annotations

from collections.abc import Iterator

from ... import quality
from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...partners import differences, found_later, kept_elsewhere, nothing_found


@check(stage="preprocess", severity="error", leads_to=("covariate-drift", "class-imbalance", "underfitting", "label-drift"))
def rows_lost(
    *, table_join: list[Fact] | None = None, rows_dropped: list[Fact] | None = None, bad_lines: list[Fact] | None = None, table_used: list[Fact] | None = None,
    table_seen: list[Fact] | None = None, least: float = 0.01, dropped: float = 0.2,
) -> Iterator[Finding]:  # fmt: skip
    """Rows vanish on the way without being meant to, and those that go are not like those that stay.

    What it means
    -------------
    A join finds no partner for rows whose key is only spelt differently (leading zeros, blanks, case, a number stored as text), `dropna()`
    removes rows for a gap in a column that no model uses, `groupby` leaves out those whose key is missing, or a reader skips the lines that
    it can't split.

    Why it is bad
    -------------
    No error is raised. The model learns from what is left, a whole region or category may be missing, and its score is taken on the rest too.

    Evidence
    --------
    Rows before and after; for a join how many of the lost rows meet a key of the other side, itself without partner, under one change of
    spelling (at least 1 per cent of the rows and half of the lost); for dropped rows how many would have stayed but for a column that is
    not given to any model (at least a fifth of the rows, and lost and kept differ by 0.2 standard deviations, Cohen's small effect, at
    four standard errors); for an inner join a left join of the same table elsewhere that keeps such rows; for skipped lines the level of
    another column that loses at least half of its lines.
    Joins within queries of DuckDB, and plain ones that pandas hands to SQLite, are taken apart likewise: both sides are read once more.

    Remedy
    ------
    Spell the key alike on both sides; give `dropna` the columns that matter (`subset=[..]`); repair the lines or quote the field.

    Fault
    -----
        import numpy as np
        import pandas as pd
        rng = np.random.default_rng(0)
        sales = pd.DataFrame({"shop": rng.integers(1, 200, 600), "units": rng.poisson(9, 600)})
        sales["shop"] = sales["shop"].astype(str)
        shops = pd.DataFrame({"shop": [f"{i:03d}" for i in range(1, 200)], "area": rng.uniform(50, 900, 199)})
        table = sales.merge(shops, on="shop")  # sabueso: rows-lost
        print(len(table))

    Control
    -------
        import numpy as np
        import pandas as pd
        rng = np.random.default_rng(0)
        sales = pd.DataFrame({"shop": rng.integers(1, 200, 600), "units": rng.poisson(9, 600)})
        sales["shop"] = sales["shop"].astype(str).str.zfill(3)
        shops = pd.DataFrame({"shop": [f"{i:03d}" for i in range(1, 200)], "area": rng.uniform(50, 900, 199)})
        table = sales.merge(shops, on="shop")
        print(len(table))

    References
    ----------
    Little and Rubin, Statistical Analysis with Missing Data (complete-case analysis is biased unless gaps are completely at random).
    """
    yield from quality.lost_lines(table_seen or ())
    empty = [join for join, _, _ in nothing_found(table_join or [], table_used or [])]  # told as a column of one value
    yield from (f for join in table_join or () if join not in empty and not found_later(join, table_join or []) and (f := of_join(join, least)))
    yield from (f for join in table_join or () if (f := kept_elsewhere(join, table_join or [])))
    used = {c for f in table_used or () for c in f["columns"]} | {f["target"] for f in table_used or () if f.get("target")}
    yield from (f for fact in rows_dropped or () if fact["how"] == "dropna" and (f := of_dropna(fact, used, dropped)))
    yield from (f for fact in rows_dropped or () if fact["how"] == "groupby" and (f := of_groups(fact, {t["rows"] for t in table_used or ()})))
    yield from (f for fact in bad_lines or () if (f := of_lines(fact, least)))


def of_join(join: Fact, least: float) -> Finding | None:
    """Rows without partner whose key would have one if it were spelt like the other side's."""
    repair, lost, rows = join.get("repair"), join["unmatched_left"], join["left_rows"]
    if not repair or join["how"] not in ("inner", "left", "map", "semi") or repair["rows"] < max(3, least * rows, 0.5 * lost):
        return None
    column = join["on"][repair["part"]]
    table = join.get("unmatched_table")
    gone = "lose their partner's columns" if join["how"] in ("left", "map") else "vanish"
    return Finding(
        says=f"{lost} of {rows} rows{f' of {table}' if table else ''} {gone} in the join on {column!r}: "
             f"{repair['left']!r} there is {repair['right']!r} on the other side.",
        place=join.place.but(column=column, row=join.get("unmatched_rows")),
        evidence=[("rows without partner", lost, 0), (f"of them with a partner once {repair['how']}", repair["rows"], 0),
                  ("key, left and right", [repair["left"], repair["right"]], "spelt alike"), *differences(join)],
        remedy=f"Spell {column!r} alike on both sides before the join ({repair['how']}); read it with the same type from both files, "
               "and count the rows after the join.",
        confidence=0.95, verified="fact",
    )  # fmt: skip


def of_dropna(fact: Fact, used: set[str], dropped: float) -> Finding | None:
    """Rows dropped for a gap in a column that nothing is learnt from."""
    lost = fact["before"] - fact["after"]
    column, told = max(fact["by_column"].items(), key=lambda t: t[1]["alone"], default=(None, {"alone": 0}))
    known = used & set(fact["columns"])
    if column is None or not known or column in used or told["alone"] < dropped * fact["before"] or told["alone"] < 0.5 * lost or not fact["selective"]:
        return None
    keep = sorted(known, key=fact["columns"].index)
    return Finding(
        says=f"dropna() removes {lost} of {fact['before']} rows, {told['alone']} of them only for a gap in {column!r}, which no model is given; "
             f"the lost rows differ from the kept ones in {fact['selective'][0]['column']!r}.",
        place=fact.place.but(column=column, row=fact["rows"]),
        evidence=[("rows after dropna", fact["after"], fact["before"]), (f"rows lost only for {column}", told["alone"], 0), *differences(fact)],
        remedy=f"Ask only for the columns that are used: dropna(subset={keep}).", edit=("keyword", "dropna", "subset", repr(keep)),
        confidence=0.92, verified="fact",
    )  # fmt: skip


def of_groups(fact: Fact, used: set[int], least: float = 0.05) -> Finding | None:
    """Rows in no group, since their key is missing, of a table whose groups a model learns from."""
    lost = fact["before"] - fact["after"]
    column = max(fact["by_column"], key=lambda c: fact["by_column"][c]["gaps"], default=None)
    if column is None or fact["groups"] not in used or lost < least * fact["before"] or not fact["selective"]:
        return None
    return Finding(
        says=f"groupby() leaves out {lost} of {fact['before']} rows, whose {column!r} is missing, and a model learns from the {fact['groups']} groups that "
             f"are left; the lost rows differ from the kept ones in {fact['selective'][0]['column']!r}.",
        place=fact.place.but(column=column, row=fact["rows"]),
        evidence=[("rows in a group", fact["after"], fact["before"]), (f"rows without {column}", lost, 0), *differences(fact)],
        remedy="Keep them as a group of their own: groupby(.., dropna=False), or fill the key.", edit=("keyword", "groupby", "dropna", "False"),
        confidence=0.93, verified="fact",
    )  # fmt: skip


def of_lines(fact: Fact, least: float) -> Finding | None:
    """Lines that the reader skipped, when a whole level goes with them."""
    if fact["lost"] < max(5, least * fact["lines"]) or not fact["levels"]:
        return None
    level = fact["levels"][0]
    return Finding(
        says=f"{fact['lost']} of {fact['lines']} lines of {fact['table']} are skipped, since they have {fact['fields']} fields instead of "
             f"{fact['header_fields']}; with them go {level['lost']} of {level['lost'] + level['kept']} rows with {level['column']} = {level['level']!r}.",
        place=fact.place.but(column=fact["column"], stage="ingest"), stage="ingest",
        evidence=[("lines skipped", fact["lost"], 0), ("first of them, line of the file", fact["first_lines"][0], None),
                  (f"rows left with {level['column']} = {level['level']}", level["kept"], level["lost"] + level["kept"]), ("example", fact["example"], None)],
        remedy=f"Put the surplus fields back together in {fact['column'] or 'their column'!r} in the bad-line handler, "
        "or have the field quoted where the file is written.",
        confidence=0.95, verified="fact",
    )  # fmt: skip
