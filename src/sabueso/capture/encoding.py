"""Numbers that were read as text and went on as words: ranked, numbered or one-hot."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from . import summarise, tables
from .recorder import Recorder

LEAST_DISTINCT = 12  # fewer levels may be meant as levels
LEAST_SHARE = 0.9  # of the texts that spell a number
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
    """Record text columns of quantities that an encoder is given as words."""
    if summarise.is_frame(frame) and recorder.wants("text_encoded"):
        names = summarise.columns_of(frame)
        for how, column in encoded(estimator, names):
            as_words(recorder, frame, column, how)


def as_words(recorder: Recorder, frame: Any, column: str, how: str) -> None:
    """Record a column of a table that becomes words, if it holds quantities."""
    kind = str(dict(zip(summarise.columns_of(frame), frame.dtypes)).get(column, ""))
    if not kind.lower().startswith(("object", "str", "string", "category", "categorical")) or not recorder.once("as_words", column, how):
        return
    some = summarise.spread(summarise.height(frame), summarise.MOST_TEXTS)
    found = quantity(summarise.column(frame, column) if isinstance(some, slice) else tables.head(frame, column, some))
    if found is not None:
        told = {"column": column, "how": how, "agreement": None, **found, **read_from(recorder, column)}
        recorder.fact("text_encoded", told, column=column)


def encoded(estimator: Any, names: list[str], depth: int = 0) -> list[tuple[str, str]]:
    """(encoder, column) of the columns that reach an encoder of categories unchanged."""
    kind = type(estimator).__name__
    if depth > 4 or estimator is None or isinstance(estimator, str):
        return []
    if kind.endswith(("Encoder", "LabelBinarizer")):
        return [(kind, n) for n in names[:100]]
    if isinstance(getattr(estimator, "steps", None), list) and estimator.steps:
        return encoded(estimator.steps[0][1], names, depth + 1)
    parts = getattr(estimator, "transformers", None)
    if not isinstance(parts, list):
        return []
    return [e for part in parts if len(part) == 3 for e in encoded(part[1], _listed(part[2], names), depth + 1)]


def _listed(columns: Any, names: list[str]) -> list[str]:
    """The names that a column transformer is told; none where it is told by a function or positions."""
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
