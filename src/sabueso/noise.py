"""Noise: how far two values may differ by rounding alone, by their dtype; and the first place at which two arrays differ by more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

EPSILON = {"float64": 2.2e-16, "float32": 1.2e-7, "float16": 9.8e-4, "bfloat16": 7.8e-3}
TIMES = 64.0  # roundings that a value may have gone through; sums over 4,096 terms in another order stay below it (measured on float32)


def epsilon(dtype: Any) -> float:
    """The rounding of a dtype, given as a name or dtype of any library; 0 for whole numbers and text."""
    name = str(dtype).rpartition(".")[2].lower()
    return EPSILON.get(name, 1.2e-7 if "float" in name or name == "double" else 0.0)


def allowed(dtype: Any, scale: float, times: float = TIMES) -> float:
    """The difference that rounding explains of values of that size."""
    return times * epsilon(dtype) * abs(scale)


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two arrays first differ: position, both values, how many differ and by how much at most."""

    at: tuple[int, ...]
    before: Any
    after: Any
    count: int
    size: int
    most: float

    def __str__(self) -> str:
        where = self.at[0] if len(self.at) == 1 else self.at
        return f"{self.count} of {self.size} values differ, first at {where}: {self.before!r} before, {self.after!r} after (largest difference {self.most:.4g})"


def first_difference(before: Any, after: Any, relative: float | None = None) -> Difference | None:
    """The first place at which two arrays of one shape differ beyond noise; None where they do not. NaN equals NaN."""
    a, b = plain(before), plain(after)
    if a.dtype.kind in "fc" and b.dtype.kind in "fc":
        coarse = max(epsilon(getattr(before, "dtype", a.dtype)), epsilon(getattr(after, "dtype", b.dtype)))
        share = relative if relative is not None else TIMES * coarse
        finite = np.abs(np.concatenate([a[np.isfinite(a)].reshape(-1), b[np.isfinite(b)].reshape(-1)]))
        scale = float(np.sqrt(np.mean(finite**2))) if len(finite) else 0.0
        gap = np.abs(a.astype(np.float64) - b.astype(np.float64))
        apart = ~((gap <= share * np.maximum(np.maximum(np.abs(a), np.abs(b)), scale)) | (a == b) | (np.isnan(a) & np.isnan(b)))
    else:
        gap, apart = None, np.asarray(unequal(a, b))
    if not apart.any():
        return None
    at = tuple(int(i) for i in np.argwhere(apart)[0])
    most = float(np.nanmax(np.where(apart, gap, 0))) if gap is not None else float("nan")
    return Difference(at, a[at].item(), b[at].item(), int(apart.sum()), int(apart.size), most)


def unequal(a: np.ndarray, b: np.ndarray) -> Any:
    """Element by element; missing values equal each other."""
    if a.dtype.kind == "O" or b.dtype.kind == "O":
        pairs = zip(a.reshape(-1).tolist(), b.reshape(-1).tolist())
        return np.array([not (x == y or x is y or x != x and y != y) for x, y in pairs], dtype=bool).reshape(a.shape)
    return a != b


def plain(value: Any) -> np.ndarray:
    """As an array of NumPy; tensors of half width as float32."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if "bfloat16" in str(value.dtype) else value
        return np.asarray(value.numpy())
    return np.asarray(value)
