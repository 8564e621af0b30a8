"""Streams: a model with what it learnt from, a transformer's fit, and the rows that one line gave a model in order."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..derivation import Derived
from .clock import Links
from .columns import Reference, columns
from .parted import Parted
from .truths import Truth, of_quantile

LEAST_SHARED = 1000  # rows


@dataclass(frozen=True, slots=True)
class Made:
    """A fit of a transformer whose answer is at hand: which one, on how many rows, where; `codes` are the classes of an encoder of labels."""

    ref: Any
    number: int
    fits: int
    rows: int
    cls: str
    file: str | None
    line: int | None
    codes: list[str] | None = None
    names: list[str] | None = None  # of its columns

    def told(self) -> dict[str, Any]:
        """JSON-able."""
        return {"number": self.number, "fits": self.fits, "rows": self.rows, "class": self.cls, "file": self.file, "line": self.line, "codes": self.codes}


@dataclass(slots=True)
class Model:
    """An estimator, booster or network and what it learnt from."""

    number: int
    cls: str
    ref: Any
    classifier: bool = False
    rows: int = 0
    names: list[str] | None = None
    named: bool = False  # the names are the table's own, not found by value
    columns: list[Reference] = field(default_factory=list)
    derived: list[list[Derived]] = field(default_factory=list)  # of columns of tables at hand, for each column
    target: Reference | None = None
    made_by: Made | None = None  # the transformer's fit whose answer this fit was given
    coded_by: Made | None = None  # the same of its labels
    fits: int = 0
    loaded: str = ""  # the file that it came from
    file: str | None = None
    line: int | None = None
    batches: list[list[np.ndarray]] = field(default_factory=list)
    clock: Links = field(default_factory=dict)  # columns that are a part of a time at hand
    parted: Parted = field(default_factory=list)  # columns that alone part its two classes
    quantile: bool = field(init=False)  # it answers one, and so lies beside the truth on purpose

    def __post_init__(self) -> None:
        self.quantile = of_quantile(self.ref())  # a search over quantiles keeps no model


@dataclass(slots=True)
class Stream:
    """Rows that one line of the program gave one model, in order."""

    model: Model
    method: str
    file: str | None
    line: int | None
    names: list[str] | None = None
    rows: int = 0
    calls: int = 0
    single: int = 0  # calls of one row
    served: bool = False
    starts: list[int] = field(default_factory=list)
    blocks: list[tuple[np.ndarray, list[np.ndarray]]] = field(default_factory=list)
    small: list[np.ndarray] = field(default_factory=list)
    small_rows: list[np.ndarray] = field(default_factory=list)
    raw: list[tuple[dict[str, Any], int]] = field(default_factory=list)  # requests and the first row that each of them gave
    answers: list[np.ndarray] = field(default_factory=list)
    truth: Truth = field(default_factory=Truth)
    made_by: Made | None = None
    clock: dict[int, Counter[int]] = field(default_factory=dict)

    def settle(self) -> None:
        """Read the small calls together."""
        if self.small:
            whole = np.concatenate([np.asarray(b, dtype=object) for b in self.small])
            got = columns(whole.tolist()) if whole.shape[1] > 1 else columns(whole)
            got = got if got is not None else [np.asarray(whole[:, j]) for j in range(whole.shape[1])]
            self.blocks.append((np.concatenate(self.small_rows), got))
            self.small, self.small_rows = [], []


class Copies:
    """Columns of rows that were kept last: the same rows, given again or passed on unchanged, are kept once."""

    def __init__(self) -> None:
        self.kept: list[list[np.ndarray]] = []

    def of(self, columns: list[np.ndarray]) -> tuple[list[np.ndarray], bool]:
        """(copies of the columns, whether they had to be made)."""
        for held in self.kept:
            if len(held) == len(columns) and all(map(_alike, held, columns)):
                return held, False
        made = [np.array(c) for c in columns]
        if made and len(made[0]) >= LEAST_SHARED:
            self.kept = [*self.kept[-3:], made]
        return made, True


def _alike(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.dtype.kind != "O" and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def joined(stream: Stream) -> tuple[np.ndarray, list[np.ndarray]]:
    width = {len(c) for _, c in stream.blocks}
    if len(width) != 1:
        most = max(width, default=0)
        stream.blocks = [b for b in stream.blocks if len(b[1]) == most]
    if not stream.blocks:
        return np.zeros(0, int), []
    rows = np.concatenate([r for r, _ in stream.blocks])
    return rows, [_one_type([b[1][j] for b in stream.blocks]) for j in range(len(stream.blocks[0][1]))]


def _one_type(parts: list[np.ndarray]) -> np.ndarray:
    if len(parts) == 1:
        return parts[0]
    if any(p.dtype.kind == "O" for p in parts):
        return np.concatenate([p.astype(object) for p in parts])
    return np.concatenate(parts)
