"""Drawings in SVG without a script: for pages before their scripts have drawn, for notebooks, for readers without scripts.

Colours stand as attributes, so that a page's own style goes before them. Everything that is written is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .curves import Curve

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 560, 150, 54, 18, 8
BLUE, RED, GREY, PALE = "#1f5fa8", "#b3261e", "#77777f", "#e2dfd9"
TEXT = f'font-size="11" fill="{GREY}" font-family="sans-serif"'
MOST_BROKEN = 400  # red lines of one chart
CLOSE = 12  # red lines no further apart than this are one stretch
BINS = 16


def short(value: Any) -> str:
    """A number in four digits."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return " ".join(str(value).split())
    if not math.isfinite(value):
        return "NaN" if value != value else "inf" if value > 0 else "-inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e6 else f"{value:.4g}"


def narrow(value: float) -> str:
    """A number that fits beside an axis."""
    return next((t for t in (short(value), f"{value:.3g}", f"{value:.2g}") if len(t) <= 8), f"{value:.1g}")


def log_helps(curve: Curve) -> bool:
    """Is the range over three decades, all of it positive?"""
    spread = curve.spread()
    return spread is not None and spread[0] > 0 and spread[1] > 1e3 * spread[0]


def line_chart(curve: Curve, title: str, onset: int | None = None) -> str:
    """Mean with its band of low and high; a red line wherever a value is not finite, a grey one at the onset."""
    spread, steps = curve.spread(), curve.steps.tolist()
    first, last = (steps[0], steps[-1]) if steps else (0.0, 1.0)
    y = _scale(spread or (0.0, 1.0), log_helps(curve))
    x = lambda step: LEFT + (step - first) / ((last - first) or 1.0) * (WIDTH - LEFT - 8)  # noqa: E731
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" class="curve" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">']
    for value in dict.fromkeys(spread or ()):
        parts.append(f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" class="axis end" text-anchor="end" {TEXT}>{narrow(value)}</text>')
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 8}" y1="{y(value):.1f}" y2="{y(value):.1f}" class="grid" stroke="{PALE}"/>')
    parts.append(f'<text x="{LEFT}" y="{HEIGHT - 4}" class="axis" {TEXT}>step {short(first)}</text>')
    parts.append(f'<text x="{WIDTH - 8}" y="{HEIGHT - 4}" class="axis end" text-anchor="end" {TEXT}>{short(last)}</text>')
    parts += _lines(curve, x, y)
    down = f'y1="0" y2="{HEIGHT - BOTTOM}"'
    if onset is not None and first <= onset <= last:
        parts.append(f'<line class="onset" x1="{x(onset):.1f}" x2="{x(onset):.1f}" {down} stroke="{GREY}" stroke-dasharray="4 3"/>')
    parts += _broken([x(s) for s in curve.broken[:MOST_BROKEN, 0].tolist()], down)
    return "".join([*parts, "</svg>"])


def _broken(places: list[float], down: str) -> Iterable[str]:
    """A red line at each place; of many that can't be told apart the edges, and what lies between them shaded."""
    runs: list[list[float]] = []
    for at in sorted(places):
        if runs and at - runs[-1][-1] <= CLOSE:
            runs[-1].append(at)
        else:
            runs.append([at])
    for run in runs:
        if len(run) >= 4:
            wide = f'x="{run[0]:.1f}" width="{run[-1] - run[0]:.1f}" y="0" height="{HEIGHT - BOTTOM}"'
            yield f'<rect class="stretch" {wide} fill="{RED}" fill-opacity="0.16"/>'
            run = [run[0], run[-1]]
        for at in dict.fromkeys(f"{p:.1f}" for p in run):
            yield f'<line class="broken" x1="{at}" x2="{at}" {down} stroke="{RED}" stroke-width="2"/>'


