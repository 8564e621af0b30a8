"""Fingerprints: one number a row, the same for the same values in whatever container they come.

Values are compared as 32-bit floats, so that a float64 table and the float32 tensor made of it agree; text by its CRC. A row's number is a
sum over its columns of mixed value times an odd constant of the column's position, modulo 2**64: order of summation and memory layout
don't matter, zeros add nothing (so sparse and dense agree). Two different rows agree by chance with a probability under 2**-33.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..summarise import numeric_columns

NAN = np.uint32(0x7FC00000)
SPREAD = np.uint32(0x9E3779B1)
MOST_CELLS = 8_000_000  # above it only so many columns are looked at: 128 of them, chosen by the width alone
MOST_COLUMNS = 128
STRETCH = 4096  # rows
CHUNK = 1 << 18  # cells that are mixed at once: they stay in the processor's cache


class Table:
    """The values of an array or frame as 32-bit codes: `codes` (rows, columns), `names` where columns have any, `numeric` by column.

    A table `of` (another table, rows of it) is copied out of it when its codes are first asked for.
    """

    __slots__ = ("_codes", "names", "numeric", "_of", "rows")

    def __init__(self, codes: np.ndarray | None, names: list[str] | None, numeric: np.ndarray, of: tuple[Table, np.ndarray] | None = None) -> None:
        self._codes, self.names, self.numeric, self._of = codes, names, numeric, of
        self.rows = len(codes) if codes is not None else len(of[1]) if of is not None else 0

    @property
    def codes(self) -> np.ndarray:
        if self._codes is None:
            whole, rows = self._of  # type: ignore[misc]
            self._codes, self._of = whole.codes[rows], None
        return self._codes

    @property
    def width(self) -> int:
        return len(self.numeric)

    @property
    def nbytes(self) -> int:
        return 4 * self.rows * self.width

    def floats(self, rows: Any = slice(None)) -> np.ndarray:
        """The values of the numeric columns as float64 (text columns are NaN)."""
        values = self.take(rows).codes.view(np.float32).astype(np.float64)
        values[:, ~self.numeric] = np.nan
        return values

    def take(self, rows: Any) -> Table:
        """Some rows; by their numbers they are copied when they are asked for."""
        if self._codes is None and self._of is not None:
            return Table(None, self.names, self.numeric, (self._of[0], self._of[1][rows]))
        if isinstance(rows, np.ndarray) and rows.dtype.kind in "iu":
            return Table(None, self.names, self.numeric, (self, rows))
        return Table(self.codes[rows], self.names, self.numeric)

    def column(self, j: int) -> np.ndarray:
        """The codes of one column."""
        if self._codes is None and self._of is not None:
            return self._of[0].column(j)[self._of[1]]
        return self.codes[:, j]

    def holds(self, column: np.ndarray) -> bool:
        """Is one of the columns just these codes?"""
        some = spaced(self.rows, 32)
        near = np.flatnonzero((self.take(some).codes == column[some, None]).all(axis=0))
        return any(np.array_equal(self.column(int(j)), column) for j in near)

    def same_as(self, other: Table) -> None:
        """Another table holds the same values: no codes of its own are needed."""
        self._codes, self._of = other._codes, other._of

    def named(self, x: Any) -> Table:
        """The same values under the names of another table's columns."""
        names = getattr(x, "columns", None)
        return Table(self._codes, list(map(str, names)) if names is not None else None, self.numeric, self._of)

    def within(self, whole: Table) -> None:
        """Hold no codes of its own where they are those of neighbouring columns of another table, in the same rows."""
        held, mine = whole.codes, self.codes
        first = next((j for j in range(whole.width - self.width + 1) if np.array_equal(held[:, j], mine[:, 0])), None)
        if first is not None and np.array_equal(held[:, first : first + self.width], mine):
            self._codes = held[:, first : first + self.width]

    def take_column(self, j: int) -> Table:
        """One column as a table of its own."""
        codes = self.column(j)[:, None]
        return Table(codes, [self.names[j]] if self.names else None, self.numeric[j : j + 1])


def table_of(x: Any) -> Table | None:
    """The codes of an array, frame, tensor, series or list; None for what has no rows of values."""
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    if pandas is not None and isinstance(x, (getattr(pandas, "DataFrame", ()), getattr(pandas, "Series", ()))):
        frame = x.to_frame() if x.ndim == 1 else x
        plain = _of_numbers(frame)
        if plain is not None:
            return plain
        picked = [frame.iloc[:, j] for j in _picked(*frame.shape)]
        return _of_columns(picked, list(map(str, frame.columns)), *frame.shape)
    if polars is not None and isinstance(x, (getattr(polars, "DataFrame", ()), getattr(polars, "Series", ()))):
        frame = x.to_frame() if isinstance(x, polars.Series) else x
        columns = frame.get_columns()
        return _of_columns([columns[j] for j in _picked(frame.height, frame.width)], list(frame.columns), frame.height, frame.width)
    array = array_of(x)
    if array is None or array.ndim == 0 or len(array) == 0:
        return None
    flat = array.reshape(len(array), -1)
    flat = flat[:, _picked(*flat.shape)] if flat.shape[1] > MOST_COLUMNS else flat
    if flat.dtype.kind in "fiub":
        return Table(_number_codes(flat), None, np.ones(flat.shape[1], bool))
    return _of_columns([flat[:, j] for j in range(flat.shape[1])], None, *flat.shape)


