"""What a model learnt from, column by column, and what later rows look like beside it: bounded, in order, with the rows that stand out."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import drift
from .summarise import columns_of, height, is_frame, library, numeric_columns, spread, values

SAMPLE = 10_000  # rows of a column that edges, quantiles and its stock of values come from
MOST_COLUMNS = 200
MOST_LEVELS = 10_000
FEW = 64  # a numeric column with no more distinct values is also compared value by value
ROWS = 50  # rows that a finding names
NOTABLE = 0.1  # standard deviations by which a column has moved
CELLS = 4096
AT_ONCE = 8  # columns
MOST_KNOWN = 400  # sketches
GRID = np.arange(21) / 20


@dataclass(slots=True)
class Reference:
    """A column at fit. `stock` is a sorted sample of a numeric column, `levels` the counts of a text column."""

    name: str
    index: int
    text: bool
    count: int
    missing: int
    low: float = 0.0
    high: float = 0.0
    mean: float = 0.0
    sd: float = 0.0
    stock: np.ndarray = field(default_factory=lambda: np.zeros(0))
    inner: np.ndarray = field(default_factory=lambda: np.zeros(0))
    levels: dict[Any, int] = field(default_factory=dict)

    _counts: list[int] | None = None

    @property
    def grid(self) -> list[float]:
        return _grid(self.stock)

    @property
    def counts(self) -> list[int]:
        """The stock by bin, counted once."""
        if self._counts is None:
            self._counts = drift.count(self.stock, self.inner).tolist()
        return list(self._counts)

    @property
    def few(self) -> dict[float, int] | None:
        """Counts by value where there are few values."""
        if np.count_nonzero(self.stock[1:] != self.stock[:-1]) >= FEW:  # it is sorted
            return None
        found, times = np.unique(self.stock, return_counts=True)
        return dict(zip(found.tolist(), times.tolist()))

    def counts_of(self, values: np.ndarray) -> list[int]:
        """Finite values by the same bins."""
        return np.bincount(_bins(self, values.astype(np.float64, copy=False)), minlength=len(self.inner) + 1).tolist()

    def as_dict(self) -> dict[str, Any]:
        told: dict[str, Any] = {"count": self.count, "missing": self.missing}
        if not self.text:
            told |= {"mean": self.mean, "sd": self.sd, "min": self.low, "max": self.high, "grid": self.grid}
        return told


def names_of(x: Any) -> list[str] | None:
    """The names of a table's columns, None for a bare array."""
    if is_frame(x):
        return columns_of(x)
    name = getattr(x, "name", None)
    return [name] if library(x) in ("pandas", "polars") and isinstance(name, str) else None


def columns(x: Any, most: int = MOST_COLUMNS) -> list[np.ndarray] | None:
    """The columns of a table or of an array of at most two axes; None for anything else (pictures, sparse matrices, sequences)."""
    lib = library(x)
    if is_frame(x):
        if lib == "pandas":
            plain = numeric_columns(x)
            if plain is not None:
                return [c.astype(np.float64, copy=False) if c.dtype.kind == "f" else c for c in plain[:most]]
            return [values(x.iloc[:, j]) for j in range(min(x.shape[1], most))]
        return [values(c) for c in (x.columns if lib == "pyarrow" else x.get_columns())[:most]]
    if lib == "torch":
        if str(x.layout) != "torch.strided" or x.ndim not in (1, 2) or x.device.type != "cpu":
            return None
        x = x.detach().float().numpy() if x.dtype.is_floating_point else x.detach().numpy()
    elif lib in ("pandas", "polars"):
        return [values(x)]
    elif isinstance(x, (list, tuple)):
        if not x or len(x) > 20_000 or not isinstance(x[0], (list, tuple, int, float, str, np.ndarray, np.number)):
            return None
        try:
            x = np.array(x, dtype=object) if isinstance(x[0], (list, tuple)) and any(isinstance(v, str) for v in x[0]) else np.asarray(x)
        except ValueError:
            return None
    if not isinstance(x, np.ndarray) or x.ndim not in (1, 2) or x.dtype.kind not in "iufbOUSmM" or not x.size:
        return None
    return [values(x)] if x.ndim == 1 else [values(x[:, j]) for j in range(min(x.shape[1], most))]


