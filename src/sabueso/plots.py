"""Plots of a run's evidence by Matplotlib, for people who plot: each makes a figure and gives it back; nothing is shown or saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .curves import heat, reduced
from .errors import UsageError
from .events import Series, Summary
from .profiles import Profile

BUCKETS = 2000
RED = "#b3261e"


def figure(wide: float = 8.0, high: float = 3.5) -> tuple[Any, Any]:
    """A figure that no window and no global state knows, with its axes. Raises UsageError without Matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError("Matplotlib is not installed: pip install 'sabueso[plot]' brings it") from error
    made = Figure(figsize=(wide, high), layout="constrained")
    return made, made.subplots()


def curves(series: Sequence[Series], title: str, log: bool | None = None) -> Any:
    """Series by step: the mean with its band; red lines where a value is not finite."""
    made, axes = figure()
    for s in series:
        draw(axes, s, label(s) or s.name)
    if log or (log is None and _log_helps(series)):
        axes.set_yscale("log")
    axes.set(xlabel="step", title=title)
    if len(series) > 1:
        axes.legend(fontsize="small")
    return made


def draw(axes: Any, series: Series, name: str) -> None:
    """One series on axes."""
    curve = reduced(series.steps, series.values, BUCKETS)
    (line,) = axes.plot(curve.steps, curve.mean, label=name + (f" ({curve.nonfinite} not finite)" if curve.nonfinite else ""), linewidth=1.2)
    if not curve.raw:
        axes.fill_between(curve.steps, curve.low, curve.high, alpha=0.25, color=line.get_color(), linewidth=0)
    axes.vlines(curve.broken[:, 0], 0, 1, transform=axes.get_xaxis_transform(), color=RED, linewidth=1)


def layers(series: Sequence[Series], title: str) -> Any:
    """A layer x step map; red where a value is not finite, white where nothing was measured."""
    held = heat(title, [(label(s) or s.name, s.steps, s.values) for s in series], 300, 2000)
    made, axes = figure(9.0, min(12.0, 1.5 + 0.22 * len(held.labels)))
    with np.errstate(all="ignore"):
        shown = np.log10(np.where(held.values > 0, held.values, np.nan)) if held.log else held.values
    image = axes.imshow(np.ma.masked_invalid(shown), aspect="auto", interpolation="nearest")
    axes.imshow(np.ma.masked_where(~held.broken, np.ones(held.broken.shape)), aspect="auto", interpolation="nearest", cmap="autumn", vmin=1, vmax=2)
    made.colorbar(image, ax=axes, label="log10" if held.log else "")
    axes.set_yticks(range(len(held.labels)), held.labels, fontsize="x-small")
    ticks = np.unique(np.linspace(0, max(len(held.steps) - 1, 0), 8).astype(int))
    axes.set_xticks(ticks, [str(int(held.steps[t])) for t in ticks])
    axes.set(xlabel="step", title=title)
    return made


def distributions(profiles: Sequence[Summary], column: str) -> Any:
    """The distribution of a column in each table that has it: between the kept quantiles, or by its most frequent values."""
    made, axes = figure()
    found = [(p.place.tensor or p.name, Profile.of(p.value)) for p in profiles]
    for name, profile in found:
        said = (
            f"{name}: {profile.count} rows"
            + (f", {profile.missing} missing" if profile.missing else "")
            + (f", {profile.nonfinite} not finite" if profile.nonfinite else "")
        )
        if profile.quantiles:
            axes.plot(profile.quantiles, np.linspace(0, 1, len(profile.quantiles)), label=said)
        elif profile.top:
            axes.plot([str(v)[:20] for v, _ in profile.top], [n / max(profile.count, 1) for _, n in profile.top], "o", label=said)
    axes.set(title=column, ylabel="share of rows at or below" if any(p.quantiles for _, p in found) else "share of rows")
    axes.legend(fontsize="small")
    return made


def label(series: Series) -> str:
    """What tells a series from others of its name."""
    place = series.place
    return place.tensor or place.module or place.estimator or ""


def _log_helps(series: Sequence[Series]) -> bool:
    held = np.concatenate([s.values[np.isfinite(s.values)] for s in series]) if series else np.zeros(0)
    return bool(len(held) and held.min() > 0 and held.max() > 1e3 * held.min())
