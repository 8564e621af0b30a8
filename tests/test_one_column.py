"""An answer of 0 in every row, of a network with a single column, is told from a threshold that nothing reaches."""

from __future__ import annotations

import numpy as np
import pytest

from sabueso.capture.outputs import Output
from sabueso.capture.scores import one_column

ROWS = np.arange(60)
TRUE = (ROWS % 3 == 0).astype(int)
NONE = np.zeros(60, int)


def output(values: np.ndarray, method: str = "forward") -> Output:
    return Output("Net", method, values.astype(np.float32), 0)


def test_the_largest_of_one_column() -> None:
    for scores in (0.1 + 0.8 * TRUE, 3.0 * TRUE - 1):
        told = one_column(TRUE, NONE, output(scores))
        assert told is not None and told["better"] == 1 and told["others"] == pytest.approx(1 / 3, abs=1e-3)


@pytest.mark.parametrize("scores", [0.05 + 0.4 * TRUE, 0.1 + 0.8 * (ROWS % 2), 3.0 * TRUE - 4])
def test_a_threshold_that_nothing_reaches_or_that_is_no_better(scores: np.ndarray) -> None:
    assert one_column(TRUE, NONE, output(scores)) is None


def test_answers_that_are_none_of_these() -> None:
    scores = 0.1 + 0.8 * TRUE
    assert one_column(TRUE, TRUE, output(scores)) is None
    assert one_column(TRUE, NONE, output(scores, "predict_proba")) is None
    assert one_column(NONE, NONE, output(scores)) is None