def positions(x: Any) -> np.ndarray:
    """The rows' positions in the table as read: a pandas frame's whole-number index where it is one, else 0, 1, 2, .."""
    n = height(x)
    if library(x) == "pandas" and getattr(x.index, "dtype", None) is not None and x.index.dtype.kind in "iu" and n:
        found = np.asarray(x.index)
        if found.min() >= 0:
            return found.astype(np.int64)
    return np.arange(n)


def reference(name: str, index: int, column: np.ndarray, known: dict[Any, Reference] | None = None) -> Reference:
    """The sketch of a column at fit; of one that is `known` already, by its content, the very same."""
    n = len(column)
    if column.dtype.kind == "O":
        some = column[spread(n, 10 * SAMPLE)].tolist()
        levels: dict[Any, int] = {}
        for v in some:
            if v is not None:
                levels[v] = levels.get(v, 0) + 1
        missing = sum(v is None for v in some)
        return Reference(name, index, True, len(some), missing, levels=levels if len(levels) <= MOST_LEVELS else {})
    real = np.ascontiguousarray(column, np.float64)  # a column of a matrix lies scattered: it is gathered once
    total = float(real.sum())
    key = (n, total, real[:: max(1, n // 16)].tobytes()) if known is not None and n > SAMPLE and math.isfinite(total) else None
    if key in (known or ()):
        return replace(known[key], name=name, index=index)  # type: ignore[index]
    good = real if math.isfinite(total) else real[np.isfinite(real)]
    made = Reference(name, index, False, n, n - len(good))
    if len(good):
        made.low, made.high, made.mean = float(good.min()), float(good.max()), float(good.mean())
        away = good - made.mean
        made.sd = math.sqrt(float(away @ away) / len(good))
        made.stock = np.sort(good[spread(len(good), SAMPLE)])
        made.inner = np.unique(_grid_of(made.stock, np.arange(1, drift.BINS) / drift.BINS))
    if key is not None and len(known) < MOST_KNOWN:  # type: ignore[arg-type]
        known[key] = made  # type: ignore[index]
    return made


def gathered(columns: list[np.ndarray]) -> Iterator[np.ndarray]:
    """The columns one after the other, each good until the next is asked for.

    Those of a matrix that lies row by row are copied out several at once, as a line of memory holds several.
    """
    held: np.ndarray | None = None
    for start in range(0, len(columns), AT_ONCE):
        some = columns[start : start + AT_ONCE]
        size = some[0].itemsize
        places = [c.__array_interface__["data"][0] for c in some]
        beside = all(b - a == size for a, b in zip(places, places[1:])) and len({(c.dtype, c.shape, c.strides) for c in some}) == 1
        if len(some) == 1 or not beside or some[0].dtype.kind != "f" or some[0].strides[0] <= size:
            yield from some
            continue
        matrix = np.lib.stride_tricks.as_strided(some[0], (len(some[0]), len(some)), (some[0].strides[0], size), writeable=False)
        held = np.empty((AT_ONCE, len(matrix)), matrix.dtype) if held is None or held.dtype != matrix.dtype or held.shape[1] != len(matrix) else held
        out = held[: len(some)]
        for row in range(0, len(matrix), 256):
            out[:, row : row + 256] = matrix[row : row + 256].T
        yield from out


def beside(ref: Reference, column: np.ndarray, rows: np.ndarray) -> dict[str, Any] | None:
    """What stands out in later rows of a column; None where it has nothing to say. `rows` are their positions."""
    if ref.text != (column.dtype.kind == "O"):
        return _other_type(ref, column, rows)
    return _levels(ref, column, rows) if ref.text else _numbers(ref, column, rows)


def _numbers(ref: Reference, column: np.ndarray, rows: np.ndarray) -> dict[str, Any] | None:
    real = column.astype(np.float64, copy=False)
    gap = ~np.isfinite(real)
    good, at = (real[~gap], rows[~gap]) if gap.any() else (real, rows)
    told: dict[str, Any] = {"name": ref.name, "index": ref.index, "kind": "number", "ref": ref.as_dict(),
                            "cur": {"count": len(real), "missing": int(gap.sum())}}  # fmt: skip
    notable = _missing(ref, told, gap, rows)
    if not len(good) or not len(ref.stock):
        return told if notable else None
    at_edge = _bins(ref, good)
    told["ref_counts"], told["cur_counts"] = ref.counts, np.bincount(at_edge, minlength=len(ref.inner) + 1).tolist()
    effect = drift.effect(told["ref_counts"], told["cur_counts"], NOTABLE)
    moved = split(at_edge / max(len(ref.inner), 1) if len(ref.inner) else np.sign(good - ref.mean), 0.5)
    beyond = (good < ref.low) | (good > ref.high)
    if not (notable or effect >= NOTABLE or moved is not None or int(beyond.sum()) > 0.005 * len(good)):
        return None
    told["cur"] |= {"mean": float(good.mean()), "sd": float(good.std()), "min": float(good.min()), "max": float(good.max()),
                    "grid": _grid(np.sort(good))}  # fmt: skip
    few = ref.few
    if few is not None:
        found, times = np.unique(good, return_counts=True)
        told["ref_few"], told["cur_few"] = list(few.items()), list(zip(found.tolist(), times.tolist()))[:FEW]
    if beyond.any():
        told["beyond"] = {"count": int(beyond.sum()), "rows": at[beyond][:ROWS].tolist(), "grid": _grid(np.sort(good[beyond]))}
    if moved is not None:
        start, stop, before, after = moved
        told["moved"] = {"row": int(at[start]), "from": start, "to": stop, "rows": at[start:stop][:ROWS].tolist(), "count": stop - start,
                         "rank_before": before, "rank_after": after, "sharp": sharpness(good, start, stop), "grid": _grid(np.sort(good[start:stop])),
                         "counts": drift.count(good[start:stop], ref.inner).tolist(),
                         "rest_grid": _grid(np.sort(np.delete(good, slice(start, stop)))),
                         "rest_counts": drift.count(np.delete(good, slice(start, stop)), ref.inner).tolist()}  # fmt: skip
    return told


def _bins(ref: Reference, good: np.ndarray) -> np.ndarray:
    """The bin of each value, as `np.searchsorted(ref.inner, good)` has it: of most it is that of their cell in an even grid, in which no edge lies."""
    low, wide = (ref.inner[0], ref.inner[-1] - ref.inner[0]) if len(ref.inner) else (0.0, 0.0)
    if len(good) < 20 * len(ref.inner) or not 1e-300 < wide < 1e300:
        return np.searchsorted(ref.inner, good, side="left")

    def cell(values: np.ndarray) -> np.ndarray:
        return (np.clip((values - low) * (CELLS / wide), -1.0, CELLS + 1.0) + 1.0).astype(np.intp)

    edges = np.bincount(cell(ref.inner), minlength=CELLS + 3)
    of = cell(good)
    found = (np.cumsum(edges) - edges)[of]
    unsure = np.flatnonzero(edges[of])
    found[unsure] = np.searchsorted(ref.inner, good[unsure], side="left")
    return found


def _missing(ref: Reference, told: dict[str, Any], gap: np.ndarray, rows: np.ndarray) -> bool:
    """Missing values of the later rows; are they notably many?"""
    if not gap.any():
        return False
    where = np.flatnonzero(gap)
    found = split(gap.astype(np.float64), ref.missing / max(ref.count, 1))
    if found is not None:
        where = where[(where >= found[0]) & (where < found[1])]
        told["missing_from"] = {"row": int(rows[found[0]]), "before": found[2], "after": found[3], "count": found[1] - found[0]}
    told["missing_rows"] = rows[where[:ROWS]].tolist()
    return bool(gap.mean() > ref.missing / max(ref.count, 1) + 0.02)


def _levels(ref: Reference, column: np.ndarray, rows: np.ndarray) -> dict[str, Any] | None:
    said = column.tolist()
    gap = np.array([v is None for v in said], dtype=bool)
    counts: dict[Any, int] = {}
    for v in said:
        if v is not None:
            counts[v] = counts.get(v, 0) + 1
    told: dict[str, Any] = {"name": ref.name, "index": ref.index, "kind": "level", "ref": ref.as_dict(),
                            "cur": {"count": len(said), "missing": int(gap.sum())}}  # fmt: skip
    notable = _missing(ref, told, gap, rows)
    if not ref.levels or len(ref.levels) > 0.5 * ref.count:  # identifiers and free text have always new values
        return told if notable else None
    new = {v: n for v, n in counts.items() if v not in ref.levels}
    if new:
        told["new"] = dict(sorted(new.items(), key=lambda t: -t[1])[:20])
        told["new_count"], told["new_kinds"] = sum(new.values()), len(new)
        told["new_rows"] = [int(rows[i]) for i, v in enumerate(said) if v in new][:ROWS]
    known = list(dict.fromkeys([*sorted(ref.levels, key=lambda v: -ref.levels[v])[:200], *sorted(counts, key=lambda v: -counts[v])[:200]]))
    told["levels"] = [str(v)[:60] for v in known]
    told["ref_counts"], told["cur_counts"] = [ref.levels.get(v, 0) for v in known], [counts.get(v, 0) for v in known]
    told["once"] = sum(n == 1 for n in ref.levels.values())
    return told if notable or new or drift.levels(told["ref_counts"], told["cur_counts"]).effect >= 0.1 else None


def _other_type(ref: Reference, column: np.ndarray, rows: np.ndarray) -> dict[str, Any]:
    """Numbers at fit and text later, or the other way round."""
    return {"name": ref.name, "index": ref.index, "kind": "type", "ref": ref.as_dict(), "cur": {"count": len(column)},
            "types": ["text", "number"] if ref.text else ["number", "text"], "rows": rows[:ROWS].tolist(),
            "example": str(column[0])[:60]}  # fmt: skip


def split(rank: np.ndarray, usual: float, clear: float = 6.0) -> tuple[int, int, float, float] | None:
    """The end (or beginning) of the rows that moved away from `usual`: (from, to, mean of the rest, mean there); None for no clear break.

    The split of largest contrast; clear where it is beyond so many standard errors (chance in 1,000 rows reaches 4) and half a spread.
    """
    n = len(rank)
    if n < 8:
        return None
    mean = float(rank.mean())
    away = rank - mean
    total = np.cumsum(away)[:-1]
    gain = np.abs(total) * _contrast(n)
    gain[:2], gain[-2:] = 0.0, 0.0
    at = int(np.argmax(gain))
    most, left, right = float(gain[at]), mean + float(total[at]) / (at + 1), mean - float(total[at]) / (n - at - 1)
    within = max(math.sqrt(max(float(away @ away) - most**2, 0.0) / n), 0.02)
    if most < clear * within or abs(right - left) < 0.5 * within:
        return None
    end = abs(right - usual) >= abs(left - usual) - 1e-9 * abs(right - left)  # of a ramp both ends have moved as much: the end is told
    return (at + 1, n, left, right) if end else (0, at + 1, right, left)


@functools.lru_cache(maxsize=4)
def _contrast(n: int) -> np.ndarray:
    """What a sum of the first k deviations weighs as a contrast between the first k and all others."""
    k = np.arange(1, n)
    return np.sqrt(n / (k * (n - k)))


def sharpness(values: np.ndarray, start: int, stop: int, near: int = 12) -> float:
    """How much of the move between two parts the rows next to the break show: about 1 for a sudden one, little for a series that wanders."""
    edge = start or stop
    wide = min(near, edge, len(values) - edge)
    whole = float(np.median(values[start:stop]) - np.median(np.delete(values, slice(start, stop))))
    here = float(np.median(values[edge : edge + wide]) - np.median(values[edge - wide : edge])) * (1 if start else -1)
    return here / whole if whole and wide else 1.0


def _grid_of(ordered: np.ndarray, at: np.ndarray) -> np.ndarray:
    return np.interp(at * (len(ordered) - 1), np.arange(len(ordered)), ordered) if len(ordered) else np.zeros(0)


def _grid(ordered: np.ndarray) -> list[float]:
    """21 quantiles of sorted values."""
    return _grid_of(ordered, GRID).tolist()
