"""Where a table's infinities (and the NaN of a logarithm or a division) were born: told when they reach a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import making, summarise, tables
from .origin import user_line
from .recorder import Recorder

BORN = frozenset({"log", "log2", "log10", "log1p", "sqrt", "divide", "true_divide", "exp", "power", "reciprocal", "arctanh", "arcsin", "arccos"})
MOST = 40  # columns with a birth that are remembered


class Infinities:
    """What a run's operations made that is not finite, by column."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.columns: dict[str, dict[str, Any]] = {}
        self._last: tuple[tuple[Any, ...], dict[str, Any]] | None = None  # (line, what made it)

    def made(self, operation: str, operand: str, given: np.ndarray, result: np.ndarray) -> None:
        """An operation on a column: did finite values become others?"""
        if result.dtype.kind != "f" or given.dtype.kind not in "iuf" or len(result) != len(given):
            return
        bad = ~np.isfinite(result)
        bad &= np.isfinite(given)
        if bad.any():
            self._last = user_line(), {"operation": operation, "operand": operand, "operands": [float(v) for v in np.unique(given[bad])[:3]]}

    def placed(self, frame: Any, column: str, values: np.ndarray, later: bool = False) -> None:
        """A column was set: remember rows and line of what is not finite in it; with `later`, by a line that ran without reckoning it."""
        here = user_line()
        if later and here[0] and (line := making.line_making(here[0], column)) is not None:
            here = here[0], line
        made = self._last[1] if self._last is not None and self._last[0] == here else None
        bad = np.isinf(values) if made is None else ~np.isfinite(values)
        if not bad.any() or len(values) != summarise.height(frame) or len(self.columns) >= MOST:
            self.columns.pop(column, None)  # set anew, and healthy
            return
        rows = np.flatnonzero(bad)
        table, as_read = tables.of(self.recorder).rows(frame, rows)
        self.columns[column] = {
            "where": "table", "tensor": column, "column": column, "table": table, "rows": as_read, "row_count": len(rows), "count": len(rows),
            "nan": int(np.isnan(values[bad]).sum()), "inf": int(np.isinf(values).sum()), **(made or {}),
            "spot": {"table": table or "the table", "column": column, "rows": as_read, "count": len(rows), "file": here[0], "line": here[1]},
        }  # fmt: skip

    def reached(self, x: Any, y: Any) -> None:
        """A model is about to be given features and labels: do they hold what was born here?"""
        for part, what in ((x, "X"), (y, "y")):
            born = self._born_in(part)
            for name, held in (born or self._unborn(part, what)).items():
                if self.recorder.once("nonfinite_reached", name):
                    self.recorder.fact("nonfinite_found", {**held, "reaches": "fit"}, column=name, row=held["rows"])

    def _unborn(self, part: Any, what: str) -> dict[str, dict[str, Any]]:
        """Infinities whose origin was not seen, in an array that a model is given."""
        if summarise.library(part) != "numpy" or part.dtype.kind != "f" or not np.isinf(part).any():
            return {}
        flat = part.reshape(len(part), -1)
        worst = int(np.isinf(flat).sum(axis=0).argmax())
        rows = np.flatnonzero(np.isinf(flat[:, worst]))
        name = what if flat.shape[1] == 1 else f"{what}[:, {worst}]"
        return {
            name: {
                "where": "array",
                "tensor": name,
                "rows": tables.first(rows),
                "row_count": len(rows),
                "count": int(np.isinf(part).sum()),
                "nan": 0,
                "inf": len(rows),
            }
        }

    def _born_in(self, part: Any) -> dict[str, dict[str, Any]]:
        """The remembered columns that are in a table, named column or array, still not finite."""
        if part is None or not self.columns:
            return {}
        if summarise.is_frame(part):
            names = [c for c in summarise.columns_of(part) if c in self.columns]
            return {c: self.columns[c] for c in names if not np.isfinite(summarise.column(part, c)).all()}
        name = str(getattr(part, "name", "")) if summarise.library(part) in ("pandas", "polars") else ""
        array = np.asarray(part) if name or summarise.library(part) == "numpy" else np.zeros(1)
        if array.dtype.kind != "f" or np.isfinite(array).all():
            return {}
        if name in self.columns:
            return {name: self.columns[name]}
        count = int((~np.isfinite(array)).sum())
        return {c: h for c, h in self.columns.items() if not name and h["count"] >= count and np.isinf(array).any() == (h["inf"] > 0)}


def of(recorder: Recorder) -> Infinities:
    """The infinities of a recorder's run."""
    if "infinities" not in recorder.shared:
        recorder.shared["infinities"] = Infinities(recorder)
    return recorder.shared["infinities"]  # type: ignore[no-any-return]
