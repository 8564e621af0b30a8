"""Numbers that were read as text and went on as words: ranked, numbered or one-hot."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from . import pairs, summarise, tables
from .recorder import Recorder

LEAST_DISTINCT = 12  # fewer levels may be meant as levels
LEAST_SHARE = 0.9  # of the texts that spell a number
MOST_ROWS = 200_000  # of which odd cells are looked for
MOST_ODD = 400
DECIMALS = 0.2  # of the texts with a decimal part: no code or postcode has one


def quantity(values: np.ndarray) -> dict[str, Any] | None:
    """What a text column of numbers looks like, if its numbers are quantities and no codes; None otherwise."""
    if values.dtype.kind != "O":
        return None
    some = [v for v in values[summarise.spread(len(values), summarise.MOST_TEXTS)].tolist() if isinstance(v, str)]
    said = [v for v in some if v.strip().lower() not in summarise.NULLS]
    if len(said) < 20 or len(set(said)) < LEAST_DISTINCT:
        return None
    spelt = [v for v in said if summarise.as_number(v) is not None]
    decimals = [v for v in spelt if re.search(r"\d[.,]\d", v)]
    nulls = sorted({v.strip() for v in some if v.strip().lower() in summarise.NULLS})
    if len(spelt) < LEAST_SHARE * len(said) or len(decimals) < DECIMALS * len(said):
        return None
    marks = {"decimal comma": sum("," in v for v in decimals), "unit or sign": sum(bool(re.search(r"[^\d.,+\-eE\s]", v)) for v in spelt)}
    return {
        "numeric_share": round(len(spelt) / len(said), 4), "decimal_share": round(len(decimals) / len(said), 4), "distinct": len(set(said)),
        "examples": list(dict.fromkeys(said))[:3], "cause": max(marks, key=lambda k: marks[k]) if any(marks.values()) else None,
        "others": nulls[:3] + sorted(set(said) - set(spelt))[:3],
    }  # fmt: skip


def look(recorder: Recorder, column: str, old: np.ndarray, new: np.ndarray, how: str) -> None:
    """Record that a text column of quantities was replaced by numbers that are not the ones that it spells."""
    if old.dtype.kind != "O" or new.dtype.kind not in "iuf" or len(old) != len(new) or not recorder.wants("text_encoded"):
        return
    found = quantity(old)
    if found is None:
        return
    some = summarise.spread(len(old), 2000)
    spelt = np.array([summarise.as_number(v) if isinstance(v, str) else None for v in old[some].tolist()], dtype=np.float64)
    made = new[some].astype(np.float64)
    good = np.isfinite(spelt) & np.isfinite(made)
    if good.sum() < 20:
        return
    agreement = correlation(ranks(spelt[good]), ranks(made[good]))
    if agreement < 0.999 and recorder.once("text_encoded", column, how):
        recorder.fact("text_encoded", {"column": column, "how": how, "agreement": round(agreement, 3), **found, **read_from(recorder, column)}, column=column)


def given(recorder: Recorder, estimator: Any, frame: Any) -> None:
    """Record text columns of quantities that an encoder is given as words, or that a step which measures will refuse."""
    if summarise.is_frame(frame) and recorder.wants("text_encoded"):
        for how, column in reached(estimator, summarise.columns_of(frame), frame):
            as_words(recorder, frame, column, how, refused=not how.endswith(("Encoder", "LabelBinarizer")))


def as_words(recorder: Recorder, frame: Any, column: str, how: str, refused: bool = False) -> None:
    """Record a column of a table that becomes words, if it holds quantities."""
    kind = str(dict(zip(summarise.columns_of(frame), frame.dtypes)).get(column, ""))
    if not kind.lower().startswith(("object", "str", "string", "category", "categorical")) or not recorder.once("as_words", column, how):
        return
    some = summarise.spread(summarise.height(frame), summarise.MOST_TEXTS)
    found = quantity(summarise.column(frame, column) if isinstance(some, slice) else tables.head(frame, column, some))
    if found is not None:
        told = {"column": column, "how": how, "agreement": None, **found, **read_from(recorder, column), **odd_cells(recorder, frame, column)}
        recorder.fact("text_encoded", told | {"refused": refused}, column=column)


def odd_cells(recorder: Recorder, frame: Any, column: str) -> dict[str, Any]:
    """The cells that keep a column from being numbers, in the largest table at hand that holds it."""
    held = [h.thing for h in pairs.at_hand(None) if summarise.is_frame(h.thing) and column in summarise.columns_of(h.thing)]
    whole = max([frame, *(h for h in held if summarise.height(h) <= MOST_ROWS)], key=summarise.height)
    values = summarise.column(whole, column).tolist()
    odd = np.array([i for i, v in enumerate(values[:MOST_ROWS]) if isinstance(v, str) and not _plain(v)], dtype=np.int64)
    if not 0 < len(odd) < 0.9 * len(values):
        return {}
    texts = list(dict.fromkeys(values[i] for i in odd.tolist()))
    return {"odd": texts[:MOST_ODD], "count": len(odd), "rows": tables.of(recorder).rows(whole, odd, column)[1]}


def _plain(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def reached(estimator: Any, names: list[str], frame: Any, depth: int = 0) -> list[tuple[str, str]]:
    """(step, column) of the columns that reach a step unchanged."""
    if depth > 4 or estimator is None or isinstance(estimator, str):
        return []
    if isinstance(getattr(estimator, "steps", None), list) and estimator.steps:
        return reached(estimator.steps[0][1], names, frame, depth + 1)
    parts = getattr(estimator, "transformers", None)
    if not isinstance(parts, list):
        return [(type(estimator).__name__, n) for n in names[:100]]
    return [e for part in parts if len(part) == 3 for e in reached(part[1], _listed(part[2], names, frame), frame, depth + 1)]


def _listed(columns: Any, names: list[str], frame: Any) -> list[str]:
    """The names that a column transformer is told, by itself or by a selector of dtypes; none where it is told by a function or positions."""
    if type(columns).__name__ == "make_column_selector" and type(columns).__module__.startswith("sklearn."):
        columns = columns(frame)
    listed = [columns] if isinstance(columns, str) else columns
    return [c for c in listed if c in names] if isinstance(listed, (list, tuple)) else []


def read_from(recorder: Recorder, column: str) -> dict[str, Any]:
    """Where a column was read, if a table with that name in it was."""
    source = next((s for s in reversed(tables.of(recorder).sources) if column in s.columns), None)
    return {"table": source.name, "read_file": source.file, "read_line": source.line} if source else {}


def ranks(x: np.ndarray) -> np.ndarray:
    """Average ranks."""
    levels, at, times = np.unique(x, return_inverse=True, return_counts=True)
    return (np.cumsum(times) - (times - 1) / 2)[at]


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum() / size) if size else 0.0
