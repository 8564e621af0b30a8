"""Values counted from 0 that pandas pairs by label with rows numbered otherwise: told only where some are lost by it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from sabueso.adapters.pandas.aligning import Aligned, counted


class Recorder:
    """Keeps what is told."""

    def __init__(self) -> None:
        self.shared: dict[str, Any] = {}
        self.facts: list[dict[str, Any]] = []

    def fact(self, name: str, value: dict[str, Any], **place: Any) -> None:
        self.facts.append(value)


WHOLE = pd.DataFrame({"x": np.arange(10.0)})
FILTERED = WHOLE[WHOLE.x % 3 != 0]


def told(table: Any, values: Any) -> list[dict[str, Any]]:
    recorder = Recorder()
    Aligned(recorder).pair(table, values, "y", "assignment")  # type: ignore[arg-type]
    return recorder.facts


def test_a_filtered_table_and_one_of_days() -> None:
    (found,) = told(FILTERED, pd.Series(np.arange(6.0)))
    assert (found["rows"], found["gaps"], found["moved"], found["first"], found["rows_empty"]) == (6, 2, 4, 0, [4, 5])
    (found,) = told(WHOLE.set_index(pd.date_range("2024-01-01", periods=10)), pd.Series(np.arange(10.0)))
    assert found["gaps"] == 10


@pytest.mark.parametrize(("table", "values"), [
    (WHOLE, pd.Series(np.arange(10.0))), (FILTERED, WHOLE.x), (FILTERED, pd.Series(np.arange(6.0), index=FILTERED.index)),
    (WHOLE.sample(frac=1, random_state=0), WHOLE.x), (FILTERED, pd.Series([np.nan] * 6)),
])  # fmt: skip
def test_what_is_meant(table: Any, values: Any) -> None:
    assert not told(table, values)


def test_counted() -> None:
    assert counted(WHOLE.index, 10) and not counted(FILTERED.index, 6) and not counted(WHOLE.index[1:], 9)
