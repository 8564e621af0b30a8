"""Sets of row ids, kept as sorted arrays in which each stands once: the shorter is looked up in the longer, nothing is sorted again."""

from __future__ import annotations

import numpy as np


def common(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The ids that stand in both."""
    a, b = (a, b) if len(a) <= len(b) else (b, a)
    return a[_within(a, b)]


def meet(a: np.ndarray, b: np.ndarray) -> bool:
    """Is there an id in both?"""
    return len(common(a, b)) > 0


def without(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The ids of a that do not stand in b."""
    if len(a) <= len(b):
        return a[~_within(a, b)]
    kept = np.ones(len(a), bool)
    kept[np.searchsorted(a, common(a, b))] = False
    return a[kept]


def _within(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Which ids of a stand in b?"""
    if not len(a) or not len(b) or a[-1] < b[0] or b[-1] < a[0]:
        return np.zeros(len(a), bool)
    return b[np.minimum(np.searchsorted(b, a), len(b) - 1)] == a
