"""Statistics of many arrays in one pass over their memory: torch tensors and NumPy arrays, float32, float64, float16 and bfloat16.

The native reader takes what lies contiguous on the CPU; the rest goes through torch or NumPy, equal up to rounding. Nothing waits for an
accelerator: a tensor on one gets a row of NaN (`on_device` gives its numbers as a tensor on that device, to be read steps later).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

try:
    from .._native import Reader
except ImportError:
    Reader = None  # type: ignore[assignment, misc]

SUM, NORM, LOW, HIGH, ZEROS, BAD = range(6)  # columns of `statistics`
COLUMNS = 6


class Kernel:
    """Holds the native reader, made anew once torch has been imported; `native=False` is the fall-back alone, for tests."""

    def __init__(self, native: bool = True) -> None:
        self.native = native and Reader is not None
        self._reader: Any = None
        self._torch: Any = None

    def statistics(self, arrays: Sequence[Any], gradients: bool = False) -> np.ndarray:
        """(k, 6) of float64: sum, l2 norm, smallest and largest (NaN if there is none) of the finite elements; zeros; non-finite count.

        With `gradients` the `.grad` of each tensor is read; where that is None the row is NaN.
        """
        out = np.full((len(arrays), COLUMNS), np.nan)
        for i in self._ready().statistics(arrays, out, gradients) if self.native else range(len(arrays)):
            array = arrays[i].grad if gradients else arrays[i]
            if array is not None:
                out[i] = plain_statistics(array)
        return out

    def sentinel(self, arrays: Sequence[Any], gradients: bool = False) -> tuple[float, int, int]:
        """(l2 norm over all finite elements, non-finite count, index of the first array that holds a non-finite one or -1)."""
        norm, bad, first, left = self._ready().sentinel(arrays, gradients) if self.native else (0.0, 0, -1, range(len(arrays)))
        for i in left:
            array = arrays[i].grad if gradients else arrays[i]
            if array is None or not _is_float(array):
                continue
            row = plain_statistics(array)
            if row[BAD] > 0:
                bad, first = bad + int(row[BAD]), i if first < 0 else min(first, i)
            norm = float(np.hypot(norm, row[NORM])) if row[NORM] == row[NORM] else norm
        return norm, bad, first

    def distances(self, arrays: Sequence[Any], others: Sequence[Any]) -> np.ndarray:
        """(k,) l2 norm of the difference of each pair, over the elements that are finite in both."""
        out = np.full(len(arrays), np.nan)
        if self.native:
            self._ready().distances(arrays, others, out)
        for i in np.flatnonzero(np.isnan(out)):
            out[i] = plain_distance(arrays[i], others[i])
        return out

    def _ready(self) -> Any:
        """The reader; it knows torch's tensors from the moment torch is there."""
        if self._torch is None or self._reader is None:
            torch = sys.modules.get("torch")
            if self._reader is None or getattr(torch, "bfloat16", None) is not None and hasattr(torch, "nn"):
                self._reader, self._torch = _reader_of(torch)
        return self._reader


def _reader_of(torch: Any) -> tuple[Any, Any]:
    if torch is None or not hasattr(torch, "nn") or not hasattr(torch, "Tensor"):
        return Reader((), None, {}), None
    kinds = {torch.float32: 0, torch.float64: 1, torch.float16: 2, torch.bfloat16: 3}
    exchange = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)  # torch 2.10 and later
    return Reader((torch.Tensor, torch.nn.Parameter), torch.strided, kinds, exchange), torch


def plain_statistics(array: Any) -> np.ndarray:
    """One row of `statistics` by torch or NumPy: the slow twin."""
    if not _is_float(array):
        return np.full(COLUMNS, np.nan)
    if not isinstance(array, np.ndarray) and hasattr(array, "detach"):
        if array.device.type != "cpu":
            return np.full(COLUMNS, np.nan)
        array = _numpy(array)
    values = np.asarray(array).ravel()
    finite = np.isfinite(values)
    good = values[finite].astype(np.float64)
    if not len(good):
        return np.array([0.0, 0.0, np.nan, np.nan, 0.0, float(len(values))])
    most = np.abs(good).max()
    norm = most * np.sqrt(np.square(good / most).sum()) if most > 0 else 0.0
    return np.array([good.sum(), norm, good.min(), good.max(), float((good == 0).sum()), float(len(values) - len(good))])


def plain_distance(a: Any, b: Any) -> float:
    """One entry of `distances` by NumPy; NaN where it can't be had without waiting for a device."""
    if not (_is_float(a) and _is_float(b)) or any(hasattr(x, "device") and str(x.device) != "cpu" for x in (a, b)):
        return float("nan")
    x, y = (np.asarray(v if isinstance(v, np.ndarray) else _numpy(v)).ravel().astype(np.float64) for v in (a, b))
    if len(x) != len(y):
        return float("nan")
    both = np.isfinite(x) & np.isfinite(y)
    return float(plain_statistics(x[both] / 2 - y[both] / 2)[NORM] * 2)


def on_device(array: Any) -> Any:
    """The row of `statistics` as a float64 (float32 where the device has none) tensor on the array's own device; nothing waits for it."""
    torch = sys.modules["torch"]
    x = array.detach()
    wide = torch.float32 if x.device.type == "mps" else torch.float64
    finite = torch.isfinite(x)
    good = torch.where(finite, x, torch.zeros((), dtype=x.dtype, device=x.device)).to(wide)
    low = torch.where(finite, x.to(wide), torch.full((), float("inf"), dtype=wide, device=x.device))
    high = torch.where(finite, x.to(wide), torch.full((), float("-inf"), dtype=wide, device=x.device))
    parts = (good.sum(), torch.linalg.vector_norm(good), low.amin(), high.amax(), (x == 0).sum().to(wide), (~finite).sum().to(wide))
    return torch.stack(parts)


def _is_float(array: Any) -> bool:
    dtype = getattr(array, "dtype", None)
    if dtype is None:
        return False
    return bool(dtype.is_floating_point) if hasattr(dtype, "is_floating_point") else getattr(dtype, "kind", "") == "f"


def _numpy(tensor: Any) -> np.ndarray:
    """A CPU tensor as an array; sparse ones by their values, bfloat16 widened."""
    tensor = tensor.detach()
    if str(tensor.layout) != "torch.strided":
        tensor = tensor.coalesce().values() if tensor.is_sparse else tensor.to_dense()
    if str(tensor.dtype) not in ("torch.float32", "torch.float64", "torch.float16"):
        tensor = tensor.float()
    return tensor.resolve_neg().resolve_conj().numpy()
