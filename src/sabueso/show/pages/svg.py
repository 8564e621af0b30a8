"""Charts drawn on the server, for a page without scripts, a notebook, and the moment before the scripts have drawn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup, escape

from ..phrases import number

if TYPE_CHECKING:
    from ...curves import Curve

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 560, 150, 54, 18, 8


def log_helps(curve: Curve) -> bool:
    """Is the range over three decades, all of it positive?"""
    spread = curve.spread()
    return spread is not None and spread[0] > 0 and spread[1] > 1e3 * spread[0]


def line_chart(curve: Curve, title: str, onset: int | None = None) -> Markup:
    """Mean with its band of low and high; a red line wherever a value is not finite, a grey one at the onset."""
    log, spread = log_helps(curve), curve.spread()
    first, last = (float(curve.steps[0]), float(curve.steps[-1])) if len(curve.steps) else (0.0, 1.0)
    y = _scale(spread or (0.0, 1.0), log)
    x = lambda step: LEFT + (step - first) / ((last - first) or 1.0) * (WIDTH - LEFT - 8)  # noqa: E731
    parts = [f'<svg class="curve" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">']
    for value in dict.fromkeys(spread or ()):
        parts.append(f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" class="axis end">{escape(number(value))}</text>')
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 8}" y1="{y(value):.1f}" y2="{y(value):.1f}" class="grid"/>')
    parts.append(f'<text x="{LEFT}" y="{HEIGHT - 4}" class="axis">step {number(int(first))}</text>')
    parts.append(f'<text x="{WIDTH - 8}" y="{HEIGHT - 4}" class="axis end">{number(int(last))}</text>')
    for stretch in _stretches(curve):
        if not curve.raw:
            edge = [f"{x(curve.steps[i]):.1f},{y(curve.high[i]):.1f}" for i in stretch] + [
                f"{x(curve.steps[i]):.1f},{y(curve.low[i]):.1f}" for i in stretch[::-1]
            ]
            parts.append(f'<polygon class="band" points="{" ".join(edge)}"/>')
        if len(stretch) == 1:
            parts.append(f'<circle class="dot" cx="{x(curve.steps[stretch[0]]):.1f}" cy="{y(curve.mean[stretch[0]]):.1f}" r="2.5"/>')
        else:
            parts.append(f'<polyline class="mean" points="{" ".join(f"{x(curve.steps[i]):.1f},{y(curve.mean[i]):.1f}" for i in stretch)}"/>')
    if onset is not None and first <= onset <= last:
        parts.append(f'<line class="onset" x1="{x(onset):.1f}" x2="{x(onset):.1f}" y1="0" y2="{HEIGHT - BOTTOM}"/>')
    parts += [f'<line class="broken" x1="{x(s):.1f}" x2="{x(s):.1f}" y1="0" y2="{HEIGHT - BOTTOM}"/>' for s in curve.broken[:400, 0]]
    return Markup("".join([*parts, "</svg>"]))


def _scale(spread: tuple[float, float], log: bool):  # type: ignore[no-untyped-def]
    turn = (lambda v: math.log10(v)) if log else (lambda v: v)
    low, high = turn(spread[0]), turn(spread[1])
    room = HEIGHT - BOTTOM - TOP
    middle = HEIGHT - BOTTOM - room / 2
    return lambda v: middle if not high > low else HEIGHT - BOTTOM - (turn(v) / 2 - low / 2) / (high / 2 - low / 2) * room


def _stretches(curve: Curve) -> list[np.ndarray]:
    """Indices of neighbours that are finite: a line never crosses a gap."""
    good = np.flatnonzero(np.isfinite(curve.mean))
    return [s for s in np.split(good, np.flatnonzero(np.diff(good) > 1) + 1) if len(s)]


def bars(counts: list[float], labels: list[str], title: str, width: int = 220, height: int = 56) -> Markup:
    """A small histogram; the first and last label stand below it."""
    most = max([*counts, 0]) or 1.0
    each = width / max(len(counts), 1)
    room, wide = height - 14, max(each - 1, 0.5)
    shape = '<rect class="bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>'
    shapes = [shape.format(i * each, room * (1 - c / most), wide, room * c / most) for i, c in enumerate(counts)]
    ends = (
        f'<text class="axis" x="0" y="{height - 2}">{escape(labels[0])}</text><text class="axis end" x="{width}" y="{height - 2}">{escape(labels[-1])}</text>'
    )
    return Markup(f'<svg class="bars" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">{"".join(shapes)}{ends if labels else ""}</svg>')