def same_values(x: Any, table: Table) -> bool:
    """Has a pandas frame of plain numbers, or an array, the values of a table? Nothing of its size is made."""
    columns = numeric_columns(x) if hasattr(x, "iloc") else list(x.T) if isinstance(x, np.ndarray) and x.ndim == 2 and x.dtype.kind in "fiub" else None
    if columns is None or len(columns) != table.width or not table.numeric.all():
        return False
    for start in range(0, table.rows, STRETCH):
        part = np.array([c[start : start + STRETCH] for c in columns])
        if not np.array_equal(_number_codes(part).T, table.take(slice(start, start + STRETCH)).codes):
            return False
    return True


def array_of(x: Any) -> np.ndarray | None:
    """A NumPy view of an array, tensor, list or the like without copying what need not be; None for anything else."""
    if isinstance(x, np.ndarray):
        return None if x.dtype.kind in "cV" else x
    if hasattr(x, "detach") and hasattr(x, "numpy"):  # a tensor
        if getattr(x.device, "type", "cpu") != "cpu" or x.layout != sys.modules["torch"].strided or x.is_complex():
            return None
        x = x.detach()
        return x.float().numpy() if str(x.dtype) in ("torch.bfloat16", "torch.float16") else x.numpy()
    if isinstance(x, (list, tuple)) and x and len(x) < 500_000:
        kind = type(x[0])
        if kind in (str, int, float, bool) or kind.__module__ == "numpy" and getattr(x[0], "ndim", 9) < 2:
            try:
                made = np.array(x, dtype=object if kind is str else None)
            except ValueError:
                return None
            return made if made.dtype.kind in "fiubO" else None
    return None


def row_hashes(table: Table, columns: Iterable[int] | None = None) -> np.ndarray:
    """One uint64 a row over all columns, or over some (then by their order in the list)."""
    codes = table.codes if columns is None else np.array([table.column(j) for j in columns]).T
    factors = column_factors(np.arange(codes.shape[1]))
    hashes = np.empty(len(codes), np.uint64)
    by_column = codes.flags.f_contiguous and codes.shape[1] > 1
    step = max(256, CHUNK // (1 if by_column else max(1, codes.shape[1])))
    for start in range(0, len(codes), step):
        part = codes[start : start + step]
        if by_column:  # the same sum, in the order in which the values lie
            hashes[start : start + step] = sum(_mixed(part[:, j]) * factor for j, factor in enumerate(factors))
        else:
            hashes[start : start + step] = _mixed(part) @ factors
    return hashes


def column_hashes(codes: np.ndarray, j: int) -> np.ndarray:
    """What one column in that position adds to the rows' numbers."""
    return _mixed(codes) * column_factors(np.array([j]))[0]


def _mixed(codes: np.ndarray) -> np.ndarray:
    mixed = codes * SPREAD
    mixed ^= mixed >> np.uint32(15)
    return mixed.astype(np.uint64)


def sparse_hashes(x: Any) -> np.ndarray | None:
    """The same numbers for the rows of a sparse matrix, without making it dense."""
    if not hasattr(x, "tocsr") or x.nnz > MOST_CELLS or (x.shape[1] > MOST_COLUMNS and x.shape[0] * x.shape[1] > MOST_CELLS * 1000):
        return None
    rows = x.tocsr()
    mixed = _number_codes(np.asarray(rows.data).reshape(-1, 1))[:, 0] * SPREAD
    mixed ^= mixed >> np.uint32(15)
    sums = np.zeros(len(mixed) + 1, np.uint64)
    np.cumsum(mixed.astype(np.uint64) * column_factors(rows.indices), out=sums[1:])
    return sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]


def column_factors(columns: np.ndarray) -> np.ndarray:
    """An odd constant for each column position (splitmix64)."""
    z = (columns.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) | np.uint64(1)


def first_equal(hashes: np.ndarray, order: np.ndarray) -> np.ndarray:
    """For each row the position of the first row that equals it."""
    values = hashes[order]
    starts = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
    if len(starts) == len(values):
        return np.arange(len(values), dtype=np.int64)
    first = np.empty(len(values), np.int64)
    first[order] = np.repeat(order[starts], np.diff(np.append(starts, len(values))))
    return first


