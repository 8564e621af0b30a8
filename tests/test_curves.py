"""Whatever is reduced, no outlier and no value that is not finite is lost: against a plain reading of all points."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from made import huge

from sabueso.curves import BROKEN, HATCHED, grouped, heat, reduced
from sabueso.show.pages import site
from sabueso.store.browse import Browser

VENDOR = site.HERE / "assets" / "vendor"


def odd(count: int, seed: int) -> tuple[np.ndarray, list[int]]:
    """Values with a spike, a NaN and infinities at random places."""
    rng = np.random.default_rng(seed)
    values, spots = rng.normal(size=count), [int(s) for s in rng.choice(count, 4, replace=False)]
    for spot, value in zip(spots, (1e9, np.nan, np.inf, -np.inf)):
        values[spot] = value
    return values, spots


@pytest.mark.parametrize("count", [1, 50, 1999, 5000, 300_000])
@pytest.mark.parametrize("seed", [0, 1])
def test_nothing_odd_is_lost(count: int, seed: int) -> None:
    values, spots = odd(max(count, 4), seed)
    curve = reduced(np.arange(len(values)), values, 1000)
    assert curve.spread()[1] == 1e9 if np.isfinite(values[spots[0]]) else True
    assert curve.broken[:, 1:].sum(0).tolist() == [1, 1, 1] and curve.nonfinite == 3
    assert len(curve.steps) <= 2000
    at = {int(s) for s in curve.broken[:, 0]}
    width = len(values) / 1000 + 1
    assert all(min(abs(s - b) for b in at) <= width for s in spots[1:])


def test_reduced_against_a_plain_twin() -> None:
    values = np.random.default_rng(3).normal(size=10_000)
    values[::97] = np.nan
    curve = reduced(np.arange(10_000), values, 100)
    for i, low, high, mean in zip(range(100), curve.low, curve.high, curve.mean):
        part = [v for s, v in enumerate(values) if min(int(s * 100 / 9999), 99) == i and v == v]
        assert (min(part), max(part)) == (low, high) and abs(sum(part) / len(part) - mean) < 1e-12


def test_steps_out_of_order_and_repeated() -> None:
    curve = reduced(np.array([5, 1, 1, 3]), np.array([5.0, 1.0, np.nan, 3.0]))
    assert curve.steps.tolist() == [1, 1, 3, 5] and curve.broken.tolist() == [[1.0, 1.0, 0.0, 0.0]]


def test_summaries_say_what_the_points_say(tmp_path: Path) -> None:
    """Of a long series only chunk summaries are read; what is odd is there all the same, at its very step."""
    values, spots = odd(600_000, 5)
    browser = Browser(huge(tmp_path, "long", {("train_loss", ""): values}))
    coarse, fine = browser.curve(1, 100), browser.curve(1, 1000)
    for curve in (coarse, fine):
        assert curve.spread() == (np.nanmin(values[np.isfinite(values)]), 1e9) and curve.count == 600_000
        assert curve.broken[:, 1:].sum(0).tolist() == [1, 1, 1]
        assert sorted(curve.broken[:, 0].tolist()) == sorted(map(float, spots[1:])) or curve is fine
    near = browser.curve(1, 1000, spots[1] - 5, spots[1] + 5)
    assert near.raw and near.count == 11 and near.broken.tolist() == [[float(spots[1]), 1.0, 0.0, 0.0]]
    (listed,) = browser.listing()
    assert (listed.count, listed.nonfinite, listed.high) == (600_000, 3, 1e9)


def test_packed_and_read_again() -> None:
    curve = reduced(np.arange(5), np.array([1.0, np.nan, 3.0, np.inf, 5.0]))
    held = np.frombuffer(curve.packed(), "<f8")
    assert held[:4].tolist() == [1, 5, 2, 5] and held[4:9].tolist() == [0, 1, 2, 3, 4]
    assert held[-8:].tolist() == [1, 1, 0, 0, 3, 0, 1, 0]


def test_heat_keeps_what_is_not_finite_and_what_was_not_measured() -> None:
    made = heat("x", [("a", np.array([0, 2]), np.array([1.0, np.nan])), ("b", np.array([1]), np.array([1e6]))])
    assert made.steps.tolist() == [0, 1, 2] and made.broken.tolist() == [[False, False, True], [False, False, False]]
    cells = np.frombuffer(made.packed()[8 * 8 :], np.uint8).reshape(2, 3)
    assert made.log and cells.tolist() == [[0, HATCHED, BROKEN], [HATCHED, 250, HATCHED]]


def test_many_rows_and_columns_are_merged_with_the_odd_ones_on_top() -> None:
    rows = [(f"block.{i // 10}.layer.{i % 10}.weight", np.arange(5000), np.where(np.arange(5000) == 4321, np.nan, 1.0 + (i == 77))) for i in range(500)]
    made = heat("x", rows, 60, 300)
    assert len(made.labels) <= 60 and made.values.shape[1] == 300
    assert made.broken.any(1).all() and made.values.max() == 2.0


def test_grouped() -> None:
    assert grouped(["a.b.c", "a.b.d", "e.f"], 2) == ["a.b", "a.b", "e.f"]
    assert 4 <= len(set(grouped([str(n) for n in range(100)], 7))) <= 7
    assert 60 <= len(set(grouped([f"block.{n}.weight" for n in range(500)], 120))) <= 120  # never all of them in one row


def test_vendored_files_are_what_they_were() -> None:
    said = dict(reversed(line.split("  ")) for line in (VENDOR / "SHA256SUMS").read_text().splitlines())
    files = {p.name for p in VENDOR.iterdir()} - {"SHA256SUMS"}
    assert files == set(said) and any(n.endswith("LICENSE.txt") for n in files)
    for name, digest in said.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest, name
