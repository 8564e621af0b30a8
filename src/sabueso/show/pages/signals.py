"""Signals: which series are curves, which are rows of a layer x step heat map, and which of them show what a culprit is about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import drawings
from ...findings import Finding
from ...profiles import Profile
from ...vocabulary import VOCABULARY
from . import svg

if TYPE_CHECKING:
    from ...curves import Heat
    from ...events import Summary
    from ...store.browse import Browser, Listed

LAYERED = 3  # series of one name at this many modules or tensors and more are a heat map
FIRST = ("train_loss", "evaluation_error", "gradient_norm", "learning_rate", "logged")
HIDDEN = ("rows", "trained")  # what an evaluation's recount notes beside its errors
RESOURCES = ("resident_memory", "processors_used")  # by seconds since the program began; shown with the environment
USUAL = ("train_loss", "gradient_norm", "evaluation_error")
MOST_STRIP = 3
COUNTS = {  # moments are of what is finite; how much is not is counted beside them
    "gradient_nonfinite": ("weight_gradient", "gradient_zeros", "update_ratio"), "output_nonfinite": ("output_mean", "output_std"),
}  # fmt: skip
MOST_TAGS, MOST_TIMES = 40, 10  # of histograms


@dataclass(slots=True)
class Map:
    """Series of one name by layer: `rows` are (number of the series, label)."""

    name: str
    unit: str
    meaning: str
    rows: list[tuple[int, str]] = field(default_factory=list)
    points: int = 0
    nonfinite: int = 0


@dataclass(slots=True)
class Signals:
    """What the signals screen shows."""

    curves: list[Listed]
    maps: list[Map]

    @property
    def empty(self) -> bool:
        return not (self.curves or self.maps)


def sorted_out(listing: list[Listed]) -> Signals:
    """Curves and heat maps; a series with no point is neither."""
    held = [s for s in listing if s.count and not aside(s)]
    by_name: dict[str, list[Listed]] = defaultdict(list)
    for s in held:
        by_name[s.name].append(s)
    layered = {n for n, found in by_name.items() if n not in FIRST and len({label(s) for s in found}) >= LAYERED}
    curves = [s for s in held if s.name not in layered]
    return Signals(sorted(curves, key=lambda s: (rank(s), s.name, s.number)), [_map(n, by_name[n]) for n in sorted(layered)])


def aside(listed: Listed) -> bool:
    """Is it no signal of the learning: a resource by seconds, or what a recount notes beside its errors?"""
    return listed.name in RESOURCES or (listed.name == "evaluation_error" and listed.place.tensor in HIDDEN)


def rank(listed: Listed) -> int:
    """What a person looks at first comes first."""
    return FIRST.index(listed.name) if listed.name in FIRST else len(FIRST)


def _map(name: str, found: list[Listed]) -> Map:
    term = VOCABULARY.get(name)
    return Map(
        name, term.unit if term else "", term.meaning if term else "", [(s.number, label(s)) for s in found],
        sum(s.count for s in found), sum(s.nonfinite for s in found),
    )  # fmt: skip


def heats(browser: Browser, maps: list[Map], most_rows: int, most_columns: int) -> list[tuple[Map, Heat]]:
    """Each map with its cells, broken too where another map counts values that are not finite."""
    made = [(m, browser.heat(m.name, m.rows, most_rows, most_columns)) for m in maps]
    by_name = {m.name: h for m, h in made}
    for counted, names in COUNTS.items():
        if (count := by_name.get(counted)) is not None:
            count.broken |= count.values > 0
            for name in names:
                _mark(by_name.get(name), count)
    return made


def with_counts(maps: list[Map], name: str) -> list[Map]:
    """The map of that name and the one that counts for it."""
    return [m for m in maps if m.name == name or name in COUNTS.get(m.name, ())]


def _mark(heat: Heat | None, count: Heat) -> None:
    """Cells of a map that another counts as not finite, by label and step."""
    if heat is None or not len(heat.steps):
        return
    rows = {text: i for i, text in enumerate(heat.labels)}
    for i, text in enumerate(count.labels):
        at = count.steps[count.broken[i]]
        here = np.searchsorted(heat.steps, at)
        known = here < len(heat.steps)
        if text in rows:
            heat.broken[rows[text], here[known]] |= heat.steps[here[known]] == at[known]


def label(listed: Listed) -> str:
    """What tells a series from others of its name."""
    place = listed.place
    return place.tensor or place.module or place.estimator or (f"rank {place.rank}" if place.rank is not None else "")


def title(listed: Listed) -> str:
    """The name of a curve on the screen."""
    words = listed.name.replace("_", " ") + (", by seconds" if listed.name in RESOURCES else "")
    if listed.name == "logged":
        return listed.place.tensor or words
    more = [p for p in (listed.place.tensor, listed.place.module, listed.place.estimator) if p and p not in ("evaluation 0",)]
    return words + (f" · {' · '.join(dict.fromkeys(more))}" if more else "")


def titles(listing: list[Listed]) -> dict[int, str]:
    """The name of each curve by its number; those of several processes are told apart."""
    told: dict[str, list[Listed]] = defaultdict(list)
    for s in listing:
        told[title(s)].append(s)
    several = {name for name, found in told.items() if len({s.process for s in found}) > 1}
    return {s.number: name + (f" · {process(s)}" if name in several else "") for name, found in told.items() for s in found}


def resources(listing: list[Listed]) -> list[Listed]:
    """The curves of the environment."""
    return [s for s in listing if s.name in RESOURCES and s.count > 1]


def process(listed: Listed) -> str:
    """Its rank where it has one."""
    return f"rank {listed.place.rank}" if listed.place.rank is not None else f"process {listed.process}"


def strip(finding: Finding | None, needs: dict[str, tuple[str, ...]], signals: Signals, listing: list[Listed]) -> list[Listed]:
    """The two or three series that a culprit is about: what its check reads, at its place, then the usual ones."""
    held = [s for s in listing if s.count > 1 and not (s.name == "evaluation_error" and s.place.tensor in HIDDEN)]
    asked = needs.get(finding.check, ()) if finding else ()
    near = [s for s in held if s.name in asked and _at(s, finding)]
    usual = [s for name in USUAL for s in held if s.name == name]
    chosen: dict[tuple[str, str], Listed] = {}
    for s in [*sorted(near, key=lambda s: -s.nonfinite), *usual]:
        if len(chosen) < MOST_STRIP and sum(1 for n, _ in chosen if n == s.name) < (2 if s in near else 1):
            chosen.setdefault((s.name, label(s)), s)
    return list(chosen.values())


def _at(listed: Listed, finding: Finding | None) -> bool:
    """Is a series of the very module or tensor of a finding, or of none at all?"""
    if finding is None:
        return False
    place, own = finding.place, listed.place
    if own.tensor is None and own.module is None or listed.name in FIRST:
        return True
    return (place.tensor is not None and own.tensor == place.tensor) or (place.module is not None and own.module == place.module)


def histograms(profiles: Iterable[Summary]) -> list[tuple[str, list[tuple[int | None, Any, int]]]]:
    """(tag, [(step, drawing, values not finite)]) of the histograms that the program logged, the last ones of each tag."""
    held: dict[str, list[tuple[int | None, Any, int]]] = defaultdict(list)
    for p in profiles:
        profile = Profile.of(p.value)
        counts, labels = drawings.histogram(profile.quantiles, profile.top)
        if p.name == "logged_histogram" and counts:
            tag = str(p.place.tensor)
            held[tag].append((p.place.step, svg.bars(counts, labels, f"{tag} at step {p.place.step}"), profile.nonfinite + profile.missing))
    return [(tag, found[-MOST_TIMES:]) for tag, found in list(held.items())[:MOST_TAGS]]


def window(listed: Listed, near: tuple[int, int] | None) -> tuple[int, int] | None:
    """The steps about the beginning, of a curve that is not finite for the most part: at its full length what came before can't be seen."""
    return near if near and 2 * listed.nonfinite > listed.count and near[1] - near[0] < (listed.last - listed.first) / 2 else None


def chart(browser: Browser, listed: Listed, name: str, onset: int | None = None, buckets: int = 120, part: tuple[int, int] | None = None) -> dict[str, Any]:
    """One curve for the template, or a part of it, with the drawing of it that needs no script."""
    curve = browser.curve(listed.number, buckets, *part or ())
    drawing, unit = svg.line_chart(curve, name, onset), VOCABULARY[listed.name].unit if listed.name in VOCABULARY else ""
    id_ = f"{'near' if part else 'signal'}-{listed.number}"
    return {"listed": listed, "title": name, "curve": curve, "onset": onset, "id": id_, "unit": unit, "svg": drawing, "part": part}
