"""What a fit's rows are laid beside: index labels, labels, the rows that stop a training."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...capture.lineage.fingerprints import table_of
from ...capture.lineage.registry import shape_of
from ...capture.lineage.uses import Fit


def label_codes(y: Any, rows: int) -> np.ndarray | None:
    """The labels as float64, or as codes where they are text; None for what is no column of labels."""
    shape = shape_of(y) if y is not None else None
    if shape is None or shape[0] != rows or rows > 500_000 or (len(shape) > 1 and shape[1] != 1):
        return None
    table = table_of(y)
    if table is None or table.width != 1:
        return None
    return table.floats()[:, 0] if table.numeric[0] else table.codes[:, 0].astype(np.float64)


def eval_sets(hooks: Any, fit: Fit, owner: Any, kwargs: dict[str, Any]) -> None:
    """Rows that a boosted model watches while it is fitted, and whether they stop it."""
    given = kwargs.get("eval_set")
    pairs = given if isinstance(given, list) else [given] if isinstance(given, tuple) else []
    xs = [p[0] for p in pairs if isinstance(p, tuple) and len(p) == 2]
    for name in ("eval_X", "X_val"):
        if kwargs.get(name) is not None:
            held = kwargs[name]
            xs += list(held) if isinstance(held, (list, tuple)) else [held]
    stops = stopping(owner, kwargs)
    for x in xs[:8]:
        known = hooks.lineage.known_of(x)
        if known is not None:
            fit.eval_sets.append((known, stops))


def stopping(owner: Any, kwargs: dict[str, Any]) -> bool:
    """Does the fit end, or is its best round chosen, by what it watches?"""
    if kwargs.get("early_stopping_rounds") or getattr(owner, "early_stopping_rounds", None):
        return True
    calls = list(kwargs.get("callbacks") or ()) + list(getattr(owner, "callbacks", None) or ())
    return any("early" in type(c).__name__.lower() or "early" in getattr(c, "__name__", "").lower() for c in calls)


def rows_in_step(hooks: Any, fit: Fit, call: Any) -> None:
    """Are the rows of X and y out of step?"""


def inputs_tell(hooks: Any, fit: Fit, call: Any) -> None:
    """Do single inputs give the answer away?"""
