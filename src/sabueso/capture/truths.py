"""Truth: what should have been answered, row by row, and where along the rows the error changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .columns import ROWS, Reference, split
from .naming import tables_at_hand
from .scores import auc
from .summarise import columns_of, height, library, numeric_columns, values

MOST = 50_000
TRIES = 3  # calls whose labels are looked for in the tables at hand
CLEAR = 4.8  # standard errors: errors are heavy-tailed, and a change of a part of the rows is weak
FEWEST = 30  # rows on either side of a learnt range
BINS = 6  # of a column when asked how much of the error it explains


def of_quantile(owner: Any) -> bool:
    """Does a model answer a quantile? It lies beside the truth on purpose, and more so where values spread more."""
    owner = owner.steps[-1][1] if type(owner).__name__ == "Pipeline" and getattr(owner, "steps", None) else owner
    told = (getattr(owner, k, None) for k in ("loss", "objective", "criterion"))
    return type(owner).__name__ == "QuantileRegressor" or any(isinstance(t, str) and ("quantile" in t or "pinball" in t) for t in told)


@dataclass(slots=True)
class Truth:
    """Pairs of truth and answer by their start in the stream; told twice, kept once."""

    parts: dict[int, tuple[np.ndarray, np.ndarray, str]] = field(default_factory=dict)
    rows: int = 0
    column: str | None = None  # of a table at hand that holds it

    def add(self, start: int, true: np.ndarray, answered: np.ndarray, method: str) -> None:
        """One call's rows."""
        if start in self.parts or self.rows > MOST or len(true) != len(answered):
            return
        if self.column is None and len(self.parts) < TRIES:
            self.column = column_of(np.asarray(true))
        self.parts[start] = (np.array(true), np.array(answered), method)
        self.rows += len(true)

    def told(self, rows: np.ndarray, columns: list[np.ndarray], learnt: list[Reference], target: Reference | None) -> dict[str, Any] | None:
        """Error and bias, where they change along the rows, and which column explains the error after the change."""
        if not self.parts:
            return None
        order = sorted(self.parts)
        at = np.concatenate([np.arange(s, s + len(self.parts[s][0])) for s in order])
        true, answered = (np.concatenate([self.parts[s][i] for s in order]) for i in (0, 1))
        error = _error(true, answered)
        if error is None:
            return {"rows": len(true)}
        miss, signed = error
        found_at = rows[at] if len(rows) > at.max() else at
        told: dict[str, Any] = {"rows": len(true), "calls": len(order), "error": float(miss.mean()), "kind": "number" if signed is not None else "label"}
        told |= _base(true, answered, signed, target) | {"column": self.column}
        since = split(true.astype(float), told["fit_mean"]) if "fit_mean" in told else None
        if since is not None:
            since = _at_a_call(since, np.cumsum([len(self.parts[s][0]) for s in order]), len(true))
            told["since"] = {"before": since[2], "after": since[3], "rows": found_at[since[0] : since[1]][:ROWS].tolist()}
        if signed is not None and columns and len(columns[0]) > at.max():
            told["beyond"] = _beyond(columns, learnt, at, miss, signed)
        rank = _mid_rank(miss) if signed is not None else miss
        moved = split(rank, 0.0, CLEAR) or split(np.minimum(miss, np.quantile(miss, 0.99)), 0.0, CLEAR)
        if moved is None:
            return told
        after = np.zeros(len(miss), bool)
        after[moved[0] : moved[1]] = True
        found = rows[at[after]] if len(rows) and at.max() < len(rows) else at[after]
        told["change"] = {"row": int(found[0]), "rows": found[:ROWS].tolist(), "from": moved[0], "to": moved[1],
                          "error_before": float(miss[~after].mean()), "error_after": float(miss[after].mean())}  # fmt: skip
        if signed is not None:
            told["change"] |= {"bias_before": float(signed[~after].mean()), "bias_after": float(signed[after].mean()),
                               "r2_before": _r2(true[~after], answered[~after]), "r2_after": _r2(true[after], answered[after])}  # fmt: skip
        if signed is not None and set(np.unique(true[:5000]).tolist()) == {0, 1}:
            told["change"]["ranked"] = [auc(true[~after], answered[~after]), auc(true[after], answered[after])]
        if columns and len(columns[0]) > at.max():
            lost = signed if signed is not None else _difference(true, answered)
            told["change"]["explains"] = _explains(columns, [r.name for r in learnt], at, lost, after)
        return told

    def beside_new(self, told: list[dict[str, Any]], columns: list[np.ndarray]) -> None:
        """Of each column with values that the model never met: the mean error of the rows that have them, and that of the others."""
        for c in [c for c in told if c.get("new")] if self.parts else ():
            order = sorted(self.parts)
            at = np.concatenate([np.arange(s, s + len(self.parts[s][0])) for s in order])
            true, answered = (np.concatenate([self.parts[s][i] for s in order]) for i in (0, 1))
            error = _error(true, answered)
            if error is None or at.max() >= len(columns[c["index"]]):
                return
            new = np.isin(columns[c["index"]][at].astype(str), list(map(str, c["new"])))
            if new.any() and not new.all():
                c["missed"] = [float(error[0][new].mean()), float(error[0][~new].mean())]


def _at_a_call(since: tuple[int, int, float, float], ends: np.ndarray, n: int) -> tuple[int, int, float, float]:
    """A break a few rows beside the beginning of a call's rows is there: what comes in parts changes between them."""
    inner = since[0] or since[1]
    near = int(ends[np.argmin(np.abs(ends - inner))])
    if abs(near - inner) > 0.1 * n / len(ends) or near in (0, n):
        return since
    return (near, *since[1:]) if since[0] else (0, near, *since[2:])


