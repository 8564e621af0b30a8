"""Plans: how a column is counted, from a sample of the reference; every later table is counted on the same edges, so that counts add exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import drift
from ..profiles import GRID, LENGTHS, MOST_LEVELS, Profile, ordered

SAMPLE = 20_000  # rows that plans are made from
FEW = 64  # numbers with no more distinct values are counted by value
REPEATS = 0.5  # distinct texts of a sample, as a share of it, beyond which they are no levels but names, keys or prose


@dataclass(frozen=True, slots=True)
class Plan:
    """`kind` as the engine tells it (number, bool, time, text, other); by value or in bins between inner edges (of a text: of its length)."""

    kind: str
    by_value: bool = False
    edges: tuple[float, ...] = ()
    whole: bool = False  # the sample's numbers are all integers


def plan_of(kind: str, sample: np.ndarray) -> Plan:
    """How a column is counted."""
    if kind == "text":
        said = [v for v in sample.tolist() if v is not None]
        repeats = len(set(said)) <= max(FEW, min(REPEATS * len(said), MOST_LEVELS))
        return Plan(kind, repeats, () if repeats else LENGTHS)
    if kind == "other" or not len(sample):
        return Plan(kind)
    finite = sample[np.isfinite(sample)]
    few = len(np.unique(finite)) <= FEW
    return Plan(kind, few, () if few else tuple(drift.edges(finite).tolist()), bool(len(finite)) and bool((finite == np.trunc(finite)).all()))


def settled(profile: Profile) -> Profile:
    """What follows from the counts alone: quantiles, distinct values, the most frequent ones. The same for one scan as for merged chunks."""
    if profile.cut or len(profile.levels) > MOST_LEVELS:
        profile.levels, profile.cut = [], True
    profile.levels = ordered(dict(profile.levels))
    profile.distinct, profile.top = len(profile.levels), profile.levels[:40]
    profile.quantiles = quantiles(profile) if profile.kind in ("number", "time", "bool") and profile.valid else []
    return profile


def quantiles(profile: Profile) -> list[float]:
    """The grid of quantiles from the counts: within a bin as if evenly spread."""
    if profile.levels:
        values = np.array([v for v, _ in profile.levels], float)
        order = np.argsort(values)
        below = np.cumsum(np.array([n for _, n in profile.levels], float)[order])
        return [float(values[order][np.searchsorted(below, q * below[-1] - 1e-9)]) for q in GRID]
    if not profile.counts or profile.min is None or profile.max is None:
        return []
    ends = np.clip([profile.min, *profile.edges, profile.max], profile.min, profile.max)
    below = np.concatenate([[0.0], np.cumsum(profile.counts)])
    return [float(v) for v in np.interp(np.array(GRID) * below[-1], below, ends)]


def whole_of(parts: Sequence[Profile]) -> Profile:
    """The profile of all parts together."""
    made = parts[0]
    for part in parts[1:]:
        made = made.merge(part)
    return settled(made)


def bins_of(profile: Profile, values: list[Any] | None = None) -> list[int]:
    """Counts to compare: by value in the order of `values`, else by bin."""
    if values is None:
        return profile.counts
    held = dict(profile.levels)
    return [held.get(v, 0) for v in values]
