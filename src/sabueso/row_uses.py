"""What the facts `row_use` say together: a fit and an evaluation each, and the rows that both have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .events import Fact
from .interventions import proof
from .places import Place


def held_out(pair: Fact) -> int:
    """Rows of the evaluation that the model was not fitted on."""
    return int(pair["eval_distinct"] - pair["shared"]) if pair["how"] != "folds" else int(pair["eval_distinct"])


def clean(pair: Fact) -> bool:
    """An honest evaluation: none of its rows was trained on."""
    return pair["how"] != "folds" and pair["shared"] == 0 and pair["eval_distinct"] >= 5


def cleanly_judged(pairs: Iterable[Fact]) -> set[Any]:
    """Numbers of the fits that have an honest evaluation."""
    return {p["fit"] for p in pairs if clean(p)}


def made_twice(pair: Fact) -> bool:
    """Do rows stand on both sides because training itself holds them more often than their table does (oversampled, joined)?"""
    return bool(pair.get("repeated_in_train", 0) > 0.5 * pair.get("twice", 0) > 0)


def leaking(row_use: list[Fact]) -> Iterator[tuple[Fact, dict[str, Any]]]:
    """(pair, learner) of transformers that learnt from rows of an evaluation, each once, the one with most rows first.

    A learner that the program also judges honestly, on rows that it never saw, is left out: there the final figure is right.
    """
    honest = {tuple(at) for p in row_use for at in p.get("clean_learners", ()) if held_out(p) >= 5}
    seen = set()
    for pair in sorted(row_use, key=lambda p: (p["how"] == "folds", -p["eval_distinct"])):
        for learner in pair["learners"]:
            key = (learner["name"], *learner["fit_line"])
            if key in seen or tuple(learner["fit_line"]) in honest or held_out(pair) < 5:
                continue
            seen.add(key)
            yield pair, learner


def at(learner: dict[str, Any], **more: Any) -> Place:
    """The learner's place."""
    return Place(file=learner["file"], line=learner["line"], estimator=learner["name"], stage="preprocess", **more)


def part_place(pair: Fact) -> Place:
    """Where the evaluated part was cut, else where it was evaluated."""
    part = pair.get("part")
    return pair.place.but(file=part["file"], line=part["line"]) if part else pair.place


def rows_of(pair: Fact) -> list[int] | None:
    """The shared rows as read, where their numbers mean something."""
    return pair.get("rows") if pair.get("as_read") else None


def tried(counterfactual: list[Fact] | None, fault: str, **keys: Any) -> Fact | None:
    """The experiment on this fault, the one of these keys."""
    for fact in counterfactual or ():
        if fact["fault"] == fault and all(fact.get(k) == v for k, v in keys.items()):
            return fact
    return None


def verified(experiment: Fact | None) -> dict[str, Any] | str:
    """What an experiment proves; without one the row identities are the proof."""
    return proof(experiment) or "fact"


def where(place: list[Any] | None) -> str:
    """ "line 12" of a [file, line]."""
    return f"line {place[1]}" if place and place[1] else "an unknown line"