def column_bits(table: Table, rows: int = 256) -> np.ndarray:
    """Entropy of each column in bits over evenly spaced rows; 20 for a nearly unique one. Can equal rows be chance?"""
    sample = table.take(spaced(table.rows, rows)).codes
    bits = np.zeros(table.width)
    for j in range(table.width):
        share = np.unique(sample[:, j], return_counts=True)[1] / len(sample)
        bits[j] = 20.0 if len(share) > 0.95 * len(sample) and len(share) > 8 else float(-(share * np.log2(share)).sum())
    return bits


def spaced(rows: int, most: int) -> np.ndarray:
    """At most so many row positions, evenly spaced from the first to the last."""
    return np.unique(np.linspace(0, rows - 1, min(rows, most)).astype(np.int64)) if rows else np.empty(0, np.int64)


def _picked(rows: int, width: int) -> np.ndarray:
    """The columns that are looked at: all, or in a big and wide table some chosen by its width alone, so that its slices agree."""
    if rows * width <= MOST_CELLS or width <= MOST_COLUMNS:
        limit = 4096
    else:
        limit = MOST_COLUMNS
    if width <= limit:
        return np.arange(width)
    return np.sort(np.argsort(column_factors(np.arange(width)))[:limit])


def _of_numbers(frame: Any) -> Table | None:
    """A pandas frame of plain numbers, column by column, so that what is worked on stays in the processor's cache; None for any other."""
    rows, width = frame.shape
    columns = numeric_columns(frame) if rows and width and len(_picked(rows, width)) == width else None
    if columns is None:
        return None
    codes = np.empty((width, rows), np.uint32)
    for j, column in enumerate(columns):
        codes[j] = _number_codes(column)
    return Table(codes.T, list(map(str, frame.columns)), np.ones(width, bool))


def _of_columns(columns: list[Any], names: list[str] | None, rows: int, width: int) -> Table | None:
    if not columns or not rows:
        return None
    codes = np.empty((rows, len(columns)), np.uint32)
    numeric = np.zeros(len(columns), bool)
    for j, column in enumerate(columns):
        codes[:, j], numeric[j] = _column_codes(column)
    if names is not None and len(columns) < width:
        names = [names[j] for j in _picked(rows, width)]
    return Table(codes, names, numeric)


def _column_codes(column: Any) -> tuple[np.ndarray, bool]:
    """One column's codes and whether they are of numbers."""
    values = column if isinstance(column, np.ndarray) else _plain(column)
    if values.dtype.kind in "fiub":
        return _number_codes(values.reshape(-1, 1))[:, 0], True
    if values.dtype.kind in "mM":
        whole = values.astype(np.int64).view(np.uint64)
        return (whole ^ (whole >> np.uint64(32))).astype(np.uint32), False
    first = next((v for v in values[:64] if v is not None and not (isinstance(v, float) and v != v)), None)
    if not isinstance(first, (str, bytes)):
        try:
            return _number_codes(np.asarray(values, np.float32).reshape(-1, 1))[:, 0], True
        except (TypeError, ValueError):
            pass
    return _text_codes(values), False


def _plain(column: Any) -> np.ndarray:
    """The values of a pandas or polars column as a NumPy array."""
    dtype = column.dtype
    if getattr(dtype, "kind", None) in ("f", "i", "u", "b") and not isinstance(dtype, np.dtype):  # nullable extension types
        return column.to_numpy(dtype=np.float32, na_value=np.nan)
    return np.asarray(column.to_numpy())


def _number_codes(values: np.ndarray) -> np.ndarray:
    """float32 bits with one zero and one NaN."""
    with np.errstate(all="ignore"):
        real = np.array(values, np.float32)  # a copy in the layout of the values: the program may change its own
        real += np.float32(0)  # minus zero is zero
        codes = real.view(np.uint32)
    if codes.size and codes.max() > np.uint32(0xFF800000):  # NaN with a sign, as 0/0 gives
        codes[codes > np.uint32(0xFF800000)] = NAN
    return codes


def _text_codes(values: np.ndarray) -> np.ndarray:
    """The CRC of each value's text; each level is worked out once."""
    pandas = sys.modules.get("pandas")
    plain = all(isinstance(v, (str, bytes, int, float, type(None))) for v in values[:64])  # nested values can't be hashed
    if pandas is not None and hasattr(pandas, "factorize") and len(values) > 64 and plain:
        numbers, levels = pandas.factorize(values)
        table = np.array([_crc(v) for v in levels] + [NAN], np.uint32)
        return table[numbers]
    known: dict[Any, int] = {}
    found = np.empty(len(values), np.uint32)
    for i, v in enumerate(values):
        try:
            code = known.get(v)
        except TypeError:  # not hashable
            code = _crc(v)
        if code is None:
            code = known[v] = _crc(v)
        found[i] = code
    return found


def _crc(value: Any) -> int:
    if value is None or isinstance(value, float) and value != value or type(value).__name__ in ("NAType", "NaTType"):
        return int(NAN)
    return zlib.crc32(value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass"))
