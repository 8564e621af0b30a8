"""Two runs beside each other: the step at which they part, the settings that differ, the curves that both have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...curves import parts_at
from ...diagnoses import Diagnosis
from .. import phrases
from . import signals, svg

if TYPE_CHECKING:
    from ...store.browse import Browser, Listed

MOST_CURVES, MOST_SEARCHED = 24, 400
SETTINGS: dict[str, tuple[str, ...]] = {  # facts whose keys say how a run was set up
    "initial_weights": ("name", "settings"), "loader_use": ("batch_size", "rows", "workers"), "split_drawn": ("rows", "seeded"),
    "model": ("class", "parameters"), "table_read": ("table", "rows"), "threads_set": ("threads",), "library": ("version",),
}  # fmt: skip
HEADS = ("command", "outcome", "seconds", "python", "machine")


def screen(a: Browser, b: Browser, found: tuple[Diagnosis, Diagnosis], address: Callable[[int, int], str]) -> dict[str, Any]:
    """All that the template shows. `address(0 or 1, number)` is where the numbers of a series are."""
    pairs, apart, met = paired(a.listing(), b.listing()), {}, []
    for left, right in pairs[:MOST_SEARCHED]:
        step = parts_at(a.points(left.number), b.points(right.number))
        if step is not None:
            apart[left.number] = step[0]
            met.append((step[0], signals.rank(left), signals.title(left), step[1], step[2]))
    first = min(met, key=lambda x: x[:2], default=None)  # of several at one step the one that a person knows
    heads = [(k, *(phrases.command(x.meta) if k == "command" else phrases.number(x.meta.get(k)) for x in (a, b))) for k in HEADS]
    heads.append(("culprits", *(", ".join(c.check for c in d.culprits) or "none" for d in found)))
    shown = [pair for pair in pairs if pair[0].name in signals.FIRST][:MOST_CURVES]
    return {
        "a": {"name": a.folder.name}, "b": {"name": b.folder.name}, "heads": heads, "differ": differ(settings(a), settings(b)),
        "first": dict(zip(("step", "rank", "title", "a", "b"), first)) if first else None,
        "curves": [overlaid(a, pair, apart.get(pair[0].number), address) for pair in shown],
    }  # fmt: skip


def paired(a: list[Listed], b: list[Listed]) -> list[tuple[Listed, Listed]]:
    """Series of the same name at the same place, in the order in which they came up."""
    waiting: dict[Any, list[Listed]] = defaultdict(list)
    for s in b:
        waiting[_key(s)].append(s)
    return [(s, waiting[_key(s)].pop(0)) for s in a if waiting[_key(s)] and s.count and not signals.aside(s)]


def _key(s: Listed) -> tuple[Any, ...]:
    return s.name, s.place.module, s.place.tensor, s.place.estimator, s.place.rank


def settings(browser: Browser) -> dict[str, str]:
    """What a run was set up with, by fact, number and key."""
    held = {}
    for name, keys in SETTINGS.items():
        for n, fact in enumerate(browser.facts(name, most=20)):
            what = f"{name.replace('_', ' ')} {fact.get('name') if name == 'library' else n + 1 if n else ''}".strip()
            for key in keys:
                value = fact.get(key)
                inner = value.items() if isinstance(value, dict) else [("", value)]
                held |= {f"{what} {key} {k}".strip(): phrases.number(v) for k, v in inner}
    return held


def differ(a: dict[str, str], b: dict[str, str]) -> list[tuple[str, str, str]]:
    """(setting, in a, in b) of those that are not the same."""
    return [(k, a.get(k, "-"), b.get(k, "-")) for k in dict.fromkeys([*a, *b]) if a.get(k) != b.get(k)][:60]


def overlaid(a: Browser, pair: tuple[Listed, Listed], apart: int | None, address: Callable[[int, int], str]) -> dict[str, Any]:
    """One chart with both curves; without scripts that of a."""
    left, right = pair
    title = signals.title(left)
    drawing = svg.line_chart(a.curve(left.number, 120), title, apart)
    return {"id": f"pair-{left.number}", "title": title, "urls": [address(0, left.number), address(1, right.number)], "parts_at": apart, "svg": drawing}
