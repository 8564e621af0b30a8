"""Splits by torch: which call of random_split, on which line, made each part of a data set; and whether rows were judged by another call than trained."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from torch.utils import data as torch_data

from ...capture.lineage import sight, uses
from ...capture.lineage.fingerprints import array_of
from .identity import ByIdentity
from .lines import here
from .watch import Watch

PART = "splits"
MOST_SUBSETS, MOST_NAMED = 40, 200_000  # whose row numbers are looked for under a name, and how many they may be


class Splits:
    """The parts, and the calls that made them."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.parts = ByIdentity()  # part -> (number of the call, file, line)
        self.cuts = ByIdentity()  # part -> name, file and line of the row numbers that it was made of
        self.calls = self.subsets = 0

    def split(self, _: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """random_split returned."""
        line = here()
        self.calls += 1
        for part in result if line is not None else ():
            self.parts[part] = (self.calls, *line.told)

    def subset(self, _: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A Subset, or a sampler of one, was made: by which name does the person hold its row numbers, and where was that given its value?"""
        self.subsets += 1
        given = getattr(args[0], "indices", ())
        rows = array_of(given) if self.subsets <= MOST_SUBSETS and len(given) <= MOST_NAMED else None
        if rows is not None and rows.ndim == 1 and len(rows) > 1 and rows.dtype.kind in "iu" and (found := sight.numbers_at(rows)) is not None:
            self.cuts[args[0]] = found

    def call_of(self, dataset: Any) -> tuple[Any, ...] | None:
        """The call that a data set is a part of."""
        held: tuple[Any, ...] | None = self.parts.get(dataset)
        return held


def among(rows: Any, splits: Iterable[Any]) -> tuple[Any, ...] | None:
    """The call of train_test_split that made just these rows, as (number, file, line)."""
    ids = uses.unique(rows.known)
    for n, (*parts, origin) in enumerate(splits):
        if origin and any(p.rows == rows.known.rows and np.array_equal(uses.unique(p), ids) for p in parts):
            return (f"sklearn {n}", origin[0][0], origin[0][1])
    return None


def again(judged: tuple[Any, ...] | None, learnt: set[tuple[Any, ...] | None], ever: set[tuple[Any, ...] | None]) -> dict[str, Any] | None:
    """Were rows judged that another call of the same line had cut than those learnt from, and did nothing ever learn from that call's other rows?

    Where something did, it is a hold-out that is repeated, with a model for each.
    """
    if judged is None or None in learnt or judged[0] in {c[0] for c in ever if c is not None}:
        return None
    same = [c for c in learnt if c is not None and c[1:] == judged[1:]]
    return {"file": judged[1], "line": judged[2]} if same else None


def install(watch: Watch) -> None:
    """Patch random_split, under both of its addresses, and the making of a part by its row numbers."""
    if not watch.recorder.wants("row_use"):
        return
    splits = Splits(watch)
    watch.parts[PART] = splits
    for owner in (torch_data, torch_data.dataset):
        watch.around(PART, owner, "random_split", None, splits.split)
    for kind in (torch_data.Subset, torch_data.SubsetRandomSampler):
        watch.around(PART, kind, "__init__", None, splits.subset)
