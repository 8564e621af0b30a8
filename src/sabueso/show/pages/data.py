"""Data: what became of the rows, the columns with their distributions side by side, and the rows that findings name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from ... import drawings
from ...diagnoses import Diagnosis
from ...events import Fact, Summary
from ...places import Place
from ...profiles import Profile
from .. import phrases
from . import svg

MOST_COLUMNS, MOST_SOURCES, MOST_STEPS, MOST_RELATED = 80, 6, 60, 4
STRONG = 0.5  # correlations from here on are told in words
FLOW: dict[str, Callable[[Fact], str]] = {
    "table_read": lambda f: f"{f.get('table')}: {_n(f.get('rows'))} rows, {len(f.get('columns') or ())} columns by {f.get('how')}",
    "bad_lines": lambda f: f"{f.get('lost')} lines of the file left out by the reader",
    "table_join": lambda f: f"{_n(f.get('left_rows'))} with {_n(f.get('right_rows'))} rows on {phrases.listing(f.get('on') or [])}"
    f" ({f.get('how')}): {_n(f.get('rows'))} rows; without partner {_n(f.get('unmatched_left'))} left, {_n(f.get('unmatched_right_keys'))} keys right",
    "rows_dropped": lambda f: f"{f.get('how')}: {_n(f.get('before'))} rows before, {_n(f.get('after'))} after",
    "coerced": lambda f: f"{f.get('column')}: {_n(f.get('lost'))} texts became gaps",
    "fill_lost": lambda f: f"gaps of {f.get('column')} filled on a copy that nothing holds",
    "split_drawn": lambda f: f"split into {' and '.join(_n(r) for r in f.get('rows') or ())} rows, {'seeded' if f.get('seeded') else 'not seeded'}",
    "table_used": lambda f: f"{f.get('estimator')} learns from {_n(f.get('rows'))} rows" + (f", {len(f['columns'])} named columns" if f.get("columns") else ""),
    "loader_use": lambda f: f"a loader gives {_n(f.get('rows'))} rows in batches of {_n(f.get('batch_size'))}",
    "row_use": lambda f: f"{f.get('model')} is judged on {_n(f.get('eval_rows'))} rows; {_n(f.get('shared'))} of them are among the"
    f" {_n(f.get('train_rows'))} it learnt from",
}  # fmt: skip
WORDS = {
    "table_read": "read", "bad_lines": "read", "table_join": "join", "rows_dropped": "drop", "coerced": "convert", "fill_lost": "fill",
    "split_drawn": "split", "table_used": "fit", "loader_use": "feed", "row_use": "judge",
}  # fmt: skip


def _n(value: Any) -> str:
    return phrases.number(value) if value is not None else "?"


def screen(facts: Callable[[str], list[Fact]], profiles: Iterable[Summary], diagnosis: Diagnosis, cwd: str, most: int = MOST_COLUMNS) -> dict[str, Any]:
    """All that the template shows of the data."""
    guilty = guilty_columns(diagnosis)
    flow = sorted((f for name in FLOW for f in facts(name)), key=lambda f: (f.time, f.order))
    columns, sources, left_out = side_by_side(profiles, guilty, most)
    compared = [pair for f in facts("inputs") if (pair := beside_fit(f, guilty, cwd))["rows"]]
    rows = [{"check": f.check, "said": " · ".join(phrases.where(f.place)) + f": {f.says}"} for f in diagnosis.findings if f.place.row is not None]
    return {
        "flow": [{"what": WORDS[f.name], "said": FLOW[f.name](f), "spot": spot(f.place, cwd)} for f in flow[:MOST_STEPS]],
        "columns": columns, "sources": sources, "left_out": left_out, "compared": compared[:20], "rows": rows,
        "related": [related(f) for f in facts("correlation")[:MOST_RELATED]],
        "empty": not (flow or columns or compared),
    }  # fmt: skip


def related(fact: Fact) -> dict[str, Any]:
    """The correlations of one table, the strongest pairs in words."""
    names, values = fact["columns"], fact["values"]
    pairs = sorted(((abs(values[i][j]), i, j) for i in range(len(names)) for j in range(i)), reverse=True)
    strong = [f"{names[j]} and {names[i]} {phrases.number(values[i][j])}" for size, i, j in pairs[:5] if size >= STRONG]
    return {"table": fact["table"], "svg": svg.matrix(names, values, f"correlations of {fact['table']}"), "strong": strong}


def guilty_columns(diagnosis: Diagnosis) -> set[str]:
    """The columns that culprits name."""
    named = [f.place.column for f in diagnosis.culprits if f.place.column is not None]
    return {str(c) for n in named for c in (n if isinstance(n, list) else [n])}


def about(profiles: Iterable[Summary], diagnosis: Diagnosis, most: int = 3) -> tuple[list[dict[str, Any]], list[str]]:
    """The distributions of the columns that the first culprit names, and the tables that have them."""
    first = diagnosis.culprits[:1]
    guilty = {str(c) for f in first if f.place.column is not None for c in (f.place.column if isinstance(f.place.column, list) else [f.place.column])}
    columns, sources, _ = side_by_side([p for p in profiles if p.value.get("name") in guilty], guilty, most)
    return columns, sources


def spot(place: Place, cwd: str) -> str:
    """`prep.py:12`, relative to where the program ran."""
    if place.file and cwd and place.file.startswith(cwd.rstrip(os.sep) + os.sep):
        place = place.but(file=os.path.relpath(place.file, cwd))
    return phrases.line(place)


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
    made = [{"name": n, "guilty": n in guilty, "cells": [cell(held[n].get(s), n) for s in sources]} for n in names[:most]]
    return made, list(sources), max(0, len(names) - most)


def cell(profile: Profile | None, name: str) -> dict[str, Any] | None:
    """One distribution, what it is in words, and what is odd about it."""
    if profile is None:
        return None
    counts, labels = drawings.histogram(profile.quantiles, profile.top)
    said = f"{phrases.number(profile.count)} rows · {profile.dtype}"
    said += (
        f" · mean {phrases.number(profile.mean)}" if profile.mean is not None else f" · {phrases.number(profile.distinct)} distinct" if profile.distinct else ""
    )
    odd = [f"{profile.missing_share:.1%} missing"] if profile.missing else []
    odd += [f"{phrases.number(profile.nonfinite)} not finite"] if profile.nonfinite else []
    return {"svg": svg.bars(counts, labels, f"distribution of {name}") if counts else "", "said": said, "odd": ", ".join(odd)}


def beside_fit(fact: Fact, guilty: set[str], cwd: str) -> dict[str, Any]:
    """Columns given to a model that stand out beside those of its fit."""
    rows = []
    for c in fact.get("columns") or ():
        ref, cur = c.get("ref") or {}, c.get("cur") or {}
        cells = [side.get(key) for key in ("mean", "sd", "missing") for side in (ref, cur)]
        rows.append((str(c.get("name")), cells, str(c.get("name")) in guilty))
    fit = f"fit of {fact.get('fit_rows')} rows"
    return {"title": f"{fact.get('model')}.{fact.get('method')}: {fact.get('rows')} rows beside its {fit}", "spot": spot(fact.place, cwd), "rows": rows,
            "heads": ["mean at fit", "mean now", "sd at fit", "sd now", "missing at fit", "missing now"]}  # fmt: skip
