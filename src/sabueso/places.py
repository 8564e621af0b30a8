"""Place: where in a pipeline something is."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is: stage, step, module, tensor, column, row, file and line.

    `file` is absolute while it is captured and made relative to the run's working directory where it is shown. `row` is the 0-based
    position in the table or array as read, an int or a list of the first 50; `column` may be a list too.
    """

    stage: str | None = None
    step: int | None = None
    epoch: int | None = None
    module: str | None = None
    tensor: str | None = None
    column: str | int | list[str] | list[int] | None = None
    estimator: str | None = None
    row: int | list[int] | None = None
    rank: int | None = None
    file: str | None = None
    line: int | None = None

    def but(self, **changes: Any) -> Place:
        """The same place with some parts changed."""
        return replace(self, **changes)

    def filled(self, other: Place) -> Place:
        """The parts that are known here, else those of the other place."""
        return Place(**{f.name: own if (own := getattr(self, f.name)) is not None else getattr(other, f.name) for f in fields(Place)})

    def as_dict(self) -> dict[str, Any]:
        """The parts that apply, in the order of the format."""
        return {name: value for name in PARTS if (value := getattr(self, name)) is not None}

    @classmethod
    def of(cls, parts: dict[str, Any] | None) -> Place:
        """From a dictionary, leaving out what a newer version may have added."""
        return cls(**{k: v for k, v in (parts or {}).items() if k in PARTS})


PARTS = ("file", "line", "stage", "step", "epoch", "module", "tensor", "column", "estimator", "row", "rank")
NOWHERE = Place()
