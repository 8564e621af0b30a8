"""Labels given bit by bit: one class after the other is told from what chance makes of small or rare ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sabueso.capture.turns import Turns, ordered

RNG = np.random.default_rng(0)
SORTED = np.repeat(["a", "b", "c"], 300)


def test_one_class_after_the_other() -> None:
    told = ordered(SORTED)
    assert told is not None and told["runs"] == 3 and told["lacking"] > 0.9


@pytest.mark.parametrize("labels", [RNG.permutation(SORTED), (RNG.random(2000) < 0.02).astype(str), SORTED[:120], np.repeat(["a"], 900)])
def test_mixed_rare_or_few(labels: np.ndarray) -> None:
    assert ordered(labels) is None


class Learner:
    """Stands for a model that learns bit by bit."""


@pytest.mark.parametrize(("counts", "answers", "harmed"), [(True, "c" * 50, True), (True, "abc" * 20, False), (False, "c" * 50, False)])
def test_harm_is_asked_for(counts: bool, answers: str, harmed: bool) -> None:
    facts: list[Any] = []
    turns, model = Turns(SimpleNamespace(at_exit=lambda call: None, fact=lambda *a, **k: facts.append(a))), Learner()  # type: ignore[arg-type]
    for i in range(0, 900, 50):
        turns.fed(model, SORTED[i : i + 50], ("program.py", 7))
    if counts:
        model.t_ = 900.0  # type: ignore[attr-defined]
    turns.judged(model, "predict", None, np.array(list(answers)))
    turns.tell()
    assert bool(facts) == harmed
