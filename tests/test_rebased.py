"""Logarithms to another base are known by the numbers behind them, and by nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from sabueso.shifts import rebased


def side(x: np.ndarray) -> dict[str, object]:
    return {"min": float(x.min()), "max": float(x.max()), "grid": np.quantile(x, np.linspace(0, 1, 21)).tolist()}


def amounts(seed: int, rows: int) -> np.ndarray:
    return np.random.default_rng(seed).lognormal(3.0, 0.8, rows).round(1)


@pytest.mark.parametrize("seed", range(5))
def test_a_logarithm_to_another_base(seed: int) -> None:
    assert rebased(side(np.log(amounts(seed, 1500))), side(np.log10(amounts(seed + 50, 400)))) == ("to the base of e", "to the base of 10")


@pytest.mark.parametrize("seed", range(5))
def test_what_became_less_is_no_logarithm(seed: int) -> None:
    rng = np.random.default_rng(seed)
    warm, cold = rng.normal(13.8, 5, 360).round(1), rng.normal(6.0, 2.2, 57).round(1)
    assert rebased(side(warm), side(cold)) is None
    assert rebased(side(np.log(amounts(seed, 1500))), side(0.434 * np.log(amounts(seed + 9, 400) + rng.random(400)))) is None
    assert rebased(side(rng.poisson(20, 400).astype(float)), side(rng.poisson(6, 400).astype(float))) is None
