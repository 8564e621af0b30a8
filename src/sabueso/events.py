"""What is observed: a Fact, a Series, a Profile at a Place; all immutable."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .places import NOWHERE, Place


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that happened or is so. `fact["key"]` reads its value, `fact.get("key")` where it may lack."""

    name: str
    value: dict[str, Any]
    place: Place = NOWHERE
    order: int = 0  # position among all facts of the run: what was recorded earlier has a smaller one
    process: int = 0
    time: float = 0.0  # seconds since the epoch

    def __getitem__(self, key: str) -> Any:
        return self.value[key]

    def get(self, key: str, default: Any = None) -> Any:
        return self.value.get(key, default)


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """A number by step at one place: `steps` int64 (n,), `values` float64 (n,); non-finite values are kept as they are."""

    name: str
    place: Place
    steps: np.ndarray
    values: np.ndarray
    process: int = 0

    def __len__(self) -> int:
        return len(self.values)

    @property
    def first_nonfinite(self) -> int | None:
        """Index of the first NaN or infinity."""
        bad = np.flatnonzero(~np.isfinite(self.values))
        return int(bad[0]) if len(bad) else None


@dataclass(frozen=True, slots=True)
class Summary:
    """A stored Profile at its place; `value` is `Profile.as_dict()`."""

    name: str
    value: dict[str, Any]
    place: Place = NOWHERE
    order: int = 0
    process: int = 0
    extra: dict[str, Any] = field(default_factory=dict)


def latest(facts: list[Fact]) -> list[Fact]:
    """The last fact of each process: for evidence that is told again and again while it grows."""
    return list({f.process: f for f in facts}.values())
