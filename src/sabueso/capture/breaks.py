"""Faults inside a table that the program reads innocently: labels rolled from some row on or permuted in one group, a unit that changes, numbers
that stand for missing. Each is told only if a least-squares fit of the label breaks there and the mended values restore it."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import agreement, odd_groups, pairs, summarise, tables
from .marks import mark_of
from .odd_groups import permuted
from .recorder import Recorder

MOST_ROWS = 20_000  # looked at whole, since shifts and changes live in the order of rows
MOST_WIDTH = 30
MOST_CLASSES, MOST_TARGETS = 21, 4  # of labels that are looked at class by class, and how many of them
REACH = 12  # rows that labels may be off
SMOOTH = 4.0  # times as much is left unexplained with labels of other rows; where a real delay grows and shrinks it is under 2
BLOCK = 100  # rows of the smallest stretch that a fit is made of
ALIVE = 150  # rows in which a column that sticks in most others is seen at work
SENSITIVE = ("Scaler", "Regression", "Ridge", "Lasso", "ElasticNet", "Neighbors", "SVR", "SVC", "MLP", "PCA", "Logistic", "SGD", "Normalizer")


def look(recorder: Recorder, whole: Any, x: Any, y: Any, estimator: Any, rows_of: Any) -> bool:
    """Judge the table that features and label of a fit were cut from; record the first `broken_rows` found. False if it can't be judged.

    `rows_of(recorder, whole, positions, label)` tells which rows as read these positions are, and of which table.
    """
    n = len(whole.labels)
    if not recorder.wants("broken_rows") or not pairs.LEAST <= n <= MOST_ROWS:
        return False
    targets = targets_of(whole.labels)
    used = _cut_from(whole, x, y) if targets else None
    if used is None or not recorder.once("broken_rows", n, whole.y_name, len(whole.columns)):
        return False
    found = first(whole, targets, _marks(whole, estimator))
    # rows that the program leaves out, or mends before the fit, do no harm
    if found is not None and np.isin(used, found["positions"]).mean() >= 0.5 * len(found["positions"]) / n:
        tell(recorder, whole, found, rows_of)
    return True


def tell(recorder: Recorder, whole: Any, found: dict[str, Any], rows_of: Any) -> None:
    """Record `broken_rows`."""
    if "by" in found:
        found["group"] = str({**whole.beside, **whole.columns}[found["by"]][found.pop("position")])
    bare = not summarise.is_frame(whole.frame)
    found["columns"] = [f"column {c}" if bare and c.isdigit() else c for c in found["columns"]]
    table, rows = rows_of(recorder, whole, found.pop("positions"), whole.y_name)
    source = next((s for s in reversed(tables.of(recorder).sources) if s.name == table), None)
    where = {"file": source.file, "line": source.line} if source else {}
    told = {**found, "labels": whole.y_name, "of": len(whole.labels), "table": table or whole.x_name, "row_numbers": rows}
    recorder.fact("broken_rows", told, **where)


def numbers_of(whole: Any) -> dict[str, np.ndarray]:
    """The columns of measurements."""
    return {c: v.astype(np.float64) for c, v in list(whole.columns.items())[:MOST_WIDTH] if v.dtype.kind in "iuf" and len(np.unique(v[:500])) > 8}


def _marks(whole: Any, estimator: Any) -> dict[str, float]:
    """By column the number that stands for missing in what an estimator that measures is given."""
    seen = measures(estimator)
    return {c: m for c, v in numbers_of(whole).items() if (m := mark_of(v)) is not None and m not in seen} if seen is not None else {}


def first(whole: Any, targets: list[np.ndarray], marks: dict[str, float]) -> dict[str, Any] | None:
    """The first fault found, the surest kinds first."""
    numbers, levels = numbers_of(whole), levels_of(whole.columns)
    if not numbers:
        return None
    for at, target in enumerate(targets):
        found = sentinels(numbers, levels, target, marks)
        main = len(targets) == 1 or not at and len(np.unique(target)) > 2
        if found is None and main:
            groups = levels_of({**whole.beside, **whole.columns})
            found = units(numbers, levels, target, groups)
            if found is None and len(np.unique(target)) > 20:
                found = rolled(numbers, levels, target) or permuted(numbers, groups, target)
        found = found or stuck(numbers, levels, target)
        if found is not None:
            return found
    return None


def targets_of(labels: np.ndarray) -> list[np.ndarray]:
    """The labels as numbers; of a few classes also each of the most frequent against all others."""
    codes = pairs.codes_of(labels)
    plain = [labels.astype(np.float64)] if labels.dtype.kind in "iuf" and np.isfinite(labels).all() else []
    if codes is not None and codes.max() == 1:
        return plain or [codes.astype(np.float64)]
    if codes is not None and 2 <= codes.max() < MOST_CLASSES:
        plain += [(codes == c).astype(np.float64) for c in np.argsort(-np.bincount(codes), kind="stable")[:MOST_TARGETS]]
    return plain


def _cut_from(whole: Any, x: Any, y: Any) -> np.ndarray | None:
    """Positions in the whole of some rows that are fitted; None if they are not there with the same values beside the same label."""
    names = list(whole.columns)[:12]
    key, wanted = tables.hashed(whole.labels), tables.hashed(summarise.values(y).reshape(-1))
    if len(wanted) != summarise.height(x):
        return None
    for at, name in enumerate(names):
        key = tables.mixed(key, tables.hashed(whole.columns[name]))
        wanted = tables.mixed(wanted, tables.hashed(summarise.column(x, name) if summarise.is_frame(x) else summarise.values(x[:, at])))
    order = np.argsort(key, kind="stable")
    at = np.minimum(np.searchsorted(key[order], wanted), len(key) - 1)
    positions = order[at]
    return positions if (key[positions] == wanted).mean() > 0.98 else None


def levels_of(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Columns of few levels, as codes."""
    found = {}
    for name, values in list(columns.items())[:MOST_WIDTH]:
        if values.dtype.kind in "OUSb" and len(set(map(str, values[:2000].tolist()))) <= 20:
            codes = np.unique(values.astype(str), return_inverse=True)[1]
            if 1 <= codes.max() < 20:
                found[name] = codes
    return found


