"""Outputs: what models answered lately, so that an array met later (in a metric, a mean) is known as one of them."""

from __future__ import annotations

import weakref
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from .summarise import library

KEPT = 96  # answers remembered at once
MOST = 50_000  # rows of an answer that are kept
HARD = ("predict", "fit_predict")  # methods of a classifier that answer labels


@dataclass(slots=True)
class Output:
    """One answer: which model gave it by which method, the rows it is of (of a stream), and its values."""

    model: str
    method: str
    values: np.ndarray
    number: int
    classifier: bool = False
    scores: bool = False  # the model could also answer probabilities or a decision value
    stream: Any = None
    start: int = 0
    ref: Any = None
    key: Any = None
    place: dict[str, Any] = field(default_factory=dict)

    @property
    def hard(self) -> bool:
        """Labels, where scores were to be had."""
        return self.method in HARD and self.classifier

    def column(self, x: np.ndarray) -> int | None:
        """Which column of the answer an array is."""
        if self.values.ndim == 1:
            return 0
        for i in range(self.values.shape[1]):
            if np.array_equal(self.values[:, i], x):
                return i
        return None


def plain(x: Any) -> np.ndarray | None:
    """Any library's vector or matrix as NumPy without a copy where that can be; None if it is none, or lies on a device."""
    lib = library(x)
    try:
        if lib == "torch":
            return np.asarray(x.detach().numpy()) if x.device.type == "cpu" else None
        if lib in ("pandas", "polars"):
            found = np.asarray(x.to_numpy())
        else:
            found = x if isinstance(x, np.ndarray) else np.asarray(x) if isinstance(x, (list, tuple)) and len(x) <= MOST else None
    except Exception:
        return None
    return found if found is not None and found.ndim and found.dtype.kind in "iufbOUS" else None


class Outputs:
    """The last answers, found again by the very object, by a view of it, or by equal values."""

    def __init__(self) -> None:
        self.lengths: deque[int] = deque(maxlen=4)  # rows of the last answers
        self._held: OrderedDict[int, Output] = OrderedDict()
        self._by_key: dict[Any, int] = {}
        self._next = 0

    def put(self, output: Output, result: Any) -> None:
        """Remember an answer."""
        output.number, self._next = self._next, self._next + 1
        try:
            output.ref = weakref.ref(result)
        except TypeError:
            output.ref = None
        self._held[output.number] = output
        self.lengths.append(len(output.values))
        flat = output.values
        for column in [flat] if flat.ndim == 1 else [flat[:, i] for i in range(min(flat.shape[1], 12))]:
            self._by_key[_key(column)] = output.number
        while len(self._held) > KEPT:
            self._held.popitem(last=False)
        if len(self._by_key) > 8 * KEPT:
            self._by_key = {k: n for k, n in self._by_key.items() if n in self._held}

    def find(self, x: Any, array: np.ndarray | None = None) -> Output | None:
        """The answer that an array is, or holds a column of."""
        for output in reversed(self._held.values()):
            if output.ref is not None and output.ref() is x:
                return output
        array = plain(x) if array is None else array
        if array is None or not len(array):
            return None
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim != 1:
            return None
        number = self._by_key.get(_key(array))
        output = self._held.get(number) if number is not None else None
        return output if output is not None and len(output.values) == len(array) else None

    def behind(self, hard: np.ndarray) -> Output | None:
        """The answer of which a vector of two values is a step function: scores cut at a threshold."""
        low = hard == hard.min()
        if low.all():
            return None
        for output in islice(reversed(self._held.values()), 16):
            flat = output.values
            if len(flat) != len(hard) or flat.dtype.kind != "f":
                continue
            for i in range(flat.shape[1] if flat.ndim > 1 else 1):
                column = flat[:, i] if flat.ndim > 1 else flat
                if column[low].max() < column[~low].min() or column[low].min() > column[~low].max():
                    return output
        return None

    def longer(self, rows: int, back: int = 8) -> list[Output]:
        """The last few answers that have more rows."""
        return [o for o in islice(reversed(self._held.values()), back) if len(o.values) > rows]

    def last(self, rows: int, back: int = 4) -> Output | None:
        """One of the last few answers that has so many rows."""
        return next((o for o in islice(reversed(self._held.values()), back) if len(o.values) == rows), None)


def _key(x: np.ndarray) -> Any:
    """Equal vectors have equal keys, whatever their type: of numbers the bytes as float64, rows thinned where there are many."""
    some = x if len(x) <= MOST else x[:: len(x) // MOST + 1]
    if some.dtype.kind in "iufb":
        return len(x), hash(np.ascontiguousarray(some, dtype=np.float64).tobytes())
    return len(x), hash(tuple(map(str, some[:2000].tolist())))
