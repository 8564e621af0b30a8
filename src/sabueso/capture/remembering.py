"""Remembering: rows given to a model that was fitted elsewhere, beside what its own parts remember of their columns."""

from __future__ import annotations

import unicodedata
import weakref
from typing import Any

import numpy as np

from . import thresholds
from .columns import GRID, ROWS, names_of, split
from .fitted_parts import Remembered, remembered
from .recorder import Recorder
from .streams import Model, Stream

LEAST = 30  # rows: a mean of fewer is at the mercy of single ones
MOST_OWNERS = 40
CLOSE = 0.5  # spreads (plus the log of the ratio of both) that moments may be off and still be the same column's


class Memory:
    """A model fitted elsewhere and its columns."""

    def __init__(self, owner: Any, number: int, x: Any) -> None:
        self.names = names_of(x)
        shape = getattr(x, "shape", ())
        width = shape[1] if len(shape) == 2 else 0
        fitted = [str(n) for n in getattr(owner, "feature_names_in_", [])]
        self.columns: list[Remembered] = remembered(owner, width, self.names) if 0 < width <= 200 else []
        self.names = self.names or (fitted if len(fitted) == width else None)
        self.model = Model(number, type(owner).__name__, weakref.ref(owner))


def meet(held: dict[int, tuple[Any, Memory | None]], owner: Any, x: Any) -> Memory | None:
    """The memory of an estimator; None for what remembers nothing."""
    known = held.get(id(owner))
    if known is not None and known[0]() is owner:
        return known[1]
    if len(held) >= MOST_OWNERS or not hasattr(owner, "get_params") or not hasattr(x, "shape"):
        return None
    made = Memory(owner, len(held), x)
    held[id(owner)] = (weakref.ref(owner), made if made.columns else None)
    return held[id(owner)][1]


def tell(recorder: Recorder, memory: Memory, stream: Stream, rows: np.ndarray, got: list[np.ndarray]) -> None:
    """What stands out in the rows of a stream."""
    if len(rows) < LEAST:
        return
    numbers, others = [], []
    for c in memory.columns:
        if c.index >= len(got):
            continue
        name = memory.names[c.index] if memory.names else f"column {c.index}"
        column = got[c.index]
        if column.dtype.kind in "iuf" and c.mean is not None:
            told = beside(name, column.astype(float), rows, c.mean, c.sd or 0.0)
            numbers += [told] if told else []
        others += [t for t in (_beyond(name, c, column, rows), _gaps(name, c, column, rows), _levels(name, c, column, rows)) if t]
    swapped = order_of(memory, got)
    others += [swapped] if swapped else []
    scaler = next((c.scaler for c in memory.columns if c.scaler), "")
    place = {"estimator": memory.model.cls, "file": stream.file or "", "line": stream.line}
    if numbers and not swapped:
        recorder.fact("moments", {"columns": numbers, "rows": len(rows), "how": scaler}, **place)
    if others:
        recorder.fact("remembered", {"columns": others, "rows": len(rows), "model": memory.model.cls}, **place)


def order_of(memory: Memory, got: list[np.ndarray]) -> dict[str, Any] | None:
    """Columns whose remembered moments are those of one another's values: fed in another order."""
    held = [c for c in memory.columns if c.mean is not None and c.sd and c.index < len(got) and got[c.index].dtype.kind in "iuf"]
    if len(held) < 2:
        return None
    values = [got[c.index].astype(float) for c in held]
    means, sds = np.array([np.nanmean(v) for v in values]), np.array([np.nanstd(v) for v in values])
    if not np.isfinite(means).all() or not (sds > 0).all():
        return None
    mean, sd = np.array([c.mean for c in held], float), np.array([c.sd for c in held], float)
    far = np.abs(means[None] - mean[:, None]) / sd[:, None] + np.abs(np.log(sds[None] / sd[:, None]))  # of column j's values from i's moments
    off = [i for i in range(len(held)) if far[i, i] > 3 * CLOSE]
    if not 2 <= len(off) <= 12:
        return None
    left, place = set(off), {}
    for i in off:
        j = min(left, key=lambda j: far[i, j])
        if far[i, j] > CLOSE or i == j:
            return None
        place[i] = j
        left.discard(j)
    called = [memory.names[c.index] if memory.names else f"column {c.index}" for c in held]
    return {"column": [called[i] for i in off], "kind": "order", "scaler": held[0].scaler, "of": len(values[0]),
            "distance": round(float(np.mean([far[i, i] for i in off])), 3), "distance_found": round(float(np.mean([far[i, j] for i, j in place.items()])), 3),
            "holds": {called[i]: called[j] for i, j in place.items()}, "rows": []}  # fmt: skip


