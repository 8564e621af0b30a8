"""Where a drift comes from: the rows of one level of one column, or those from some row on, without which the column has not moved."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import drift
from ..capture.columns import split
from .held import Held

LEFT = 0.35  # share of the effect that may be left without these rows
MOST_LEVELS = 50
MOST = 0.8  # share of the rows that an origin may be


def origin(name: str, a: Held, b: Held, effect: float) -> dict[str, Any] | None:
    """The smallest part of the current rows that the move of a numeric column comes from; None where it is all of them."""
    ref, cur = a.sample[name], b.sample[name]
    if ref.dtype.kind == "O" or cur.dtype.kind == "O":
        return None
    inner = drift.edges(ref.astype(np.float64))
    if len(inner) < 3:
        return None
    usual = drift.count(ref, inner)
    found = [(held.sum(), told) for held, told in _parts(name, b, cur, inner) if 0.02 * len(cur) <= held.sum() <= MOST * len(cur)
             and drift.numbers(usual, drift.count(cur[~held], inner)).effect < LEFT * effect]  # fmt: skip
    return min(found, key=lambda f: f[0])[1] if found else None


def _parts(name: str, b: Held, cur: np.ndarray, inner: np.ndarray) -> list[tuple[np.ndarray, dict[str, Any]]]:
    """Parts of the current rows: by level, and from a break on."""
    made = []
    for column, profile in b.profiles.items():
        if profile.kind in ("text", "bool") and 2 <= len(profile.levels) <= MOST_LEVELS and column != name:
            values = b.sample[column]
            made += [(values == v, {"column": column, "value": v}) for v, n in profile.levels if 0.02 * profile.count <= n <= MOST * profile.count]
    place = np.searchsorted(inner, np.where(np.isfinite(cur), cur, inner[len(inner) // 2])) / len(inner)
    found = split(place, 0.5)
    if found is not None:
        held = np.zeros(len(cur), bool)
        held[found[0] : found[1]] = True
        rows = b.table.rows_of_sample()
        made.append((held, {"row": int(rows[found[0]]), "last": int(rows[found[1] - 1]), "rows": rows[held][:50].tolist()}))
    return made
