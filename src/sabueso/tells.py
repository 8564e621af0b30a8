"""Tells: the numbers behind a column that gives the answer away, by the pattern that it was known by."""

from __future__ import annotations

from typing import Any

from .comparisons import weight
from .events import Fact


def numbers(fact: Fact) -> list[tuple[str, Any, Any]]:
    """The evidence of a fact `tell`, at most five numbers."""
    if fact["how"] == "drawn later":
        return drawn_later(fact)
    told: list[tuple[str, Any, Any]] = [("rows in which it tells the label", fact["agreement"], "about the share of the larger class"),
                                        ("training rows", fact["rows"], None)]  # fmt: skip
    if fact["how"] == "gaps":
        told += [("gaps", fact["gaps"], None), ("the same for the next column with gaps (correlation)", fact["next"], None)]
    if fact["how"] == "filled after":
        told += [("rows with the usual value", fact["usual_rows"], None), ("the usual value", fact["usual"], None),
                 ("area under the ROC curve of the next best input", fact["next"], None)]  # fmt: skip
    if fact["how"] == "image":
        told += [("share of the target that the other inputs explain", fact["next"], None)]
    if fact["how"] == "running number":
        told += [("runs of equal labels in the order of the column", fact["runs"], "many"), ("labels", fact["levels"], None)]
    return [*told[: 5 - len(weight(fact, ""))], *weight(fact, "without it")]


def drawn_later(fact: Fact) -> list[tuple[str, Any, Any]]:
    """A column that was written when the answer was known: then and now."""
    return [(f"area under the ROC curve of {fact['column']} alone, at the fit", fact["agreement"], fact["now"]),
            (f"the same in {fact['judged']} rows that were judged later", fact["now"], fact["agreement"]),
            ("its usual value in the class that moved, at the fit", fact["then"], fact["usual"]),
            ("how far the other class moved (distance of the distribution functions)", fact["steady"], None)]  # fmt: skip
