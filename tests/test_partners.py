"""Look-ups that find nothing, by the fit that is given what came of them."""

from __future__ import annotations

from typing import Any

import pytest

from sabueso.events import Fact
from sabueso.partners import found_later, nothing_found


def look_up(order: int, lost: int, how: str = "map", **more: Any) -> Fact:
    repair = {"how": "cast to text", "rows": lost, "left": 7, "right": "7", "part": 0} if lost else None
    return Fact("table_join", {"how": how, "left_rows": 90, "right_rows": 9, "unmatched_left": lost, "repair": repair, "on": ["code"], **more}, order=order)


def fit(order: int, **more: Any) -> Fact:
    return Fact("table_used", {"estimator": "Ridge", "rows": 60, "columns": ["km", "rate"], **more}, order=order)


@pytest.mark.parametrize(("more", "value"), [({"constant": {"rate": 0.0}}, 0.0), ({"gaps": {"rate": 60, "km": 3}}, None)])
def test_filled_or_left_empty(more: dict[str, Any], value: float | None) -> None:
    ((_, _, columns),) = nothing_found([look_up(1, 90)], [fit(0, **more), fit(2, **more)])
    assert columns == {"rate": value}


@pytest.mark.parametrize("join", [look_up(1, 40), look_up(1, 90, "left"), look_up(3, 90), look_up(1, 90, repair=None)])
def test_some_found_a_join_later_or_nothing_alike(join: Fact) -> None:
    assert not nothing_found([join], [fit(2, constant={"rate": 0.0})])


def test_found_in_another_spelling_later() -> None:
    joins = [look_up(1, 90), look_up(2, 0)]
    assert found_later(joins[0], joins) and not found_later(joins[1], joins)
    assert not nothing_found(joins, [fit(3, constant={"rate": 0.0})])
