"""Arrays and frames of any library as plain NumPy columns, and their Profiles; bounded, and no library is imported that is not there."""

from __future__ import annotations

import functools
import re
import sys
from typing import Any

import numpy as np

from ..profiles import GRID, MOST_TOP, Profile

MOST_ROWS = 50_000  # quantiles and distinct values are taken from at most so many rows, evenly spread
MOST_TEXTS = 5_000  # texts are Python objects: fewer
NUMBER = re.compile(r"^\s*[-+]?[$€£]?\s*(\d{1,3}([.,' ]\d{3})+|\d+)?([.,]\d+)?([eE][-+]?\d+)?\s*(%|[a-zA-Zµ°/²³]{1,6})?\s*$")
PLAIN = re.compile(r"^\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*$")
NULLS = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "?", ".", "missing", "unknown"})


def module(name: str) -> Any:
    """A library if the program has loaded it."""
    return sys.modules.get(name)


def library(x: Any) -> str:
    """Which library an object is of: pandas, polars, torch, numpy, pyarrow, scipy or ''."""
    top = type(x).__module__.partition(".")[0]
    return top if top in ("pandas", "polars", "torch", "numpy", "pyarrow", "scipy") else ""


def is_frame(x: Any) -> bool:
    """A table with named columns."""
    return type(x).__name__ in ("DataFrame", "Table") and library(x) in ("pandas", "polars", "pyarrow")


def columns_of(x: Any) -> list[str]:
    """The names of a table's columns, as text."""
    if library(x) == "pandas":
        return [str(c) for c in x.columns.tolist()]  # one by one out of an Arrow array takes ten times as long
    return [str(c) for c in (x.column_names if library(x) == "pyarrow" else x.columns)]


def height(x: Any) -> int:
    """Rows of a table or array."""
    if library(x) == "polars" and hasattr(x, "height"):
        return int(x.height)
    if library(x) == "pyarrow":
        return int(x.num_rows)
    shape = getattr(x, "shape", None)
    return int(shape[0]) if shape is not None and len(shape) else len(x)


def numeric_columns(frame: Any) -> list[np.ndarray] | None:
    """The columns of a pandas frame of plain numbers, as views of the arrays that it keeps; None for any other, or if pandas keeps them otherwise."""
    found: list[np.ndarray | None] = [None] * frame.shape[1]
    for block in getattr(getattr(frame, "_mgr", None), "blocks", None) or ():
        held, places = getattr(block, "values", None), getattr(getattr(block, "mgr_locs", None), "as_array", None)
        if type(held) is not np.ndarray or held.dtype.kind not in "fiub" or places is None or held.shape != (len(places), len(frame)):
            return None
        for i, j in enumerate(places):
            found[j] = held[i]
    return found if all(c is not None for c in found) else None  # type: ignore[return-value]


def column(x: Any, name: str) -> np.ndarray:
    """One column of a table by name."""
    lib = library(x)
    if lib == "pandas":
        return values(x.iloc[:, columns_of(x).index(name)])
    return values(x.column(name) if lib == "pyarrow" else x.get_column(name))


def values(x: Any) -> np.ndarray:
    """A column as one-dimensional NumPy: float64, int64 or bool for numbers, float64 seconds for times, objects (str or None) for all else.

    Missing numbers are NaN, missing texts None.
    """
    lib = library(x)
    if lib == "torch":
        return np.asarray(x.detach().cpu().numpy() if x.dtype.is_floating_point and x.dtype.itemsize > 2 else x.detach().cpu().float().numpy()
                          if x.dtype.is_floating_point else x.detach().cpu().numpy()).reshape(len(x), -1)[:, 0]  # fmt: skip
    if lib == "pandas":
        return _pandas(x)
    if lib == "polars":
        return _polars(x)
    if lib == "pyarrow":
        return _plain(x.to_numpy() if type(x).__name__ == "ChunkedArray" else x.to_numpy(zero_copy_only=False))
    return _plain(np.asarray(x))