def column_of(true: np.ndarray) -> str | None:
    """The column of a table at hand, of as many rows, that holds these labels; None where they are constant."""
    if true.ndim != 1 or true.dtype.kind not in "iufb" or len(true) > MOST or len(true) < 2 or (true == true[0]).all():
        return None
    for table in tables_at_hand():
        if height(table) == len(true):
            plain = numeric_columns(table) if library(table) == "pandas" else None
            for j, name in reversed(list(enumerate(columns_of(table)))):
                column = plain[j] if plain is not None else values(table[name])
                if column.dtype.kind in "iufb" and np.array_equal(column, true):
                    return name
    return None


def _error(true: np.ndarray, answered: np.ndarray) -> tuple[np.ndarray, np.ndarray | None] | None:
    """(size of the error by row, signed error of numbers)."""
    if true.ndim > 1:
        return None
    if true.dtype.kind in "iufb" and answered.dtype.kind in "iufb":
        whole = [x.dtype.kind in "iub" or bool((x == np.round(x)).all()) for x in (true, answered)]
        if all(whole) and len(np.unique(true[:2000])) <= 20:
            return (true != answered).astype(float), None
        signed = true.astype(float) - answered.astype(float)
        return (np.abs(signed), signed) if np.isfinite(signed).all() else None
    try:
        return (true.astype(str) != answered.astype(str)).astype(float), None
    except (TypeError, ValueError):
        return None


def _mid_rank(x: np.ndarray) -> np.ndarray:
    """Ranks from 0 to 1; equal values share theirs, or their order would look like a trend."""
    ordered = np.sort(x)
    return (np.searchsorted(ordered, x, side="left") + np.searchsorted(ordered, x, side="right")) / (2 * len(x))


def _difference(true: np.ndarray, answered: np.ndarray) -> np.ndarray:
    """By how many classes an answer is off: unlike being wrong at all, it has a direction that an input can explain."""
    classes, codes = np.unique(np.concatenate([true.astype(str), answered.astype(str)]), return_inverse=True)
    return (codes[: len(true)] - codes[len(true) :]).astype(float)


def _base(true: np.ndarray, answered: np.ndarray, signed: np.ndarray | None, target: Reference | None) -> dict[str, Any]:
    """Averages of both, beside those of the target at fit."""
    if true.dtype.kind not in "iufb" or answered.dtype.kind not in "iufb":
        return {}
    told = {"true_mean": float(true.mean()), "answer_mean": float(answered.mean()), "true_sd": float(true.std())}
    if signed is not None and len(np.unique(true[:2000])) > 2:
        told["r2"] = _r2(true, answered)
    if target is not None and not target.text and target.count:
        told |= {"fit_mean": target.mean, "fit_sd": target.sd, "fit_count": target.count}
    return told


def _r2(true: np.ndarray, answered: np.ndarray) -> float | None:
    true, answered = true.astype(float), answered.astype(float)
    total = ((true - true.mean()) ** 2).sum()
    return float(1 - ((true - answered) ** 2).sum() / total) if total > 0 else None


def _explains(columns: list[np.ndarray], names: list[str], at: np.ndarray, error: np.ndarray, after: np.ndarray) -> list[dict[str, Any]]:
    """How much of the error's variance each column explains before and after the change, the most changed first."""
    found = []
    for name, column in list(zip(names, columns))[:60]:
        codes = _coded(column[at])
        if codes is None:
            continue
        before, now = _share(codes[~after], error[~after]), _share(codes[after], error[after])
        found.append({"column": name, "before": before, "after": now})
    return sorted(found, key=lambda f: f["before"] - f["after"])[:5]


def _beyond(columns: list[np.ndarray], learnt: list[Reference], at: np.ndarray, miss: np.ndarray, signed: np.ndarray) -> dict[str, Any] | None:
    """The column outside of whose learnt range (1 to 99 in 100 rows at fit) the error grows most, with the error and bias on either side."""
    best: dict[str, Any] | None = None
    for column, known in list(zip(columns, learnt))[:60]:
        if known.text or not len(known.stock) or column.dtype.kind not in "iuf":
            continue
        low, high = np.quantile(known.stock, [0.01, 0.99])
        out = (column[at] < low) | (column[at] > high)
        if min(out.sum(), (~out).sum()) < FEWEST:
            continue
        told = {"column": known.name, "rows": int(out.sum()), "inside": float(miss[~out].mean()), "outside": float(miss[out].mean()),
                "bias_inside": float(signed[~out].mean()), "bias_outside": float(signed[out].mean())}  # fmt: skip
        if best is None or told["outside"] * best["inside"] > best["outside"] * told["inside"]:
            best = told
    return best


def _coded(column: np.ndarray) -> np.ndarray | None:
    if column.dtype.kind == "O":
        return np.unique(column.astype(str), return_inverse=True)[1]
    real = column.astype(float)
    if not np.isfinite(real).all():
        real = np.where(np.isfinite(real), real, -1e30)
    few = np.unique(real)
    return np.searchsorted(few, real) if len(few) <= 12 else np.searchsorted(np.quantile(real, np.arange(1, BINS) / BINS), real)


def _share(codes: np.ndarray, error: np.ndarray) -> float:
    """Share of variance between groups, what chance gives taken off."""
    n = len(error)
    total = ((error - error.mean()) ** 2).sum() if n else 0.0
    if n < 10 or total <= 0:
        return 0.0
    times = np.bincount(codes)
    sums = np.bincount(codes, weights=error)
    groups = int((times > 0).sum())
    between = (sums[times > 0] ** 2 / times[times > 0]).sum() - error.sum() ** 2 / n
    if n <= groups:
        return 0.0
    return float(max(0.0, (between - (groups - 1) * (total - between) / (n - groups)) / total))
