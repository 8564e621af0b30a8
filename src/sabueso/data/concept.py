"""Concept drift between two tables with labels: a plain fit on the reference, held against rows kept back and against the current rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..capture.breaks import design
from ..profiles import Profile

LEAST = 200  # rows a side
CLEAR = 5.0  # standard errors between both errors
MOST_LEVELS = 20


def changed(ref: dict[str, np.ndarray], cur: dict[str, np.ndarray], target: str, profiles: dict[str, Profile], names: list[str]) -> dict[str, Any] | None:
    """What tells the label in the reference tells it less in the current rows, and a fit on these would do better: errors before, after, refitted."""
    labels = _labels(ref[target], cur[target])
    if labels is None or min(map(len, labels)) < LEAST:
        return None
    x = _matrices(ref, cur, names, profiles)
    if x is None:
        return None
    (a, b), (ya, yb) = x, labels
    half, fresh = np.arange(len(ya)) % 2 == 0, np.arange(len(yb)) % 2 == 0
    model = _fit(a[half], ya[half])
    before, after = (ya[~half] - a[~half] @ model) ** 2, (yb[~fresh] - b[~fresh] @ model) ** 2
    refitted = (yb[~fresh] - b[~fresh] @ _fit(b[fresh], yb[fresh])) ** 2
    gain = after - refitted
    z = float(min((after.mean() - before.mean()) / np.hypot(_error(after), _error(before)), gain.mean() / max(_error(gain), 1e-300)))
    if z < CLEAR or after.mean() < 1.2 * before.mean() or refitted.mean() > 0.9 * after.mean() or before.mean() > 0.9 * ya.var():
        return None
    return {"before": float(before.mean() ** 0.5), "after": float(after.mean() ** 0.5), "refitted": float(refitted.mean() ** 0.5), "z": z,
            "column": _along(cur, names, profiles, yb - b @ model)}  # fmt: skip


def _labels(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Labels as numbers: as they are, or 0 and 1 for two classes of text."""
    if a.dtype.kind != "O" and b.dtype.kind != "O":
        return (a.astype(float), b.astype(float)) if np.isfinite(a).all() and np.isfinite(b).all() else None
    levels = sorted({str(v) for v in a.tolist()})
    if len(levels) != 2 or {str(v) for v in b.tolist()} - set(levels):
        return None
    return tuple(np.array([str(v) == levels[1] for v in y.tolist()], float) for y in (a, b))  # type: ignore[return-value]


def _matrices(ref: dict[str, np.ndarray], cur: dict[str, np.ndarray], names: list[str], profiles: dict[str, Profile]) -> tuple[np.ndarray, np.ndarray] | None:
    """Both tables as one design, so that columns are scaled alike; winsorised at the reference's range, since a plain fit must not extrapolate."""
    numbers, levels = {}, {}
    for n in names[:60]:
        both = np.concatenate([ref[n], cur[n]])
        p = profiles[n]
        if p.kind in ("number", "bool") and p.min is not None:
            finite = np.where(np.isfinite(both), both, p.mean or 0.0)
            numbers[n] = np.clip(finite, p.min, p.max)
        elif p.kind == "text" and 2 <= len(p.levels) <= MOST_LEVELS:
            known = {v: i for i, (v, _) in enumerate(p.levels)}
            levels[n] = np.array([known.get(v, 0) for v in both.tolist()])
    if not numbers and not levels:
        return None
    made = design(numbers, levels, len(numbers) <= 6)
    cut = len(next(iter(ref.values())))
    return made[:cut], made[cut:]


def _fit(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.linalg.lstsq(x.T @ x + 1e-6 * len(x) * np.eye(x.shape[1]), x.T @ y, rcond=None)[0]


def _error(squares: np.ndarray) -> float:
    return float(squares.std() / np.sqrt(len(squares)))


def _along(cur: dict[str, np.ndarray], names: list[str], profiles: dict[str, Profile], left: np.ndarray) -> str | None:
    """The column along which the error lies: its bins explain most of what is left, and clearly more than the next one's do."""
    told = []
    for n in names[:60]:
        p, v = profiles[n], cur[n]
        if p.levels and len(p.levels) <= MOST_LEVELS:
            codes = np.unique([str(x) for x in v.tolist()], return_inverse=True)[1]
        elif p.quantiles and v.dtype.kind != "O":
            codes = np.searchsorted(np.unique(p.quantiles[2:-1:2]), v)
        else:
            continue
        count = np.maximum(np.bincount(codes), 1)
        mean = np.bincount(codes, left) / count
        told.append((float(((mean[codes] - left.mean()) ** 2).mean() / left.var()) - len(count) / len(left), n))
    told.sort(reverse=True)
    if not told or told[0][0] < 0.1 or (len(told) > 1 and told[0][0] < 1.5 * told[1][0]):
        return None
    return told[0][1]
