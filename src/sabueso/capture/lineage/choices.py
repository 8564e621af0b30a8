"""At the program's end: parts that were split off and never used, and rows by which a model was chosen and then reported."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from . import sets, sight
from .uses import Fit, place, unique

LEAST_MODELS = 5  # fitted on the same rows and compared on the same others, before one may be called chosen


def tell(uses: Any) -> None:
    """Record the facts `held_out` and `choice`."""
    idle = unused_parts(uses)
    for part in idle:
        uses.recorder.fact("held_out", {k: part[k] for k in ("rows", "name", "used", "of")}, stage="evaluate", file=part["file"], line=part["line"])
    for told in choices(uses, idle):
        uses.recorder.fact("choice", told, stage="evaluate", estimator=told["model"], file=told["file"], line=told["line"])


def unused_parts(uses: Any) -> list[dict[str, Any]]:
    """Parts of a split of which no row was fitted on, judged or transformed, though the other part was fitted on."""
    touched = [f for f in uses.history] + [unique(k) for _, k, *_ in uses.evaluations] + [t for t in uses.touched]
    found = []
    for left, right, origin in uses.lineage.parts.get("splits", ()):
        for side, part in enumerate((left, right)):
            mine, other = unique(part), unique((right, left)[side])
            used = any(sets.meet(t, mine) for t in touched)
            if not used and any(len(sets.common(f, other)) > 0.5 * len(f) > 0 for f in uses.history):
                file, line = origin[0][:2] if origin else (None, None)
                found.append({"rows": part.rows, "name": target_name(file, line, side) or "a part", "used": False, "of": part.rows + (right, left)[side].rows,
                              "file": file, "line": line, "ids": mine})  # fmt: skip
    return found


def target_name(file: str | None, line: int | None, side: int) -> str | None:
    """The name that the first array's part was given: `a, b, c, d = train_test_split(..)`."""
    for at, _, node, _ in sight._assignments(file) if file else ():
        if line is not None and at <= line <= getattr(node, "end_lineno", at) and isinstance(node, ast.Assign):
            targets = node.targets[0]
            if isinstance(targets, (ast.Tuple, ast.List)) and len(targets.elts) > side and isinstance(targets.elts[side], ast.Name):
                return targets.elts[side].id  # type: ignore[attr-defined]
    return None


def beside(uses: Any, mine: np.ndarray) -> dict[str, Any] | None:
    """The other part of the split that gave these rows, if it has a name and nobody used it."""
    touched = [*uses.history, *(unique(k) for _, k, *_ in uses.evaluations), *uses.touched]
    for left, right, origin in uses.lineage.parts.get("splits", ()):
        for side, part in enumerate((left, right)):
            ids, other = unique(part), unique((right, left)[side])
            name = target_name(*(origin[0][:2] if origin else (None, None)), side)
            if name and name[0] != "_" and np.array_equal(other, mine) and not any(sets.meet(t, ids) for t in touched):
                return {"rows": part.rows, "name": name}
    return None


def choices(uses: Any, idle: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows on which many models, fitted on the same others, were compared, and on which one of them was then judged again."""
    by_rows: dict[int, list[tuple[int, Fit, Any, Any]]] = {}
    for at, (fit, known, signature, _, origin) in enumerate(uses.evaluations):
        if not sets.meet(fit.ids, unique(known)):
            by_rows.setdefault(signature, []).append((at, fit, known, origin))
    found = []
    for signature, judged in by_rows.items():
        again = judged_again(judged)
        if again is None:
            continue
        fit, compared, known, origin, first = again
        mine = unique(known)
        others = {s for f, k, s, *_ in uses.evaluations if f is fit and s != signature and not sets.meet(unique(k), mine)}
        spare = next((p for p in idle if not sets.meet(p["ids"], mine)), None) or beside(uses, mine)
        found.append({
            "model": fit.name, "compared": compared, "rows": len(mine), "elsewhere": len(others), "evaluations": len(judged),
            "spare": spare["name"] if spare else None, "spare_rows": spare["rows"] if spare else 0, "file": first[0], "line": first[1],
            "report_line": place(origin),
        })  # fmt: skip
    return found


def judged_again(judged: list[tuple[int, Fit, Any, Any]]) -> tuple[Fit, int, Any, Any, list[Any]] | None:
    """The model that was judged on the same rows again, or fitted again as before, once at least five of its kind had been compared on them."""
    seen: dict[int, int] = {}
    kinds: dict[Any, int] = {}
    for _at, fit, known, origin in judged:
        alike = len({n for n, s in seen.items() if s == signature_of(fit)})
        kind = (signature_of(fit), fit.extra.get("params"), b"" if fit.known.hashes is None else fit.known.hashes[:4].tobytes())  # of the same inputs too
        again = fit.number in seen or (kind[1] is not None and kinds.get(kind, fit.number) != fit.number)
        latest = max(seen, default=-1)
        if again and alike >= LEAST_MODELS and not (fit.number == latest):
            return fit, alike, known, origin, place(judged[0][3])
        seen[fit.number] = signature_of(fit)
        kinds.setdefault(kind, fit.number)
    return None


def signature_of(fit: Fit) -> int:
    """Models of one kind on the same rows are rivals."""
    return hash((fit.name, fit.ids.tobytes()))
