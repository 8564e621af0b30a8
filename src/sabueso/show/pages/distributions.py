"""Distributions side by side: one column in several tables, or at the fit of a model and in what it was given later, over the same axis."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import Any

from ... import drawings
from ...events import Fact, Summary
from ...places import Place
from ...profiles import Profile
from .. import phrases
from . import svg

MOST_SOURCES = 6
MISSING_MORE = 0.02  # a share of gaps so much higher than at the fit is shown in red
Shape = tuple[list[float], list[tuple[Any, int]], int]  # quantiles, values with their counts, how many distinct values there are


def spot(place: Place, cwd: str) -> str:
    """`prep.py:12`, relative to where the program ran."""
    if place.file and cwd and place.file.startswith(cwd.rstrip(os.sep) + os.sep):
        place = place.but(file=os.path.relpath(place.file, cwd))
    return phrases.line(place)


def day(seconds: Any) -> str:
    """A time that is held as seconds since 1970."""
    try:
        return time.strftime("%Y-%m-%d", time.gmtime(seconds))
    except (OverflowError, ValueError, OSError, TypeError):
        return drawings.short(seconds)


def side_by_side(profiles: Iterable[Summary], guilty: set[str], most: int) -> tuple[list[dict[str, Any]], list[str], int]:
    """(columns, sources, how many are left out): a cell is what a column looked like in one table or part."""
    held: dict[str, dict[str, Profile]] = {}
    sources: dict[str, None] = {}
    for summary in profiles:
        profile = Profile.of(summary.value)
        name = profile.name or str(summary.place.column or "")
        source = " ".join(
            p for p in (summary.place.tensor or summary.place.estimator or summary.name, spot(summary.place, os.path.dirname(summary.place.file or ""))) if p
        )
        if name and profile.count and (source in sources or len(sources) < MOST_SOURCES):
            sources[source] = None
            held.setdefault(name, {})[source] = profile
    names = sorted(held, key=lambda n: n not in guilty)
    made = [{"name": n, "guilty": n in guilty, "cells": _cells(n, [held[n].get(s) for s in sources])} for n in names[:most]]
    return made, list(sources), max(0, len(names) - most)


def _cells(name: str, profiles: list[Profile | None]) -> list[dict[str, Any] | None]:
    """What one column looked like in each source that has it."""
    held = [p for p in profiles if p is not None]
    drawn = iter(drawings.histograms([(p.quantiles, p.top, p.distinct) for p in held], day if all(p.kind == "time" for p in held) else drawings.short))
    return [p and _cell(p, name, next(drawn)) for p in profiles]


def _cell(profile: Profile, name: str, drawn: tuple[list[float], list[str]]) -> dict[str, Any]:
    """One distribution, what it is in words, and what is odd about it."""
    said = f"{phrases.number(profile.count)} rows · {profile.dtype}"
    said += (
        f" · mean {day(profile.mean) if profile.kind == 'time' else phrases.number(profile.mean)}"
        if profile.mean is not None
        else f" · {phrases.number(profile.distinct)} distinct"
        if profile.distinct
        else ""
    )
    odd = [f"{profile.missing_share:.1%} missing"] if profile.missing else []
    odd += [f"{phrases.number(profile.nonfinite)} not finite"] if profile.nonfinite else []
    return {"svg": _drawn(name, drawn), "said": said, "odd": ", ".join(odd)}


def _drawn(name: str, drawn: tuple[list[float], list[str]]) -> Any:
    return svg.bars(*drawn, f"distribution of {name}") if any(drawn[0]) else ""


# ---- what a model was given, beside its fit


def beside_fit(fact: Fact, guilty: set[str], cwd: str) -> dict[str, Any]:
    """Columns given to a model that stand out beside those of its fit; as a table of distributions, the guilty ones first."""
    columns = sorted(fact.get("columns") or (), key=lambda c: str(c.get("name")) not in guilty)
    fit_line = spot(Place(file=fact.get("fit_file"), line=fact.get("fit_line")), cwd)
    from_row = any("moved" in c for c in columns)
    rows = [
        {"name": str(c.get("name")), "guilty": str(c.get("name")) in guilty, "cells": _sides(c)[: 3 if from_row else 2]}
        for c in columns
    ]  # fmt: skip
    heads = [f"at its fit {fit_line}".rstrip(), "given later", *(["where they moved"] if from_row else [])]
    title = f"{fact.get('model')}.{fact.get('method')}: {phrases.number(fact.get('rows'))} rows beside its fit of {phrases.number(fact.get('fit_rows'))}"
    return {"title": title, "spot": spot(fact.place, cwd), "columns": rows, "sources": heads}


def _sides(column: dict[str, Any]) -> list[dict[str, Any] | None]:
    """One column at the fit, later, and in the rows where it moved away."""
    name, fit, later, moved = str(column.get("name")), column.get("ref") or {}, column.get("cur") or {}, column.get("moved")
    drawn = drawings.histograms([*(_shape(column, k) for k in ("ref", "cur")), *([(moved["grid"], [], -1)] if moved else [])])
    usual = _share(fit)
    sides: list[dict[str, Any] | None] = [{"svg": _drawn(name, d), "said": _moments(side), "odd": _gaps(side, usual)} for side, d in zip((fit, later), drawn)]
    sides[1]["odd"] = ", ".join(p for p in (sides[1]["odd"], _new(column)) if p)  # type: ignore[index]
    told = moved and {"svg": _drawn(name, drawn[2]), "said": f"from row {moved['row']} on: {phrases.number(moved['count'])} rows · median "
                      + phrases.number(moved["grid"][10]), "odd": ""}  # fmt: skip
    return [*sides, told or None]


def _shape(column: dict[str, Any], side: str) -> Shape:
    """What `drawings.histograms` takes: of levels and few values their counts, else the quantiles."""
    if column.get("levels"):
        top = [(v, n) for v, n in zip(column["levels"], column[f"{side}_counts"]) if n]
        return [], top, len(top)
    top = [(v, n) for v, n in column.get(f"{side}_few") or ()]
    return (column.get(side) or {}).get("grid") or [], top, len(top) or -1


def _moments(side: dict[str, Any]) -> str:
    """Rows, mean and deviation."""
    said = [f"{phrases.number(side.get('count'))} rows"]
    said += [f"mean {phrases.number(side['mean'])}"] if side.get("mean") is not None else []
    return " · ".join([*said, *([f"sd {phrases.number(side['sd'])}"] if side.get("sd") is not None else [])])


def _share(side: dict[str, Any]) -> float:
    return (side.get("missing") or 0) / (side.get("count") or 1)


def _gaps(side: dict[str, Any], usual: float) -> str:
    return f"{_share(side):.1%} missing" if _share(side) > usual + MISSING_MORE else ""


def _new(column: dict[str, Any]) -> str:
    """Values that the fit never saw."""
    new = column.get("new") or {}
    return f"new: {phrases.listing(list(new))} in {phrases.number(column.get('new_count'))} rows" if new else ""