def _pandas(x: Any) -> np.ndarray:
    kind = getattr(x.dtype, "kind", "O")
    if kind in "iub" and not hasattr(x.dtype, "na_value"):
        return np.asarray(x)
    if kind == "f" and not hasattr(x.dtype, "na_value"):
        return np.asarray(np.asarray(x), np.float64)  # NaN is a gap already: nothing is looked for, nothing copied
    if kind in "mM":
        return seconds(x.to_numpy())
    if kind in "iufb":
        return np.asarray(x.to_numpy(dtype=np.float64, na_value=np.nan))
    found = np.asarray(x, dtype=object)
    return _plain(found)


def _polars(x: Any) -> np.ndarray:
    dtype = x.dtype
    if dtype.is_numeric():
        return np.asarray(x.to_numpy()) if not x.null_count() else np.asarray(x.cast(module("polars").Float64).to_numpy())
    if dtype.is_temporal():
        return seconds(x.to_numpy())
    if str(dtype) == "Boolean" and not x.null_count():
        return np.asarray(x.to_numpy())
    return _plain(np.asarray(x.to_list() if not dtype.is_nested() else [str(v) for v in x.head(1).to_list()] * len(x), dtype=object))


def seconds(x: np.ndarray) -> np.ndarray:
    """Times as float64 seconds; NaT becomes NaN."""
    if x.dtype.kind not in "mM":
        return np.arange(len(x), dtype=np.float64)
    unit = "datetime64[ns]" if x.dtype.kind == "M" else "timedelta64[ns]"
    whole = x.astype(unit).astype(np.int64)
    return np.where(np.isnat(x), np.nan, whole / 1e9)


def _plain(x: np.ndarray) -> np.ndarray:
    if x.ndim > 1:
        x = x.reshape(len(x), -1)[:, 0]
    if x.dtype.kind in "iub":
        return x
    if x.dtype.kind == "f":
        return x.astype(np.float64, copy=False)
    if x.dtype.kind in "mM":
        return seconds(x)
    if x.dtype.kind in "US":
        return x.astype(object)
    if x.dtype.kind != "O":
        return np.array([str(v) for v in x.tolist()], dtype=object)
    found = [_scalar(v) for v in x.tolist()]
    if all(v is None or not isinstance(v, str) for v in found[:100]) and not any(isinstance(v, str) for v in found):
        return np.array(found, dtype=np.float64)  # None becomes NaN
    return np.array(found, dtype=object)


def _scalar(v: Any) -> Any:
    if isinstance(v, str) or v is None:
        return v
    if isinstance(v, (int, float, np.number)):
        return None if v != v else v
    text = type(v).__name__
    return None if text in ("NAType", "NaTType") else str(v)


@functools.lru_cache(maxsize=16)
def spread(n: int, most: int) -> np.ndarray | slice:
    """Evenly spread rows, at most so many: one out of each stretch, at random (of our own generator) so that no period is missed."""
    if n <= most:
        return slice(None)
    rows = ((np.arange(most) + np.random.default_rng(0).random(most)) * (n / most)).astype(np.int64)
    rows.setflags(write=False)  # every column of a table is read at the same ones
    return rows


def profile(x: Any, name: str = "") -> Profile:
    """The Profile of a column, array or list of any library."""
    found = values(x)
    dtype = str(getattr(x, "dtype", found.dtype))
    if found.dtype.kind in "iufb":
        return numbers(found, name, dtype, "bool" if found.dtype.kind == "b" else "time" if "date" in dtype.lower() else "number")
    return texts(found, name, dtype)


