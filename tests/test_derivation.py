"""Columns that are made of others, and requests that are made into rows otherwise than the rows of the fit."""

from __future__ import annotations

import numpy as np

from sabueso.capture.deriving import names_of_tuples
from sabueso.derivation import derived, otherwise

RNG = np.random.default_rng(0)
RAW = np.round(RNG.lognormal(10, 0.6, 64), 0)


def test_forms_are_told_apart() -> None:
    made = np.column_stack([(np.log10(RAW) - 4) / 0.2, np.log1p(RAW), 2 * np.sqrt(RAW), np.float32(RAW), RAW + RNG.normal(0, 1e-3, 64)])
    found = derived(made, ["debt"], RAW[:, None])
    assert [(d[0].form if d else None) for d in found] == ["logarithm", "logarithm of one more", "square root", "", None]


def test_of_two_values_any_pair_is_a_line() -> None:
    a = np.arange(64) % 2.0
    assert not derived(a[:, None] * 3 - 1, ["b"], a[:, None])[0]
    assert derived(a[:, None], ["a"], a[:, None])[0]


def at_fit(column: np.ndarray) -> dict[int, dict[str, object]]:
    return {0: {"sd": float(column.std()), "min": column.min(), "max": column.max(), "grid": np.quantile(column, np.arange(21) / 20).tolist()}}


def test_another_logarithm_in_use() -> None:
    column = np.log10(RAW)
    learnt = derived(column[:, None], ["debt"], RAW[:, None])
    requests = [{"debt": str(v)} for v in RAW]
    told = otherwise(learnt, requests, [[float(v)] for v in np.log1p(RAW)], at_fit(column))
    assert [(t.fit.form, t.now.form) for t in told] == [("logarithm", "logarithm of one more")]
    assert not otherwise(learnt, requests, [[float(v)] for v in column], at_fit(column))


def test_a_service_may_convert_units() -> None:
    learnt = derived(RAW[:, None], ["debt"], RAW[:, None])
    requests = [{"debt": v / 1.7} for v in RAW]
    assert not otherwise(learnt, requests, [[v] for v in RAW], at_fit(RAW))


def test_records_turned_into_tuples_name_the_columns() -> None:
    rows = [(float(i), float("nan") if i == 2 else i / 3) for i in range(12)]
    kept = {object: (["cargo", "door"], rows)}
    assert names_of_tuples(kept, [np.array(c) for c in zip(*reversed(rows))]) == ["cargo", "door"]
    assert names_of_tuples(kept, [np.array(c) + 0.5 for c in zip(*rows)]) is None
