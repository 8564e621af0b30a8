"""Tokens: how often each number is looked up in a table of embeddings, in training and where the model is used.

Texts of one kind have their words about as often. Where the numbers of one place have the frequencies of the training shifted by a few, the words
there were numbered by a list with a line more or less.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import torch

from .lines import Line, here
from .modules import Modules
from .trace import is_plain
from .watch import Watch

PART = "tokens"
LOOKUPS = frozenset({"embedding", "embedding_bag"})
FEWEST, MOST = 20, 50_000  # rows of a table
MOST_TABLES = 64
LEAST = 500  # numbers looked up on either side
FAR = 4  # places that a list may be off
ALIKE, UNLIKE = 0.9, 0.5  # correlation of the square roots of frequencies: moved by the shift, and as they are (and of neighbours, which must differ)


class Table:
    """One table of embeddings: how often each of its rows was looked up."""

    def __init__(self, weight: Any, rows: int) -> None:
        self.ref, self.trained, self.used = weakref.ref(weight), np.zeros(rows), np.zeros(rows)
        self.line: Line | None = None
        self.label: str | None = None


class Tokens:
    """Counts look-ups of sampled training steps and of evaluations."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.modules: Modules = watch.parts["modules"]
        self.tables: dict[int, Table] = {}

    def operation(self, name: str, func: Any, args: Any, kwargs: Any, result: Any, outputs: list[Any]) -> None:
        """A table is looked up."""
        if name not in LOOKUPS:
            return
        given = [a for a in (*args[:2], kwargs.get("input"), kwargs.get("weight")) if torch.is_tensor(a) and is_plain(a)]
        ids, weight = next((a for a in given if not a.is_floating_point()), None), next((a for a in given if a.is_floating_point() and a.dim() == 2), None)
        if ids is None or weight is None or not FEWEST <= len(weight) <= MOST or not ids.numel() or not 0 <= int(ids.min()) <= int(ids.max()) < len(weight):
            return
        table = self.tables.get(id(weight))
        if table is None or table.ref() is not weight:
            if len(self.tables) >= MOST_TABLES and id(weight) not in self.tables:
                return
            table = self.tables[id(weight)] = Table(weight, len(weight))
        counts = np.bincount(ids.detach().reshape(-1).numpy(), minlength=len(weight))
        if torch.is_grad_enabled() and not self.watch.evaluating:
            table.trained += counts
        else:
            table.used += counts
            table.line = table.line or here()
        module = self.watch.parts["trace"].stack[-1:]
        table.label = table.label or (self.modules.label(module[0]) if module else None)

    def last_words(self) -> None:
        """The fact `tokens_shifted`."""
        for table in self.tables.values():
            by = shift(table.trained, table.used)
            if by is not None:
                where = table.line.place if table.line else {}
                value = {"table": table.label, "rows": len(table.trained), "trained": int(table.trained.sum()), "used": int(table.used.sum()), **by}
                self.recorder.fact("tokens_shifted", value, stage="deploy", module=table.label, **where)


def shift(trained: np.ndarray, used: np.ndarray) -> dict[str, Any] | None:
    """By how many places frequencies moved, where they agree after that and not before."""
    if min(trained.sum(), used.sum()) < LEAST:
        return None
    a, b = np.sqrt(trained / trained.sum()), np.sqrt(used / used.sum())
    as_is = alike(a, b, 0)
    if as_is is None or as_is > UNLIKE:
        return None
    found = [(r, k) for k in range(-FAR, FAR + 1) if k and (r := alike(a, b, k)) is not None]
    best, by = max(found, default=(0.0, 0))
    own = alike(a, a, by)
    if best < ALIKE or own is None or own > UNLIKE:
        return None
    return {"by": by, "as_is": round(as_is, 3), "moved": round(best, 3)}


def alike(a: np.ndarray, b: np.ndarray, by: int) -> float | None:
    """Correlation of one with the other, whose places are `by` too high; None where all are equally frequent."""
    one, other = (a[: len(a) - by], b[by:]) if by >= 0 else (a[-by:], b[: len(b) + by])
    if one.std() < 0.1 * one.mean() or not other.std():
        return None
    return float(np.corrcoef(one, other)[0, 1])


def install(watch: Watch) -> None:
    """Hang on operations of sampled steps and of evaluations."""
    if watch.recorder.wants("tokens_shifted"):
        tokens = Tokens(watch)
        watch.hang("on_operation", PART, tokens.operation)
        watch.recorder.at_exit(watch.guard(PART)(tokens.last_words))
