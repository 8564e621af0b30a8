"""What lineage speaks of: sources of rows, and arrays of which it is known which rows they hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .fingerprints import Table, column_bits, first_equal


@dataclass(eq=False, slots=True)
class Source:
    """Rows that came from outside or were first met here: `base` + position is a row's global id."""

    name: str | None
    kind: str  # file, made (a whole in sight), held (a name holds it; may be a part), met (nobody's name: its row numbers mean nothing)
    base: int
    rows: int
    file: str | None = None
    line: int | None = None
    columns: list[str] | None = None
    ref: Any = None  # a weak reference to the object itself

    @property
    def as_read(self) -> bool:
        """Do positions in it mean something to the person?"""
        return self.kind != "met"

    @property
    def whole(self) -> bool:
        """Is it known to be all that there was, so that what stands in it twice was there twice?"""
        return self.kind in ("file", "made")


@dataclass(eq=False, slots=True)
class Known:
    """What is known of one array: the source row of each of its rows, and what was learnt from which rows on the way to it."""

    ids: np.ndarray  # global row ids, -1 where unknown; equal rows of a source share the first one's id
    source: Source
    width: int = 1
    names: list[str] | None = None
    makers: tuple[Any, ...] = ()  # fitted transformers (or other learners) whose output this is
    resampled: tuple[Any, ...] = ()  # resamplings on the way
    made: np.ndarray | None = None  # rows that a resampler made up or repeated
    exact: bool = True  # False: rows were told by a few columns, equal rows may be mixed up
    table: Table | None = None
    hashes: np.ndarray | None = None
    _sorted: tuple[np.ndarray, np.ndarray] | None = None
    _bits: float | None = None
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return len(self.ids)

    @property
    def bits(self) -> float:
        """Entropy of a row in bits, columns taken as independent: can equal rows be chance?"""
        if self._bits is None:
            self._bits = float(column_bits(self.table).sum()) if self.table is not None else 99.0
        return self._bits

    def sorted(self) -> tuple[np.ndarray, np.ndarray]:
        """(hashes in order, their positions), worked out once."""
        if self._sorted is None:
            order = np.argsort(self.hashes, kind="stable")
            self._sorted = self.hashes[order], order
        return self._sorted

    def find(self, hashes: np.ndarray) -> np.ndarray:
        """The position here of each hash, -1 where there is none."""
        if hashes is self.hashes:
            return first_equal(hashes, self.sorted()[1])
        values, order = self.sorted()
        at = np.minimum(np.searchsorted(values, hashes), len(values) - 1)
        return np.where(values[at] == hashes, order[at], -1)

    def holds_most(self, hashes: np.ndarray) -> bool:
        """Do nine of ten of these few stand here? Looked up one by one: the second that does not mostly ends it."""
        values, spare = self.sorted()[0], len(hashes) // 10
        for value in hashes:
            at = int(values.searchsorted(value))
            if at == len(values) or values[at] != value:
                if not spare:
                    return False
                spare -= 1
        return True

    def ids_at(self, at: np.ndarray) -> np.ndarray:
        """The ids of the rows found at these positions: -1 where none was, or where equal rows here are different rows of the source."""
        ids = np.where(at >= 0, self.ids[at], -1)
        unlike = self._twins()
        return np.where(np.isin(at, unlike), -1, ids) if len(unlike) else ids

    def _twins(self) -> np.ndarray:
        """Positions that `find` gives for rows of which there are equal ones with other ids, worked out once."""
        held = self.notes.get("twins")
        if held is None:
            values, order = self.sorted()
            again = np.flatnonzero((values[1:] == values[:-1]) & (self.ids[order][1:] != self.ids[order][:-1]))
            held = self.notes["twins"] = order[np.searchsorted(values, np.unique(values[again]))]
        return held  # type: ignore[no-any-return]
