"""Broken rows: what a recorded fault inside a table means, for the checks that tell of it."""

from __future__ import annotations

from typing import Any

from .events import Fact
from .findings import Finding
from .shifts import shown

FIT = "share of the variance of {} that least squares explains"


def of(fact: Fact) -> Finding:
    """The finding of one `broken_rows`, by its kind."""
    says, remedy, more = {"rolled": _rolled, "permuted": _permuted, "unit": _unit, "sentinel": _sentinel, "stuck": _stuck}[fact["kind"]](fact)
    columns, rows = [*(fact["columns"] or [fact["labels"]]), *([fact["also"]] if fact.get("also") else [])], fact["row_numbers"]
    elsewhere = fact["after"] if fact["after"] is not None else fact.get("elsewhere")
    first = (FIT.format(fact["labels"]), fact["before"], elsewhere)
    if fact.get("spread"):
        first = (f"spread of {columns[0]} as it is fed, beside that without the number", *map(shown, fact["spread"]))
    evidence = [first, *more, ("rows concerned", fact["count"], 0)]
    return Finding(
        says=says, place=fact.place.but(stage="ingest", step=None, column=columns if len(columns) > 1 else columns[0], row=rows), evidence=evidence,
        remedy=remedy,
        stage="ingest", confidence=0.94, covers=("underfitting", "unscaled-input", "concept-drift", "covariate-drift"),
        verified={"how": "the values mended", "before": fact["before"], "after": fact["after"]} if fact["after"] is not None else None,
    )  # fmt: skip


def _rolled(fact: Fact) -> tuple[str, str, list[tuple[str, Any, Any]]]:
    k = fact["shift"]
    says = (f"In rows {fact['first']} to {fact['last']} of {fact['table']} the column {fact['labels']} stands {abs(k)} rows "
            f"{'below' if k > 0 else 'above'} the features that it belongs to.")  # fmt: skip
    return says, "Join features and label by an identifier; find the rows that were put in or left out at the start of the stretch.", [
        (f"the same with {fact['labels']} from {abs(k)} rows {'further down' if k > 0 else 'further up'}", fact["after"], fact["elsewhere"])]  # fmt: skip


def _permuted(fact: Fact) -> tuple[str, str, list[tuple[str, Any, Any]]]:
    name = fact["columns"][0] if fact["columns"] else fact["labels"]
    says = (f"In the {fact['count']} rows with {fact['by']} = {fact['group']} of {fact['table']} the values of {name} are those that the other columns "
            f"foretell, but in other rows.")  # fmt: skip
    return says, f"Join {name} of that {fact['by']} by an identifier anew.", [
        (f"correlation of {name}, sorted, with what the other rows' fit expects, sorted", fact["alike"], None)]  # fmt: skip


def _stuck(fact: Fact) -> tuple[str, str, list[tuple[str, Any, Any]]]:
    name, value = fact["columns"][0], shown(fact["value"])
    says = (f"From row {fact['first']} to {fact['last']} {name} in {fact['table']} stays at {value:g}, while it takes {fact['distinct']} values elsewhere and "
            f"{fact['labels']} goes on changing: it stuck.")  # fmt: skip
    return says, f"Take {name} of these rows as missing where they are read; ask what records it.", [
        (f"distinct values of {name} in these rows", 1, fact["distinct"])]  # fmt: skip


def _unit(fact: Fact) -> tuple[str, str, list[tuple[str, Any, Any]]]:
    name, factor, offset = fact["columns"][0], shown(fact["factor"]), shown(fact["offset"])
    by = f"times {factor}" + (f" plus {offset}" if offset else "")
    rows = fact["row_numbers"]
    first, share = rows[0] if rows else 0, f"{fact['count']} of {fact['of']} rows"
    since = (f"From row {first} on" if first else "In the first rows") if fact.get("since", True) else f"In {fact['count']} rows"
    says = f"{since} {name} in {fact['table']} is what it is elsewhere {by} ({fact['unit']}): {share}."
    return says, f"Convert these rows where they are read: ({name} - {offset}) / {factor}.", [
        (f"median of {name} in these rows", shown(fact["now"]), shown(fact["usual"])), ("factor", factor, 1)]  # fmt: skip


def _sentinel(fact: Fact) -> tuple[str, str, list[tuple[str, Any, Any]]]:
    value = shown(fact["value"])
    says = (f"{value:g} stands for missing in {fact['count']} rows of {', '.join(fact['columns'])} in {fact['table']} (otherwise {shown(fact['low']):g} to "
            f"{shown(fact['high']):g}), and is given to the model as a number.")  # fmt: skip
    return says, f'Read it as missing (na_values=["{value:g}"]) and fill it in the pipeline (SimpleImputer).', [
        (f"value of {fact['columns'][0]}", value, f"{shown(fact['low']):g} to {shown(fact['high']):g}")]  # fmt: skip
