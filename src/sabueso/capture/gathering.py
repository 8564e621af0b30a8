"""Gathering: are the values of one call after the other added up, or collected in a list, by the code that makes the calls?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np

from .origin import is_users, names_in

LEAST = 3  # values: fewer agree by chance
MOST_NAMES = 60


@dataclass(slots=True)
class Gathered:
    """`how`: sum, weighted sum or list; `name` of the variable that holds it; `start`: the call at which the pass began."""

    how: str
    name: str
    start: int


def gathered(frame: FrameType, values: list[float], sizes: list[int]) -> Gathered | None:
    """Look among the variables of the calling function, and the attributes of its objects, for the values so far."""
    v, n = np.array(values[-3000:]), np.array(sizes[-3000:], dtype=float)
    if len(v) < LEAST or not np.isfinite(v[-LEAST:]).all() or (v[-LEAST:] == 0).all():
        return None
    sums, weighted = np.cumsum(v[::-1]), np.cumsum((v * n)[::-1])  # of the last 1, 2, 3, .. values
    for name, x in variables(frame):
        if isinstance(x, (list, tuple)) and len(x) >= LEAST:
            k = _listed(x, v)
            if k:
                return Gathered("list", name, len(v) - k)
        elif isinstance(x, (float, np.floating)) and x == x and x:
            for how, s in (("sum", sums), ("weighted sum", weighted)):
                hit = np.flatnonzero(np.abs(s[LEAST - 1 :] - x) <= 1e-9 * max(abs(float(x)), 1e-9))
                if len(hit):
                    return Gathered(how, name, len(v) - (int(hit[-1]) + LEAST))
    return None


def logged_as(logged: Sequence[tuple[str, float]], values: list[float]) -> Gathered | None:
    """Were the last values given, one by one under one name, to a trainer that averages them over an epoch?"""
    for name in dict.fromkeys(name for name, _ in logged):
        mine = [value for other, value in logged if other == name]
        if len(mine) >= LEAST and np.allclose(mine[-LEAST:], values[-LEAST:], rtol=1e-6):
            return Gathered("list", name, max(0, len(values) - len(mine)))
    return None


def _listed(x: Any, v: np.ndarray) -> int:
    """How many of the last values the list ends in, if it holds nothing else."""
    if len(x) > len(v) or not all(isinstance(e, (float, int, np.floating)) for e in x[-LEAST:]):
        return 0
    try:
        return len(x) if np.array_equal(np.array(x, dtype=float), v[len(v) - len(x) :]) else 0
    except (TypeError, ValueError):
        return 0


def variables(frame: FrameType) -> list[tuple[str, Any]]:
    """Names and values of a frame, and of the attributes of the person's own objects among them."""
    found: list[tuple[str, Any]] = []
    for name, x in list(names_in(frame).items())[-300:]:
        if isinstance(x, (float, list, np.floating)):
            found.append((name, x))
        elif isinstance(x, dict) and len(x) <= 20:
            found += [(f"{name}[{k!r}]", e) for k, e in x.items() if isinstance(e, (float, list))]
        elif not isinstance(x, type) and _of_person(type(x)) and hasattr(x, "__dict__"):
            found += [(f"{name}.{k}", e) for k, e in list(vars(x).items())[:20] if isinstance(e, (float, list, np.floating))]
    return found[-MOST_NAMES:]


def _of_person(cls: type) -> bool:
    module = sys.modules.get(cls.__module__)
    return bool(module is not None and getattr(module, "__file__", None) and is_users(module.__file__))
