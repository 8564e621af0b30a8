"""Columns that part two classes by themselves at the fit: do they still, once rows that came later are judged?

What a file drawn after the event holds of those whom it befell (the log-ins of the last month of a student who had left) is not there when the
forecast is made. Then one class has values in the fit that no later row has, the other is as before, and the column tells nothing any more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .lineage.fingerprints import spaced
from .recorder import Recorder
from .scores import auc
from .summarise import values

ROWS = 2000  # of a fit that are looked at
FEWEST = 40  # rows of either class
TELLS, TOLD = 0.95, 0.8  # area under the curve of one column alone: at the fit at least, later at most
STRANGE = 0.6  # share of a class's values at the fit that lie outside of the later rows' (1 to 99 in 100)
STEADY = 0.15  # between the other class at the fit and later (Kolmogorov and Smirnov)

Parted = list[tuple[int, np.ndarray, np.ndarray, float]]  # (column, values of either class, area under the curve)


def telling(columns: list[np.ndarray], y: Any) -> Parted:
    """The columns of a fit that alone part its two classes nearly."""
    true = values(y) if y is not None and len(y) == len(columns[0]) else np.zeros(0)
    some = spaced(len(true), ROWS)
    high = _second(true[some])
    if high is None:
        return []
    found = []
    for j, column in enumerate(columns):
        part = column[some]
        if part.dtype.kind not in "iuf" or not np.isfinite(part).all():
            continue
        area = auc(high, part)
        if area is not None and max(area, 1 - area) >= TELLS:
            found.append((j, np.sort(part[~high]), np.sort(part[high]), area))
    return found[:5]


def look(recorder: Recorder, parted: Parted, columns: list[np.ndarray], stream: Any, model: Any) -> None:
    """Rows that were judged later: one fact `tell` of a column that has ceased to part the classes, in all of them."""
    parts = stream.truth.parts
    at = np.concatenate([np.arange(s, s + len(parts[s][0])) for s in sorted(parts)] or [np.zeros(0, int)])
    if not parted or not len(at) or at.max() >= min(map(len, columns), default=0):
        return
    high = _second(np.concatenate([parts[s][0] for s in sorted(parts)]))
    for j, low_then, high_then, area in parted if high is not None else ():
        now = columns[j][at]
        if now.dtype.kind not in "iuf" or not np.isfinite(now).all():
            continue
        late = _area(high, now, area)
        early = slice(0, len(at) // 3)
        if late > TOLD or _area(high[early], now[early], area) > TOLD + 0.05:  # of a drift the first rows are as before
            continue
        sides = [(high_then, high, low_then, ~high), (low_then, ~high, high_then, high)]  # the class that moved, and the other
        then, here, other, rest = max(sides, key=lambda t: _apart(t[0], now[t[1]]))
        low, top = np.quantile(now, [0.01, 0.99])
        strange = float(((then < low) | (then > top)).mean())
        if strange < STRANGE or _apart(other, now[rest]) > STEADY or not recorder.once("parted", model.number, j):
            continue
        told = {"how": "drawn later", "column": model.columns[j].name, "position": j, "agreement": round(max(area, 1 - area), 4), "rows": model.rows,
                "now": round(late, 4), "judged": len(at), "strange": round(strange, 3), "steady": round(_apart(other, now[rest]), 3),
                "then": float(np.median(then)), "usual": float(np.median(now[here]))}  # fmt: skip
        recorder.fact("tell", told, stage="preprocess", estimator=model.cls, file=model.file or "", line=model.line)


def _second(true: np.ndarray) -> np.ndarray | None:
    """Which rows are of the second of two classes, if there are enough of both."""
    levels = np.unique(true) if true.dtype.kind in "iufb" else np.zeros(0)
    high = true == levels[-1] if len(levels) == 2 else np.zeros(0, bool)
    return high if len(levels) == 2 and min(high.sum(), (~high).sum()) >= FEWEST else None


def _area(high: np.ndarray, column: np.ndarray, then: float) -> float:
    """How well the column parts the classes in the direction that it did at the fit."""
    area = auc(high, column) if 0 < high.sum() < len(high) else None
    return 0.5 if area is None else area if then > 0.5 else 1 - area


def _apart(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference of two distribution functions."""
    a, b = np.sort(a), np.sort(b)
    both = np.concatenate([a, b])
    return float(np.abs(np.searchsorted(a, both, "right") / len(a) - np.searchsorted(b, both, "right") / len(b)).max())