def _lines(curve: Curve, x: Callable[[float], float], y: Callable[[float], float]) -> Iterable[str]:
    """Band and mean of each stretch; a stretch of one point is a dot, with a bar from its low to its high."""
    columns = list(zip(curve.steps.tolist(), curve.low.tolist(), curve.mean.tolist(), curve.high.tolist()))
    for stretch in _stretches(columns):
        at = lambda row, n: f"{x(row[0]):.1f},{y(row[n]):.1f}"  # noqa: E731
        if not curve.raw:
            edge = " ".join([*(at(r, 3) for r in stretch), *(at(r, 1) for r in reversed(stretch))])
            yield f'<polygon class="band" points="{edge}" fill="{BLUE}" fill-opacity="0.2" stroke="{BLUE}" stroke-opacity="0.6" stroke-width="0.7"/>'
        if len(stretch) == 1:
            yield f'<circle class="dot" cx="{x(stretch[0][0]):.1f}" cy="{y(stretch[0][2]):.1f}" r="2.5" fill="{BLUE}"/>'
        else:
            yield f'<polyline class="mean" points="{" ".join(at(r, 2) for r in stretch)}" fill="none" stroke="{BLUE}" stroke-width="1.5"/>'


def _stretches(rows: Sequence[tuple[float, ...]]) -> Iterable[list[tuple[float, ...]]]:
    """Neighbours that are finite: a line never crosses a gap."""
    held: list[tuple[float, ...]] = []
    for row in rows:
        if math.isfinite(row[2]):
            held.append(row)
        elif held:
            yield held
            held = []
    if held:
        yield held


def _scale(spread: tuple[float, float], log: bool) -> Callable[[float], float]:
    turn = math.log10 if log else float
    low, high = turn(spread[0]), turn(spread[1])
    room = HEIGHT - BOTTOM - TOP
    if not high > low:
        return lambda v: HEIGHT - BOTTOM - room / 2
    return lambda v: HEIGHT - BOTTOM - (turn(v) / 2 - low / 2) / (high / 2 - low / 2) * room  # halves: the range itself may overflow


def bars(counts: Sequence[float], labels: Sequence[str], title: str, width: int = 220, height: int = 56) -> str:
    """A small histogram: below stand the two ends, or each value where there are few; the bar of a value says its share on hovering."""
    most, total = max([*counts, 0]) or 1.0, math.fsum(counts) or 1.0
    each, room = width / max(len(counts), 1), height - 14
    own = len(labels) == len(counts)  # a label for each bar, or for both ends
    shapes = []
    for i, c in enumerate(counts):
        told = f"<title>{escape(labels[i])}: {c / total:.1%}</title>" if own else ""
        at = f'x="{i * each:.1f}" y="{room * (1 - c / most):.1f}" width="{max(each - 1, 0.5):.1f}" height="{room * c / most:.1f}"'
        shapes.append(f'<rect class="bar" {at} fill="{BLUE}">{told}</rect>')
    if own and len(labels) <= 4:
        marks = [f'<text class="axis" x="{i * each:.1f}" y="{height - 2}" {TEXT}>{escape(t[: 34 // len(labels)])}</text>' for i, t in enumerate(labels)]
    else:
        marks = [f'<text class="axis" x="0" y="{height - 2}" {TEXT}>{escape(labels[0])}</text>',
                 f'<text class="axis end" text-anchor="end" x="{width}" y="{height - 2}" {TEXT}>{escape(labels[-1])}</text>'] if labels else []  # fmt: skip
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="bars" width="{width}" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">'
    return "".join([head, *shapes, *marks, "</svg>"])


