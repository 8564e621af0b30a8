"""The finding of one `row_mismatch`: inputs and labels of a fit that come from different rows, by row identity."""

from __future__ import annotations

from typing import Any

from . import row_uses
from .events import Fact
from .findings import Finding


def of(fact: Fact, counterfactual: list[Fact] | None) -> Finding:
    """Labels that are another stretch of the inputs' table, or that meet other rows each time."""
    if fact["how"] == "memory":
        return _of_memory(fact)
    if fact["how"] == "index":
        return _of_index(fact)
    if fact["how"] == "key":
        return _of_key(fact)
    if fact["how"] == "order":
        return _of_order(fact)
    if fact["how"] == "loader":
        return _of_loader(fact)
    experiment = row_uses.tried(counterfactual, "misaligned-labels")
    table, column = fact.get("table") or "the table", fact.get("column") or "labels"
    evidence: list[tuple[str, Any, Any]] = [
        ("rows with another row's label", fact["out"], 0), ("rows", fact["rows"], None),
        (f"row of {table} whose label stands beside its row {fact['first_input']}", fact["first_label"], fact["first_input"]),
    ]  # fmt: skip
    if experiment is not None:
        evidence.append(("score, and with the labels of the inputs' own rows", experiment["before"], experiment["after"]))
    return Finding(
        says=f"The labels {fact.get('name') or ''} are {column!r} of rows {fact['first_label'] - fact['first']} on, one after the other, while the inputs "
             f"skip rows: from row {fact['first_input']} of {table} on, {fact['out']} of {fact['rows']} rows stand beside another row's label.",
        place=fact.place.but(column=fact.get("column"), tensor=fact.get("name"), row=fact["out_rows"], stage="preprocess"),
        evidence=evidence,
        remedy=f"Take the labels by the inputs' own rows ({fact.get('name') or 'y'} = {table}.loc[X.index, {column!r}]), or drop rows from both at once.",
        confidence=0.97, verified=row_uses.verified(experiment),
    )  # fmt: skip


def _of_index(fact: Fact) -> Finding:
    """A frame and a series whose indexes hold the same labels in different orders, put side by side by position."""
    x, y = fact.get("inputs") or "the inputs", fact.get("name") or "the labels"
    return Finding(
        says=f"{x!r} and {y!r} hold the same rows in different orders and are put side by side by position: {fact['out']} of {fact['rows']} labels stand "
             f"beside another row (at position {fact['at']} the inputs of row {fact['first_input']}, the label of row {fact['first_label']}).",
        place=fact.place.but(tensor=fact.get("name"), row=fact["out_rows"] or None, stage="preprocess"),
        evidence=[("rows beside another row's label", fact["out"], 0), ("rows", fact["rows"], None),
                  (f"row whose label stands beside row {fact['first_input']}", fact["first_label"], fact["first_input"])],
        remedy=f"Take the labels by the inputs' index: {y} = {y}.loc[{x}.index].",
        confidence=0.96, verified="fact",
    )  # fmt: skip


def _of_order(fact: Fact) -> Finding:
    """The labels of a table's rows in another order than the inputs of the same rows."""
    x, y, table = fact.get("inputs") or "the inputs", fact.get("name") or "the labels", fact.get("table") or "the table"
    return Finding(
        says=f"{x!r} and {y!r} hold the inputs and the labels of the same rows of {table} in different orders: {fact['out']} of {fact['rows']} rows "
             f"stand beside another row's label.",
        place=fact.place.but(tensor=fact.get("name") or fact.get("inputs"), column=fact.get("column"), row=fact["out_rows"], stage="preprocess"),
        evidence=[("rows beside another row's label", fact["out"], 0), ("rows", fact["rows"], None),
                  ("share of labels that are those of their row", fact["agree"], 1.0)],
        remedy=f"Put both into one order at once: rows = rng.permutation(len({x})); {x}, {y} = {x}[rows], {y}[rows].",
        confidence=0.95, verified="fact",
    )  # fmt: skip


def _of_loader(fact: Fact) -> Finding:
    """Answers in the order that a loader drew, scored against truths in the order of the table."""
    loader, scored = fact.get("name") or "the loader", fact["scored"][1]
    return Finding(
        says=f"{loader!r} shuffles, so the answers scored in line {scored} stand in another order than the truths: {fact['out']} of {fact['rows']} are "
             f"compared with another row's (the one at {fact['at']} is that of row {fact['first_input']}).",
        place=fact.place.but(tensor=fact.get("name"), row=fact["out_rows"], stage="evaluate"),
        evidence=[("agreement of answers and truths as scored, from chance (0) to equal (1)", fact["agree"], "0 means chance"),
                  ("agreement in the order that the loader drew", fact["along"], None), ("answers beside another row's truth", fact["out"], 0)],
        remedy="Do not shuffle what is judged (shuffle=False), or collect the truths from the same batches as the answers.",
        confidence=0.97, verified="fact",
    )  # fmt: skip


def _of_key(fact: Fact) -> Finding:
    """Two tables with the same keys in different orders, put side by side by position."""
    x, y, key = fact["inputs"], fact["name"], fact["key"]
    return Finding(
        says=f"{x!r} and {y!r} hold the same {key} in different orders and are put side by side by position: {fact['out']} of {fact['rows']} labels stand "
             f"beside another row (at position {fact['at']} the inputs of {key} {fact['first_input']}, the label of {key} {fact['first_label']}).",
        place=fact.place.but(tensor=y, row=fact["out_rows"], stage="preprocess"),
        evidence=[("rows beside another row's label", fact["out"], 0), ("rows", fact["rows"], None),
                  (f"{key} of the label at position {fact['at']}", fact["first_label"], fact["first_input"])],
        remedy=f"Join both on {key}: {x}.merge({y}, on={key!r}).", confidence=0.94, verified="fact",
    )  # fmt: skip


def _of_memory(fact: Fact) -> Finding:
    """Batches in which unchanged labels meet other rows than before."""
    x, y = fact.get("name") or "the inputs", fact.get("labels") or "the labels"
    return Finding(
        says=f"{x!r} was put into another order and its labels {y!r} were not: in one batch {fact['out']} of {fact['rows']} labels stand beside another "
             "row than the time before.",
        place=fact.place.but(tensor=fact.get("name"), stage="preprocess"),
        evidence=[("labels of a batch that met another row before", fact["out"], 0), ("labels of the batch met before", fact["rows"], None)],
        remedy=f"Put both into the new order at once ({x}, {y} = {x}[rows], {y}[rows]), or index with the permutation in each batch.",
        confidence=0.95, verified="fact",
    )  # fmt: skip
