"""Columns as read, fitted on and judged with: recorded once, within a bound, and the same whichever library holds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from made import begun

from sabueso.capture import distributions
from sabueso.profiles import Profile
from sabueso.runs import Run
from sabueso.store.reader import open_run
from sabueso.store.writer import Writer

VALUES = {"a": np.arange(3000.0), "b": np.where(np.arange(3000) % 3 == 0, np.nan, 1.0), "c": ["x", "y", "z"] * 1000}


def looked(tmp_path: Path, *frames: tuple[Any, str]) -> Run:
    folder, recorder = begun(tmp_path)
    for frame, source in frames:
        distributions.look(recorder, frame, source)
    Writer(folder).close()
    return open_run(folder)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames(tmp_path: Path, make: Any) -> None:
    run = looked(tmp_path, (make(VALUES), "t fit"))
    found = {p.value["name"]: Profile.of(p.value) for p in run.profiles("column")}
    assert list(found) == ["a", "b", "c"] and all(p.count == 3000 for p in found.values())
    assert abs(found["a"].median - 1500) < 60 and abs(found["b"].missing_share - 1 / 3) < 0.06 and found["c"].kind == "text"
    assert {p.place.tensor for p in run.profiles("column")} == {"t fit"}


def test_arrays_have_the_names_of_the_table_before_them(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": np.arange(50.0), "b": np.arange(50.0)[::-1] ** 2})
    run = looked(tmp_path, (frame, "m fit"), (frame.to_numpy(), "m predict"), (np.zeros((9, 3)), "other predict"))
    assert [p.value["name"] for p in run.profiles("column")] == ["a", "b", "a", "b", "column 0", "column 1", "column 2"]
    (fact,) = run.facts("correlation")
    assert fact["columns"] == ["a", "b"] and abs(fact["values"][0][1] - np.corrcoef(frame.T)[0, 1]) < 1e-3


@pytest.mark.parametrize(
    "odd",
    [np.zeros((5, 2), dtype=object), np.zeros(5), np.zeros((4, 100)), np.zeros((0, 2)), pd.DataFrame(), [1, 2], None, pd.Series([1.0]),
     pd.DataFrame([[1, 2]], columns=["x", "x"]), pd.DataFrame({"d": pd.to_datetime(["2020-01-01"]), "o": [{}], "n": [None]}), pd.DataFrame({1: [1.0]})],
    ids=str,
)  # fmt: skip
def test_odd_tables_are_no_trouble(tmp_path: Path, odd: Any) -> None:
    from sabueso.store.reader import own_errors

    run = looked(tmp_path, (odd, "odd fit"))
    assert not own_errors(next((tmp_path / "runs").iterdir())) and len(run.profiles("column")) <= 3


def test_bounded(tmp_path: Path) -> None:
    frame = pd.DataFrame({f"c{n}": np.zeros(10) for n in range(200)})
    run = looked(tmp_path, *((frame, f"table {n}") for n in range(50)), (frame, "table 0"))
    assert len(run.profiles("column")) <= distributions.MOST_TABLES * distributions.MOST_COLUMNS
    assert {p.place.tensor for p in run.profiles("column")} >= {"table 0"}
