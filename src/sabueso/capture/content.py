"""What reaches a model, seen as a table: names of its columns and of its target."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import distributions, encoding, fits, infinities, naming, summarise, tabled, tables
from .recorder import Recorder

MOST_CONSTANT = 200  # columns that are looked at for holding one value
MOST_NAMED = 40  # columns of an array whose names are looked for in the tables at hand


def install(recorder: Recorder) -> None:
    """Listen to fits, once a run, whichever library asks first."""
    if recorder.shared.setdefault("content", None) is None:
        recorder.shared["content"] = True
        fits.listen(recorder, lambda estimator, x, y: used(recorder, estimator, x, y))
        fits.listen(recorder, lambda estimator, x, y: tabled.look(recorder, estimator, x, y))


def used(recorder: Recorder, estimator: Any, x: Any, y: Any) -> None:
    """Record which named columns a model is given, once a combination."""
    encoding.given(recorder, estimator, x)
    infinities.of(recorder).reached(x, y)
    columns = names_of(recorder, x)
    target = names_of(recorder, y)
    kind = type(estimator).__name__
    if recorder.once("table_used", kind, tuple(columns or ()), tuple(target or ()), summarise.height(x)):
        told = {"estimator": kind, "columns": (columns or [])[:300], "target": target[0] if target else None, "rows": summarise.height(x)}
        gaps = gaps_of(x, columns)
        constant = constants(x, columns) if recorder.shared.get("nothing_found") else {}
        recorder.fact("table_used", {**told, "gaps": gaps, "gap_rows": gap_rows(recorder, x, gaps), "constant": constant})
        distributions.look(recorder, x, f"{kind} fit", columns)


def gaps_of(x: Any, names: list[str] | None) -> dict[str, int]:
    """Missing values by column of what a model is given."""
    if summarise.library(x) == "pandas" and hasattr(x, "columns"):
        return {str(c): int(n) for c, n in x.isna().sum().items() if n}
    if summarise.library(x) == "polars" and summarise.is_frame(x):
        return {c: int(n) for c, n in x.null_count().row(0, named=True).items() if n}
    if summarise.library(x) == "numpy" and x.dtype.kind == "f" and x.ndim == 2 and x.size <= 20_000_000:
        return {(names[i] if names else str(i)): int(n) for i, n in enumerate(np.isnan(x).sum(axis=0)) if n}
    return {}


def constants(x: Any, names: list[str] | None) -> dict[str, Any]:
    """Columns that hold one value, without gaps: asked for only where a look-up found nothing."""
    found = {}
    for i, name in enumerate((names or [])[:MOST_CONSTANT]):
        held = summarise.column(x, name) if summarise.is_frame(x) else x[:, i]
        if held.dtype.kind in "iufb" and len(held) and (held == held[0]).all():
            found[name] = held[0].item()
    return found


def gap_rows(recorder: Recorder, x: Any, gaps: dict[str, int]) -> list[int]:
    """The first rows as read with a gap in the column that has most."""
    worst = max(gaps, key=lambda c: gaps[c], default=None)
    if worst is None or not summarise.is_frame(x):
        return []
    held = summarise.column(x, worst)
    empty = np.array([v is None for v in held.tolist()]) if held.dtype.kind == "O" else np.isnan(held.astype(np.float64))
    return tables.of(recorder).rows(x, np.flatnonzero(empty))[1]


def names_of(recorder: Recorder, x: Any) -> list[str] | None:
    """The names of the columns in a table, a named column, or an array that was made of a table."""
    if summarise.is_frame(x):
        return summarise.columns_of(x)
    if summarise.library(x) in ("pandas", "polars") and getattr(x, "name", None) is not None:
        return [str(x.name)]
    if summarise.library(x) == "numpy" and x.ndim == 2 and x.shape[1] <= MOST_NAMED and recorder.once("named", x.shape):
        return naming.names_by_value([x[:, i] for i in range(x.shape[1])], len(x))
    return None