def _beyond(name: str, c: Remembered, column: np.ndarray, rows: np.ndarray) -> dict[str, Any] | None:
    """A column whose values lie beyond all that a forest asks about it."""
    found = thresholds.beyond(c.thresholds, column.astype(float)) if c.thresholds is not None and column.dtype.kind in "iuf" else None
    return {"column": name, "kind": "beyond", "of": len(column), "rows": rows[:ROWS].tolist(), "weight": c.weight, **found} if found else None


def beside(name: str, column: np.ndarray, rows: np.ndarray, mean: float, sd: float) -> dict[str, Any] | None:
    """Remembered moments beside those of the rows, with the rows of a break where there is one."""
    good = np.isfinite(column)
    if good.sum() < LEAST:
        return None
    kept, at = column[good], rows[good]
    told = {"column": name, "mean": mean, "sd": sd, "table_mean": float(kept.mean()), "table_sd": float(kept.std())}
    one_sign = (kept != 0).all() and (np.sign(kept) == np.sign(kept[0])).all()
    moved = split(np.log(np.abs(kept)) if one_sign else np.arcsinh((kept - mean) / (sd or 1.0)), _usual(mean, one_sign))
    if moved is not None and min(moved[1] - moved[0], len(kept) - moved[1] + moved[0]) >= LEAST // 3:
        for start, stop in ((moved[0], moved[1]), (moved[1], len(kept)) if moved[0] == 0 else (0, moved[0])):
            part, rest = kept[start:stop], np.delete(kept, slice(start, stop))
            if np.abs(rest.mean() - mean) < sd and abs(part.mean() - mean) > abs(rest.mean() - mean):
                told["moved"] = {"row": int(at[start]), "rows": at[start:stop][:ROWS].tolist(), "count": stop - start, "last": stop == len(kept),
                                 "grid": np.quantile(part, GRID).tolist(), "rest_grid": np.quantile(rest, GRID).tolist(), "rest_mean": float(rest.mean()),
                                 "rest_sd": float(rest.std()), "part_mean": float(part.mean()), "part_sd": float(part.std())}  # fmt: skip
                break
    return told


def _usual(mean: float, one_sign: bool) -> float:
    return float(np.log(abs(mean))) if one_sign and mean else 0.0


def _gaps(name: str, c: Remembered, column: np.ndarray, rows: np.ndarray) -> dict[str, Any] | None:
    """A column of which the most is filled in by an imputer."""
    if not c.filler:
        return None
    gap = np.array([v is None for v in column.tolist()]) if column.dtype.kind == "O" else ~np.isfinite(column.astype(float))
    if gap.mean() <= 0.5:
        return None
    return {"column": name, "kind": "gaps", "count": int(gap.sum()), "of": len(column), "rows": rows[gap][:ROWS].tolist(), "fill": c.filled,
            "filler": c.filler, "indicated": c.indicated, "weight": c.weight}  # fmt: skip


def _levels(name: str, c: Remembered, column: np.ndarray, rows: np.ndarray) -> dict[str, Any] | None:
    """Levels that an encoder does not know, and the known ones of which they are another spelling."""
    if c.levels and column.dtype.kind in "iuf" and len(c.levels) >= 2 and all(_spells(v) for v in c.levels):
        return {"column": name, "kind": "type", "encoder": c.encoder, "known": sorted(c.levels)[:8], "example": str(column[0]), "of": len(column),
                "rows": rows[:ROWS].tolist()}  # fmt: skip
    if not c.levels or column.dtype.kind != "O":
        return None
    said = column.tolist()
    new: dict[str, int] = {}
    for v in said:
        if isinstance(v, str) and v not in c.levels:
            new[v] = new.get(v, 0) + 1
    if not new:
        return None
    known = {plain(v): v for v in c.levels}
    alike = {v: known[plain(v)] for v in sorted(new, key=lambda v: -new[v])[:50] if plain(v) in known}
    shown = alike or new
    return {"column": name, "kind": "levels", "encoder": c.encoder, "pooled": c.pooled, "known": len(c.levels), "of": len(said), "alike": alike,
            "new": dict(sorted(((v, new[v]) for v in shown), key=lambda t: -t[1])[:10]), "count": sum(new[v] for v in shown),
            "rows": [int(rows[i]) for i, v in enumerate(said) if v in shown][:ROWS]}  # fmt: skip


def _spells(text: str) -> bool:
    return bool(text.strip()) and text.strip().lstrip("+-").replace(".", "", 1).isdigit()


def plain(text: str) -> str:
    """A level without blanks at its ends, case, accents and ways of composing them."""
    apart = unicodedata.normalize("NFKD", " ".join(text.split()).casefold())
    return "".join(c for c in apart if not unicodedata.combining(c))