def design(numbers: dict[str, np.ndarray], levels: dict[str, np.ndarray], curved: bool = True) -> np.ndarray:
    """Standardised numbers, their squares and products where they are few, levels one-hot, and a constant."""
    cols = []
    for v in numbers.values():
        v = np.where(np.isfinite(v), v, np.nan)
        mean, sd = (np.nanmean(v), np.nanstd(v)) if np.isfinite(v).any() else (0.0, 0.0)
        cols.append(np.nan_to_num((v - mean) / (sd or 1.0)))
    k = len(cols)
    if curved:
        cols += [cols[i] * cols[j] for i in range(k) for j in range(i, k) if k <= 6 or i == j]
    n = len(next(iter((numbers or levels).values())))
    cols += [(codes == c).astype(np.float64) for codes in levels.values() for c in range(1, codes.max() + 1)]
    return np.column_stack([np.ones(n), *cols])


def explained(x: np.ndarray, y: np.ndarray) -> float:
    """Adjusted share of the variance that least squares explains."""
    residual = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    free = max(len(y) - x.shape[1], 1)
    return 1 - float((residual**2).sum() / free / max(y.var(ddof=1), 1e-300))


def measures(estimator: Any) -> set[float] | None:
    """Does an estimator weigh the size of a number? If so, the numbers that it takes for missing itself."""
    held = _steps(estimator)
    if not any(s in type(e).__name__ for e in held for s in SENSITIVE) or any(
        type(e).__name__ == "FunctionTransformer" or not type(e).__module__.startswith(("sklearn", "xgboost", "lightgbm")) for e in held
    ):
        return None
    return {float(v) for e in held if isinstance(v := getattr(e, "missing_values", None), (int, float)) and v == v}


def sentinels(numbers: dict[str, np.ndarray], levels: dict[str, np.ndarray], y: np.ndarray, marks: dict[str, float]) -> dict[str, Any] | None:
    """Columns in which one number far from all others stands for what is missing: do they tell the label better without it?"""
    marks = {c: m for c, m in marks.items() if c in numbers}
    if not marks:
        return None
    mended = {c: np.where(v == marks[c], np.median(v[v != marks[c]]), v) if c in marks else v for c, v in numbers.items()}
    before, after = explained(design(numbers, levels, False), y), explained(design(mended, levels, False), y)
    if 1 - after > 0.9 * (1 - before) or after < 0.1:
        return None
    rows = np.flatnonzero(np.any([numbers[c] == m for c, m in marks.items()], axis=0))
    name, mark = next(iter(marks.items()))
    rest = numbers[name][numbers[name] != mark]
    return {"kind": "sentinel", "columns": list(marks), "value": mark, "count": len(rows), "low": float(rest.min()), "high": float(rest.max()),
            "before": round(before, 4), "after": round(after, 4), "positions": rows}  # fmt: skip