def matrix(names: Sequence[str], values: Sequence[Sequence[float]], title: str) -> str:
    """A square of correlations: blue for what rises together, red for what falls; each square says its numbers on hovering."""
    each, left = 16, 8 + 7 * min(24, max(map(len, names), default=0))
    size = each * len(names)
    box = f'width="{left + size}" viewBox="0 0 {left + size} {size}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" class="matrix" {box} role="img" aria-label="{escape(title)}">']
    for row, name in enumerate(names):
        parts.append(
            f'<text x="{left - 6}" y="{row * each + 12}" text-anchor="end" class="axis" {TEXT}>{escape(name if len(name) <= 24 else name[:23] + "…")}</text>'
        )
        for column, value in enumerate(values[row]):
            fill, strength = (BLUE if value >= 0 else RED), min(1.0, abs(value)) if math.isfinite(value) else 0.0
            told = f"<title>{escape(name)} and {escape(names[column])}: {short(value)}</title>"
            at = f'x="{left + column * each}" y="{row * each}" width="{each - 1}" height="{each - 1}"'
            parts.append(f'<rect {at} fill="{fill}" fill-opacity="{strength:.2f}" stroke="{PALE}" stroke-width="0.5">{told}</rect>')
    return "".join([*parts, "</svg>"])


def histogram(
    quantiles: Sequence[float], top: Sequence[tuple[Any, int]], between: tuple[float, float] | None = None, say: Callable[[Any], str] = short
) -> tuple[list[float], list[str]]:
    """Counts and labels of a Profile: shares of equal bins between its kept quantiles (or two given ends), or its most frequent values."""
    low, high = between or ((quantiles[0], quantiles[-1]) if quantiles else (0.0, 0.0))
    if quantiles and high > low:
        width = high / BINS - low / BINS
        below = [0.0, *(_share_below(quantiles, low + n * width) for n in range(1, BINS)), 1.0]
        return [b - a for a, b in zip(below, below[1:])], [say(low), say(high)]
    return [float(n) for _, n in top[:BINS]], [str(v)[:14] for v, _ in top[:BINS]]


def histograms(
    given: Sequence[tuple[Sequence[float], Sequence[tuple[Any, int]], int]], say: Callable[[Any], str] = short
) -> list[tuple[list[float], list[str]]]:
    """Of (quantiles, top, distinct) of one column in several tables: counts over the same bins or the same values, so that they can be compared."""
    seen: dict[Any, int] = {}
    for _, top, _ in given:
        for value, n in top:
            seen[value] = seen.get(value, 0) + n
    whole = all(len(top) == distinct for _, top, distinct in given)  # every value is known with its count
    if seen and (whole and len(seen) <= BINS or not any(q for q, _, _ in given)):
        numbers = all(isinstance(v, (int, float)) for v in seen)
        values = sorted(seen) if numbers else sorted(seen, key=lambda v: -seen[v])[:BINS]
        counts = [dict(top) for _, top, _ in given]
        if all(len(c) == distinct or c.keys() >= set(values) for c, (_, _, distinct) in zip(counts, given)):  # what is cut off is not zero
            return [([float(c.get(v, 0)) for v in values], [say(v)[:14] for v in values]) for c in counts]
    ends = [e for q, _, _ in given if q for e in (q[0], q[-1])]
    return [histogram(q, top, (min(ends), max(ends)) if ends else None, say) for q, top, _ in given]


def _share_below(quantiles: Sequence[float], value: float) -> float:
    """Where a value lies between the kept quantiles, from 0 to 1; of several that are equal the last counts."""
    if not quantiles[0] <= value <= quantiles[-1]:
        return float(value > quantiles[-1])
    after = next((n for n, q in enumerate(quantiles) if q > value), len(quantiles) - 1)
    low, high = quantiles[after - 1], quantiles[after]
    return (after - 1 + (value - low) / (high - low if high > low else 1.0)) / (len(quantiles) - 1)


def table(rows: Iterable[Sequence[Any]], head: Sequence[str] = ()) -> str:
    """Rows as HTML, escaped."""
    line = lambda cells, tag: "<tr>" + "".join(f'<{tag} style="text-align:left">{escape(short(c))}</{tag}>' for c in cells) + "</tr>"  # noqa: E731
    return f"<table>{line(head, 'th') if head else ''}{''.join(line(r, 'td') for r in rows)}</table>"
