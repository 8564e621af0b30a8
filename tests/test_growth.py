"""What a cache holds: keys and results in turn, however it is kept."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from sabueso.capture.growth import cached_things


@pytest.mark.parametrize("most", [None, 4000])
def test_keys_and_results_of_a_cache_take_turns(most: int | None) -> None:
    @lru_cache(maxsize=most)
    def patch(a: int, b: float) -> np.ndarray:
        return np.zeros(10)

    for i in range(300):
        patch(i, i / 2)
    held = cached_things(patch, most is None)
    assert sum(isinstance(x, np.ndarray) for x in held) == 300
    for stride in (3, 7, 9):  # an odd stride meets both, whatever else it is a multiple of
        some = held[::stride]
        assert 0.3 < np.mean([isinstance(x, np.ndarray) for x in some]) < 0.7