def _steps(estimator: Any, depth: int = 0) -> list[Any]:
    """The estimators that an estimator is made of."""
    if depth > 4 or estimator is None or isinstance(estimator, str):
        return []
    parts = [*(getattr(estimator, "steps", None) or ()), *(getattr(estimator, "transformers", None) or ())]
    inner = [p[1] for p in parts if isinstance(p, tuple) and len(p) > 1]
    inner += [e for n in ("estimator", "regressor") if hasattr(e := getattr(estimator, n, None), "fit")]
    return [estimator, *[e for part in inner for e in _steps(part, depth + 1)]]


def units(numbers: dict[str, np.ndarray], levels: dict[str, np.ndarray], y: np.ndarray, groups: dict[str, np.ndarray] | None = None) -> dict[str, Any] | None:
    """A column that is another one's multiple from some row on, or in one group, and tells the label again once it is turned back."""
    for name, v in numbers.items():
        if not np.isfinite(v).all() or len(np.unique(v)) < 20:
            continue
        since = _since(v)
        for odd, by in ([(since, "")] if since is not None else []) + list(odd_groups.candidates(v, groups or {}, levels)):
            found = odd_groups.unit_of(v, odd, name)
            if found is None or by != "" and not odd_groups.beyond_doubt(found, v, odd, name):
                continue
            tens = by != "" and any(abs(np.log10(found.factor)) == k for k in (1, 2, 3))  # groups may well differ tenfold; that they do so from a row on is odd
            fits = _tried(numbers, levels, y, {**numbers, name: np.where(odd, (v - found.offset) / found.factor, v)}, 0.7 if tens else 0.9)
            if fits is not None and (fits[1] > 0.4 or by == ""):
                return {"kind": "unit", "columns": [name], "factor": found.factor, "offset": found.offset, "unit": found.unit, "count": int(odd.sum()),
                        "usual": float(np.median(v[~odd])), "now": float(np.median(v[odd])), "before": fits[0], "after": fits[1],
                        "since": by == "", "positions": np.flatnonzero(odd)}  # fmt: skip
    return None


def _since(v: np.ndarray) -> np.ndarray | None:
    """The smaller part of the rows before or after the place at which the ranks break most."""
    ranks = np.argsort(np.argsort(v, kind="stable"), kind="stable") - (len(v) - 1) / 2
    cut = int(np.argmax(np.abs(np.cumsum(ranks)))) + 1
    if not 30 <= cut <= len(v) - 30:
        return None
    return np.arange(len(v)) >= cut if cut > len(v) / 2 else np.arange(len(v)) < cut


def _tried(numbers: dict[str, np.ndarray], levels: dict[str, np.ndarray], y: np.ndarray, back: dict[str, np.ndarray], most: float
           ) -> tuple[float, float] | None:  # fmt: skip
    """Shares explained before and after the mending, if it mends: of what was left unexplained at most so much may be left."""
    before, after = explained(design(numbers, levels), y), explained(design(back, levels), y)
    flat, mended = explained(design(numbers, levels, False), y), explained(design(back, levels, False), y)
    yes_no = len(np.unique(y)) == 2  # least squares explains less of a yes or no, however clear it is
    if after < (0.1 if yes_no else 0.4) or 1 - mended > (0.96 if yes_no else most) * (1 - flat) or 1 - after > (0.98 if yes_no else most + 0.1) * (1 - before):
        return None
    return round(flat, 4), round(mended, 4)


def stuck(numbers: dict[str, np.ndarray], levels: dict[str, np.ndarray], y: np.ndarray) -> dict[str, Any] | None:
    """A column that stays at one of its ordinary values over a stretch of rows, in which the label goes on without it."""
    for name, v in numbers.items():
        run = _longest_run(v)
        if run is None:
            continue
        inside = np.zeros(len(v), bool)
        inside[run[0] : run[1]] = True
        x = design(numbers, levels)
        said = x @ np.linalg.lstsq(x[~inside], y[~inside], rcond=None)[0]
        off = (y - said) ** 2
        share = 1 - off[~inside].mean() / max(y[~inside].var(), 1e-300)
        without = design({c: w for c, w in numbers.items() if c != name} or numbers, levels)
        alone = explained(without[~inside], y[~inside]) if len(numbers) > 1 else 0.0
        if share < 0.2 or 1 - share > 0.9 * (1 - alone) or off[inside].mean() < 1.3 * off[~inside].mean():
            continue
        return {"kind": "stuck", "columns": [name], "value": float(v[run[0]]), "first": run[0], "last": run[1] - 1, "count": run[1] - run[0],
                "before": round(float(1 - off[inside].mean() / max(y[inside].var(), 1e-300)), 4), "after": None, "elsewhere": round(float(share), 4),
                "distinct": int(len(np.unique(v))), "positions": np.arange(*run)}  # fmt: skip
    return None


