"""Data: what became of the rows, the columns with their distributions side by side, and the rows that findings name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...diagnoses import Diagnosis
from ...events import Fact, Summary
from ...findings import Finding
from .. import phrases
from . import svg
from .distributions import beside_fit, side_by_side, spot

MOST_COLUMNS, MOST_STEPS, MOST_RELATED, MOST_ABOUT = 80, 60, 4, 3
BESIDE = ("deploy", "monitor")  # stages whose faults lie between a fit and what came later
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
    guilty = guilty_columns(*diagnosis.culprits)
    flow = sorted((f for name in FLOW for f in facts(name)), key=lambda f: (f.time, f.order))
    columns, sources, left_out = side_by_side(profiles, guilty, most)
    given = [pair for f in facts("inputs") if (pair := beside_fit(f, guilty, cwd))["columns"]]
    compared = list({(pair["title"], pair["spot"]): pair for pair in reversed(given)}.values())[::-1]  # candidates of a search look alike: the first
    rows = [{"check": f.check, "said": " · ".join(phrases.where(f.place)) + f": {f.says}"} for f in diagnosis.findings if f.place.row is not None]
    return {
        "flow": together([(WORDS[f.name], FLOW[f.name](f), spot(f.place, cwd)) for f in flow])[:MOST_STEPS],
        "columns": columns, "sources": sources, "left_out": left_out, "compared": compared[:20], "rows": rows,
        "related": [related(f) for f in facts("correlation")[:MOST_RELATED]],
        "empty": not (flow or columns or compared),
    }  # fmt: skip


def together(steps: list[tuple[str, str, str]]) -> list[dict[str, Any]]:
    """Steps in their order; the same again and again, as in a search, is told once with how often."""
    told: list[dict[str, Any]] = []
    for what, said, where in steps:
        if told and (told[-1]["what"], told[-1]["said"], told[-1]["spot"]) == (what, said, where):
            told[-1]["times"] += 1
        else:
            told.append({"what": what, "said": said, "spot": where, "times": 1})
    return told


def related(fact: Fact) -> dict[str, Any]:
    """The correlations of one table, the strongest pairs in words."""
    names, values = fact["columns"], fact["values"]
    pairs = sorted(((abs(values[i][j]), i, j) for i in range(len(names)) for j in range(i)), reverse=True)
    strong = [f"{names[j]} and {names[i]} {phrases.number(values[i][j])}" for size, i, j in pairs[:5] if size >= STRONG]
    return {"table": fact["table"], "svg": svg.matrix(names, values, f"correlations of {fact['table']}"), "strong": strong}


def guilty_columns(*culprits: Finding) -> set[str]:
    """The columns that culprits name."""
    named = [f.place.column for f in culprits if f.place.column is not None]
    return {str(c) for n in named for c in (n if isinstance(n, list) else [n])}


def about(profiles: Iterable[Summary], facts: Callable[[str], list[Fact]], diagnosis: Diagnosis, cwd: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The distributions of the columns that the first culprit names, and where: at the fit and later where a model met both, else by table."""
    first = next(iter(diagnosis.culprits), None)
    guilty = guilty_columns(first) if first else set()
    if not guilty:
        return [], []
    if first.stage in BESIDE:
        for pair in (beside_fit(f, guilty, cwd) for f in facts("inputs")):
            if named := [c for c in pair["columns"] if c["guilty"]]:
                return named[:MOST_ABOUT], pair["sources"]
    columns, sources, _ = side_by_side([p for p in profiles if p.value.get("name") in guilty], guilty, MOST_ABOUT)
    return columns, sources
