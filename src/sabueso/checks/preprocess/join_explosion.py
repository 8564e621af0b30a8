"""join-explosion."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(stage="preprocess", severity="error", leads_to=("duplicate-rows", "split-overlap", "group-leakage", "class-imbalance", "label-drift", "covariate-drift"))
def join_explosion(table_join: list[Fact], *, join_reduced: list[Fact] | None = None, exception: float = 0.2) -> Iterator[Finding]:
    """A join repeats rows, since keys that should be unique on the other side stand there more than once.

    What it means
    -------------
    Each row was to get one partner (a look-up of an article, a customer), but some keys have several rows in the looked-up table: old and new
    versions, a row per change, a file that was appended twice. Every row with such a key comes out several times.

    Why it is bad
    -------------
    Sums count those rows twice, the base rate changes, and copies of one row land on both sides of a split.

    Evidence
    --------
    Rows before and after, and how often keys repeat on either side. Two patterns are told: the looked-up table is unique but for an
    exception (at most a fifth of its keys repeat, a third where none stands there three times, while rows repeat keys on the left, as in any
    look-up); or a left join of many to many whose result is never brought back to a row each. A join meant to be one to many (unique keys on
    the left) is left alone.

    Remedy
    ------
    Keep one row a key (`drop_duplicates(key, keep="last")` after sorting by version) and say so: `validate="many_to_one"`.

    Fault
    -----
        import numpy as np
        import pandas as pd
        rng = np.random.default_rng(0)
        lines = pd.DataFrame({"article": rng.integers(0, 60, 900), "crates": rng.poisson(5, 900)})
        articles = pd.DataFrame({"article": [*range(60), 7, 31], "weight": rng.uniform(1, 9, 62)})
        table = lines.merge(articles, on="article", how="left")  # sabueso: join-explosion
        print((table["crates"] * table["weight"]).sum())

    Control
    -------
        import numpy as np
        import pandas as pd
        rng = np.random.default_rng(0)
        lines = pd.DataFrame({"article": rng.integers(0, 60, 900), "crates": rng.poisson(5, 900)})
        articles = pd.DataFrame({"article": [*range(60), 7, 31], "weight": rng.uniform(1, 9, 62)})
        table = lines.merge(articles.drop_duplicates("article", keep="last"), on="article", how="left")
        print((table["crates"] * table["weight"]).sum())

    References
    ----------
    pandas.DataFrame.merge, parameter validate.

    Known limits
    ------------
    Joins inside a database or a lazy query are not seen.
    """
    mended = {f["join"] for f in join_reduced or ()}
    for join in table_join:
        gained = join["gained"]
        if not gained or join["how"] not in ("left", "inner") or not join.get("repeated_rows") or join["rows"] <= join["left_rows"] - join["unmatched_left"]:
            continue
        look_up = join["left_rows"] >= 1.5 * join["left_keys"]
        few = exception if join.get("repeated_count", 0) > 2 * join["right_repeated"] else 1.6 * exception  # a second version of a row, no list of rows
        rare = join["right_repeated"] <= few * join["right_keys"] and join["right_keys"] >= 10
        many = join["how"] == "left" and join["left_repeated"] >= 0.2 * join["left_keys"] and join["join"] not in mended
        if (look_up and rare) or many:
            yield told(join, rare)


def told(join: Fact, rare: bool) -> Finding:
    """The finding of one join."""
    on, table = join["on"][0] if len(join["on"]) == 1 else join["on"], join.get("repeated_table")
    differs = join.get("explained") or {}
    how = "exact copies" if differs.get("copies") else f"different {', '.join(differs.get('columns', [])[:3])}" if differs else "more than one row"
    examples = ", ".join(map(str, join["examples_repeated"]))
    of = f" of {table}" if table else ""
    return Finding(
        says=f"{join['repeated_met']} of {join['right_keys']} keys{of} stand there more than once ({how}; {on} {examples}), so the join makes "
             f"{join['rows']} rows of {join['left_rows']}.",
        place=join.place.but(column=on, row=join["repeated_rows"]),
        evidence=[("rows after the join", join["rows"], join["left_rows"]), (f"repeated keys{of}", join["right_repeated"], 0),
                  ("rows counted again", join["gained"], 0), (f"rows{of} with such a key", join["repeated_count"], 0)],
        remedy=f"Keep one row a key before the join (sort by version, then drop the repeats of {on!r}, keeping the last), and have the join "
               "check it (validate='many_to_one' in pandas, 'm:1' in polars).",
        confidence=0.93 if rare else 0.88, verified="fact",
    )  # fmt: skip
