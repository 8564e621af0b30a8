"""Derivation: is a column exactly a logarithm, a root or the like of another one, times a factor, plus a constant?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

FORMS = {"": lambda x: x, "logarithm": np.log, "logarithm of one more": np.log1p, "square root": np.sqrt, "square": np.square}
LEAST = 8  # rows
SINGLE, DOUBLE = 6e-8, 1e-13  # relative precision of 32-bit floats, and of reckoning with 64-bit ones
OFF = 0.3  # standard deviations by which rows have to come out elsewhere to be told


@dataclass(frozen=True, slots=True)
class Derived:
    """`slope` times the form of the column `name`, plus `start`."""

    name: str
    form: str
    slope: float
    start: float

    def of(self, raw: np.ndarray) -> np.ndarray:
        """What it makes of such a column."""
        with np.errstate(all="ignore"):
            return self.slope * FORMS[self.form](raw) + self.start

    def told(self) -> list[Any]:
        """JSON-able."""
        return [self.name, self.form, self.slope, self.start]


def derived(made: np.ndarray, names: list[str], sources: np.ndarray, most: int = 4) -> list[list[Derived]]:
    """For each column of `made` (rows, columns) the columns of `sources` that it is derived of, plain ones first. Both without gaps."""
    found: list[list[Derived]] = [[] for _ in range(made.shape[1])]
    if len(made) < LEAST or len(made) != len(sources):
        return found
    for form, of in FORMS.items():
        with np.errstate(all="ignore"):
            bent = of(sources)
        for j, k, slope, start in _lines(made, bent):
            if len(found[j]) < most:
                found[j].append(Derived(names[k], form, slope, start))
    return found


def _lines(made: np.ndarray, sources: np.ndarray) -> Iterator[tuple[int, int, float, float]]:
    """(column, source, slope, start) where a column is a rising straight line of a source, as exactly as its numbers are kept."""
    ok = np.isfinite(sources).all(axis=0)
    sources = np.where(ok, sources, 0.0)
    y, x = made - made.mean(axis=0), sources - sources.mean(axis=0)
    sd_y, sd_x = y.std(axis=0), x.std(axis=0)
    with np.errstate(all="ignore"):
        alike = (y.T @ x) / len(y) / (sd_y[:, None] * sd_x[None])
    for j, k in zip(*np.nonzero(alike > 1 - 1e-6)):
        column, slope = made[:, j], float(alike[j, k] * sd_y[j] / sd_x[k])
        few = len(np.unique(column)) < 3  # of two values any other pair is a straight line
        with np.errstate(over="ignore"):
            kept = SINGLE if (column == column.astype(np.float32)).all() else DOUBLE
        miss = float(np.abs(y[:, j] - slope * x[:, k]).max())
        reach = float(np.abs(column).max()) + abs(slope) * float(np.abs(sources[:, k]).max())
        if ok[k] and not (few and abs(slope - 1) > 1e-6) and miss <= 4 * kept * reach + 1e-9 * float(sd_y[j]):
            yield int(j), int(k), slope, float(column.mean() - slope * sources[:, k].mean())


@dataclass(frozen=True, slots=True)
class Otherwise:
    """A column that requests reach the model in as `now`, and that was `fit` where it learnt; `off` in standard deviations of the fit."""

    column: int
    fit: Derived
    now: Derived
    off: float
    rows: int
    example: tuple[float, float, float]  # the field of one request, as at fit, as it came


def by_request(requests: list[dict[str, Any]], rows: list[list[Any]]) -> Iterator[tuple[int, list[Derived], dict[str, np.ndarray], np.ndarray]]:
    """(column, the fields that it is derived of, the fields' values, the column) of the rows that requests were made into."""
    pairs = [(r, row) for r, row in zip(requests, rows) if len(row) == len(rows[0])]
    names = [f for f in (pairs[0][0] if pairs else ()) if sum(number(r.get(f)) is not None for r, _ in pairs) >= max(LEAST, len(pairs) // 2)]
    for name in names:
        told = [(value, row) for r, row in pairs if (value := number(r.get(name))) is not None]
        raw = np.array([value for value, _ in told])
        if len(np.unique(raw)) < 3:
            continue
        made = np.array([[v if isinstance(v, (int, float)) else np.nan for v in row] for _, row in told], float)
        for j, found in enumerate(derived(made, [name], raw[:, None])):
            if found:
                yield j, found, {name: raw}, made[:, j]


def otherwise(learnt: list[list[Derived]], requests: list[dict[str, Any]], rows: list[list[Any]], refs: dict[int, dict[str, Any]]) -> list[Otherwise]:
    """Columns that requests are made into by another function of the same field than the rows of the fit were.

    `refs` has what is known of the fit's columns that stand out now. Prepared as at fit, the requests are much more like the rows of the fit: a
    service may well turn pounds into kilograms before.
    """
    told = []
    for j, found, values, column in by_request(requests, rows):
        if j not in refs or j >= len(learnt) or not refs[j].get("sd"):
            continue
        ref, now = refs[j], found[0]
        raw = values[now.name]
        usual = [d for d in learnt[j] if plain(d.name) == plain(now.name)]
        made = [(d, d.of(raw)) for d in usual]
        far = _distance(column, ref)
        off = [(float(np.median(np.abs(m - column))) / ref["sd"], d, m) for d, m in made if np.isfinite(m).all() and _distance(m, ref) < 0.5 * far]
        if far > OFF and off and min(o for o, _, _ in off) > OFF:
            size, fit, m = min(off, key=lambda o: o[0])
            told.append(Otherwise(j, fit, now, size, len(raw), (float(raw[0]), float(m[0]), float(column[0]))))
    return told


def plain(name: str) -> str:
    """A name without case and signs: totalAmount is total_amount."""
    return "".join(c for c in name.lower() if c.isalnum())


def _distance(values: np.ndarray, ref: dict[str, Any]) -> float:
    """Mean distance of the inner quantiles from those at fit, in standard deviations."""
    grid = np.array(ref["grid"])
    inner = slice(3, len(grid) - 3)
    return float(np.abs(np.quantile(values, np.linspace(0, 1, len(grid)))[inner] - grid[inner]).mean()) / float(ref["sd"])


def number(value: Any) -> float | None:
    """A value as a finite number, texts too."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if np.isfinite(found) else None