def _longest_run(v: np.ndarray) -> tuple[int, int] | None:
    """A run of equal values far longer than any other, of a column of many values, at a value that is neither zero nor one of its ends."""
    edges = np.concatenate([[0], np.flatnonzero(v[1:] != v[:-1]) + 1, [len(v)]])
    long = np.diff(edges)
    at = int(long.argmax())
    most = int(long[at])
    others = np.delete(long, at)
    little = most < max(20, 0.02 * len(v)) or most > 0.5 * len(v) and len(v) - most < ALIVE
    if little or len(np.unique(v)) < 0.2 * (len(v) - most) or not len(others) or others.max() > 0.2 * most:
        return None
    value = v[edges[at]]
    rest = np.concatenate([v[: edges[at]], v[edges[at + 1] :]])
    if not np.isfinite(value) or value == 0 or not np.nanmin(rest) < value < np.nanmax(rest) or (rest == value).mean() > 0.02:
        return None
    return int(edges[at]), int(edges[at + 1])


def rolled(numbers: dict[str, np.ndarray], levels: dict[str, np.ndarray], y: np.ndarray) -> dict[str, Any] | None:
    """A stretch of rows whose labels stand some rows off, while the others' stand right."""
    x = design(numbers, levels, len(numbers) <= 6)
    size = max(BLOCK, 4 * x.shape[1], len(y) // 16)
    edges = list(range(REACH, len(y) - REACH - size + 1, size))
    if len(edges) < 4:
        return None
    ks = np.arange(-REACH, REACH + 1)
    told = np.array([_by_shift(x, y, np.arange(a, a + size), ks) for a in edges])
    best = ks[told.argmax(axis=1)]
    at, here = told.max(axis=1), told[:, REACH]
    off = [int(k) for k in best if k]
    k = max(set(off), key=off.count) if off else 0
    right, wrong = (best == 0) & (at > 0.5) & _far(told[:, REACH + k], at), (best == k) & (at > 0.5) & _far(here, at)
    if k == 0 or wrong.sum() < 2 or right.sum() < 2 or (~right & ~wrong).sum() > 2:  # those at the ends of the stretch are of both
        return None
    sure = np.concatenate([np.arange(a, a + size) for a, r in zip(edges, right) if r])
    said = x @ np.linalg.lstsq(x[sure], y[sure], rcond=None)[0]
    moved = np.clip(np.arange(len(y)) + k, 0, len(y) - 1)
    first, end = agreement.stretch((y - said) ** 2 - (y[moved] - said) ** 2)
    first, end = (0 if first <= abs(k) else first), (len(y) if len(y) - end <= 2 * abs(k) else end)
    if not wrong[[first - size < a < end for a in edges]].any() or end - first > len(y) - size:
        return None
    return {"kind": "rolled", "columns": [], "shift": int(k), "first": first, "last": end - 1, "count": end - first,
            "before": round(float(here[wrong].mean()), 4), "after": round(float(at[wrong].mean()), 4), "elsewhere": round(float(at[right].mean()), 4),
            "positions": np.arange(first, end)}  # fmt: skip


def _far(less: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Does one order of the labels explain far less than another? In a series that changes slowly any does much: what is left unexplained tells."""
    return (less < 0.5 * most) | (1 - less > SMOOTH * (1 - most)) & (less < most - 0.05)


def _by_shift(x: np.ndarray, y: np.ndarray, rows: np.ndarray, ks: np.ndarray) -> np.ndarray:
    """Adjusted share explained of the labels so many rows further on."""
    u, s, _ = np.linalg.svd(x[rows], full_matrices=False)
    q = u[:, s > 1e-9 * s[0]]
    labels = y[rows[:, None] + ks[None]]
    left = labels - q @ (q.T @ labels)
    return 1 - (left**2).sum(0) / (len(rows) - q.shape[1]) / np.maximum(labels.var(0, ddof=1), 1e-300)
