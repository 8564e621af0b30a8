"""The report: all screens of one run in one file that loads nothing, within a hard budget of bytes."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ... import __version__
from ...diagnoses import Diagnosis
from .. import phrases
from . import culprit, data, environment, facts, model, signals, site

if TYPE_CHECKING:
    from ...store.browse import Browser

CURVES, HEATS = 500_000, 900_000  # bytes of numbers, before base64 makes them a third larger; the file stays under 3 MB whatever the run
MOST_CURVES, MOST_FACTS, MOST_COLUMNS, MOST_USED = 40, 150, 40, 8
MOST_ROWS, MOST_STEPS = 120, 400  # of a heat map
DRAWN = 120  # buckets of a drawing that needs no script


def render(diagnosis: Diagnosis, browser: Browser, needs: dict[str, tuple[str, ...]], pages: dict[str, str]) -> str:
    """The whole file. `needs` and `pages` give the evidence names and a sentence of each check."""
    listing, held = browser.listing(), {}
    sorted_out, named = signals.sorted_out(listing), signals.titles(listing)
    first = diagnosis.culprits[0] if diagnosis.culprits else None
    chosen = signals.strip(first, needs, sorted_out, listing)
    onset = first.place.step if first else None
    parts = {s.number: signals.window(s, culprit.near(first)) for s in chosen}
    curves = [s for s in sorted_out.curves if s not in chosen or parts[s.number]][: MOST_CURVES - len(chosen)]  # of a part the whole too
    left_out = max(0, len(sorted_out.curves) - len(curves) - sum(not p for p in parts.values()))
    each = max(60, min(1000, CURVES // (32 * max(1, len(curves) + len(chosen)))))
    charts = [drawn(browser, s, named[s.number], onset, each, held, parts[s.number]) for s in chosen]
    rest = [drawn(browser, s, named[s.number], None, each, held) for s in curves]
    used = [drawn(browser, s, named[s.number], None, DRAWN, held) for s in signals.resources(listing)[:MOST_USED]]
    heats: dict[str, str] = {}
    cwd = browser.meta.get("cwd") or ""
    rows = log_page(browser, cwd)
    tried = [*browser.facts("experiment"), *browser.facts("counterfactual")]
    script, style = script_text(), "\n".join(site.asset(a) for a in site.STYLES)
    return site.render(
        "report.html", anchor, run=diagnosis.run, command=phrases.command(diagnosis.run), badge=culprit.badge(diagnosis.run), screen="", version=__version__,
        columns=data.about(browser.profiles(), browser.facts, diagnosis, cwd), c=culprit.screen(diagnosis, tried, pages), charts=charts,
        s={"curves": rest, "left_out": left_out, "maps": maps(browser, sorted_out, first, heats),
           "histograms": signals.histograms(browser.profiles("logged_histogram"))},
        d=data.screen(browser.facts, browser.profiles(), diagnosis, cwd, MOST_COLUMNS), m=model.screen(browser.facts, sorted_out, listing, diagnosis, cwd),
        e=environment.screen(browser.meta, browser.facts, used), l=rows, style=Markup(style), script=Markup(script),
        style_hash=digest(style), script_hash=digest(script), inlined=Markup(json.dumps({"curves": held, "heats": heats}).replace("<", "\\u003c")),
    )  # fmt: skip


def anchor(screen: str, *rest: str) -> str:
    """Screens are parts of one page; a stage is told with the culprit."""
    return "#" + {"stage": "culprit", "runs": "culprit"}.get(screen, screen)


def drawn(
    browser: Browser, listed: Any, name: str, onset: int | None, buckets: int, held: dict[str, str], part: tuple[int, int] | None = None
) -> dict[str, Any]:
    """A curve for the template, or a part of it; its numbers go to `held`."""
    made = signals.chart(browser, listed, name, onset, min(buckets, DRAWN), part)
    held[made["id"]] = base64.b64encode(browser.curve(listed.number, buckets, *part or ()).packed()).decode()
    return made


def maps(browser: Browser, sorted_out: signals.Signals, first: Any, held: dict[str, str]) -> list[dict[str, Any]]:
    """The heat maps that have something to show, each within its share of the budget."""
    shown = [m for m in sorted_out.maps if m.points]
    columns = max(40, min(MOST_STEPS, HEATS // (MOST_ROWS * max(1, len(shown)))))
    made = []
    for m, heat in signals.heats(browser, shown, MOST_ROWS, columns):
        held[m.name] = base64.b64encode(heat.packed()).decode()
        made.append(told_map(m, heat, first))
    return made


def told_map(m: signals.Map, heat: Any, first: Any) -> dict[str, Any]:
    """A heat map for the template: labels, the culprit's row, and a table for those who can't see it."""
    place = first.place if first else None
    mark = next((n for n in heat.labels if place and (n == place.tensor or n == place.module)), "")
    return {
        "name": m.name, "meaning": m.meaning, "unit": m.unit, "nonfinite": max(m.nonfinite, int(heat.broken.sum())), "labels": heat.labels, "mark": mark,
        "began": int(heat.steps[heat.broken.any(0)][0]) if heat.broken.any() else None,
        "broken_rows": [n for n, bad in zip(heat.labels, heat.broken.any(1)) if bad], "table": table(heat),
        "flat": flat(heat), "columns": len(heat.steps),
    }  # fmt: skip


def flat(heat: Any) -> float | None:
    """The value of every cell that was measured, where all are finite and the same: said in words rather than drawn."""
    held = heat.values[heat.values == heat.values]
    return float(held[0]) if len(held) and held.min() == held.max() and not heat.broken.any() else None


def table(heat: Any, most: int = 60) -> list[tuple[Any, ...]]:
    """(label, first, largest, last, broken) by row; rows that are not finite come first."""
    made = []
    for label, values, bad in zip(heat.labels, heat.values, heat.broken):
        held = values[values == values]
        ends = (float(held[0]), float(held.max()), float(held[-1])) if len(held) else (None, None, None)
        made.append((label, *ends, bool(bad.any())))
    return sorted(made, key=lambda r: not r[4])[:most]


def log_page(browser: Browser, cwd: str) -> dict[str, Any]:
    """The first facts of the log."""
    total = sum(browser.fact_counts().values())
    return facts.screen(browser.facts(most=MOST_FACTS), total, cwd, [], [("`sabueso ui` shows all", "#facts")] if total > MOST_FACTS else [])


def script_text() -> str:
    """All scripts in one; what would end a script element can't stand in it."""
    return "\n".join(site.asset(a) for a in site.SCRIPTS).replace("</script", "<\\/script")


def digest(text: str) -> Markup:
    """What a content policy allows a script or style by."""
    return Markup(f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'")