def numbers(x: np.ndarray, name: str, dtype: str, kind: str = "number") -> Profile:
    """The Profile of numbers."""
    made = Profile(name, dtype, kind, count=len(x))
    real = x.astype(np.float64, copy=False)
    finite = np.isfinite(real)
    good = real if finite.all() else real[finite]
    made.missing = int(np.isnan(real).sum()) if len(good) < len(real) else 0
    made.nonfinite = len(real) - len(good) - made.missing
    if not len(good):
        return made
    made.zeros = int((good == 0).sum())
    made.min, made.max, made.mean, made.sd = float(good.min()), float(good.max()), float(good.mean()), float(good.std())
    some = np.sort(good[spread(len(good), MOST_ROWS)])
    made.whole = x.dtype.kind in "iub" or bool((some == np.round(some)).all())
    made.quantiles = np.interp(np.array(GRID) * (len(some) - 1), np.arange(len(some)), some).tolist()
    starts = np.flatnonzero(np.concatenate(([True], some[1:] != some[:-1])))
    levels, times = some[starts], np.diff(starts, append=len(some))
    made.distinct, made.sampled = len(levels), len(some)
    if len(levels) <= 4 * MOST_TOP or times.max() > 0.01 * len(some):
        made.top = [(float(levels[i]), int(times[i])) for i in np.argsort(-times, kind="stable")[:MOST_TOP]]
    return made


def texts(x: np.ndarray, name: str, dtype: str) -> Profile:
    """The Profile of texts and mixed objects."""
    made = Profile(name, dtype, "text", count=len(x))
    made.missing = sum(1 for v in x.tolist() if v is None)
    some = [v for v in x[spread(len(x), MOST_TEXTS)].tolist() if v is not None]
    counts: dict[str, int] = {}
    for v in some:
        key = str(v)[:80]
        counts[key] = counts.get(key, 0) + 1
    made.distinct, made.sampled = len(counts), len(some)
    made.top = sorted(counts.items(), key=lambda t: (-t[1], t[0]))[:MOST_TOP]
    said = [t for t in counts if t.strip().lower() not in NULLS]
    if said:
        all_of = sum(counts[t] for t in said)
        made.numeric_share = sum(counts[t] for t in said if as_number(t) is not None) / all_of
        made.decimal_share = sum(counts[t] for t in said if re.search(r"\d[.,]\d", t) and as_number(t) is not None) / all_of
    return made


def as_number(text: str) -> float | None:
    """The number that a text spells, a decimal comma, thousands marks, a currency or a unit allowed; None if it spells none."""
    if not any(c.isdigit() for c in text) or not NUMBER.match(text):
        return None
    plain = re.sub(r"[^\d.,eE+-]", "", re.sub(r"[a-df-zA-DF-Zµ°/²³%]+\s*$", "", text.strip()))
    if "," in plain and "." in plain:
        plain = plain.replace(".", "").replace(",", ".") if plain.rfind(",") > plain.rfind(".") else plain.replace(",", "")
    elif plain.count(",") > 1 or re.fullmatch(r"[-+]?[1-9]\d{0,2},\d{3}", plain):
        plain = plain.replace(",", "")
    elif plain.count(".") > 1:
        plain = plain.replace(".", "")
    try:
        return float(plain.replace(",", "."))
    except ValueError:
        return None


def profile_table(x: Any, most: int = 200) -> list[Profile]:
    """Profiles of a table's columns, or of a two-dimensional array's, at most so many."""
    lib = library(x)
    if is_frame(x):
        plain = numeric_columns(x) if lib == "pandas" and len(x) else None
        if plain is not None:
            return [numbers(c, n, str(c.dtype), "bool" if c.dtype.kind == "b" else "number") for c, n in zip(plain[:most], columns_of(x))]
        return [profile_of(x, c) for c in columns_of(x)[:most]]
    array = x.detach().cpu().numpy() if lib == "torch" else np.asarray(x)
    flat = array.reshape(len(array), -1)
    return [profile(flat[:, i], str(i)) for i in range(min(flat.shape[1], most))]


def profile_of(x: Any, name: str) -> Profile:
    """The Profile of one column of a table; of a large text column only evenly spread rows are looked at."""
    lib, n = library(x), height(x)
    if lib == "pandas":
        held = x.iloc[:, [str(c) for c in x.columns].index(name)]
    else:
        held = x.column(name) if lib == "pyarrow" else x.get_column(name)
    return profile(held, name) if n else Profile(name, str(held.dtype if lib != "pyarrow" else held.type))
