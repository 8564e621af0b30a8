"""One table looked at by itself: what its columns are, and what of them is odd. One fact `table_seen` a table."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np

from ..capture.marks import mark_of as mark
from ..capture.summarise import NULLS, as_number
from ..profiles import Profile
from .along import changes
from .held import Held
from .reading import Table

DIGITS = re.compile(r"\d+")


def is_key(kind: str, sample: np.ndarray) -> bool:
    """Whole numbers or texts of which no two are equal: an identifier, that says nothing of its row."""
    n = len(sample)
    if n < 100 or kind not in ("number", "text"):
        return False
    if kind == "number":
        return bool(np.isfinite(sample).all() and (sample == np.trunc(sample)).all() and len(np.unique(sample)) == n)
    return len(set(sample.tolist())) >= 0.98 * n


def is_clock(sample: np.ndarray, beside: np.ndarray) -> bool:
    """Does it go on with the rows (or with the time column): a running number, a year, a reading of a counter?"""
    if sample.dtype.kind == "O" or len(sample) < 30 or not np.isfinite(sample).all():
        return False
    if len(np.unique(sample)) < 3:
        return False
    ranks = [np.argsort(np.argsort(v, kind="stable"), kind="stable").astype(float) for v in (sample, beside)]
    return bool(abs(np.corrcoef(*ranks)[0, 1]) > 0.98)


def is_block(sample: np.ndarray) -> bool:
    """Whole numbers that repeat, each in rows that follow one another: the key of a group (a person, a machine), however it is numbered."""
    if sample.dtype.kind == "O" or len(sample) < 30 or not np.isfinite(sample).all() or (sample != np.trunc(sample)).any():
        return False
    runs, distinct = 1 + int(np.count_nonzero(sample[1:] != sample[:-1])), len(np.unique(sample))
    return 5 <= distinct == runs <= 0.5 * len(sample)


def held_apart(ours: np.ndarray, theirs: np.ndarray | None) -> bool:
    """Whole numbers that repeat, none of which is in both tables though their ranges are the same: groups that were held apart."""
    if theirs is None or theirs.dtype.kind == "O" or ours.dtype.kind == "O" or min(len(ours), len(theirs)) < 30:
        return False
    both = np.concatenate([ours, theirs])
    if not np.isfinite(both).all() or (both != np.trunc(both)).any() or theirs.min() > ours.max() or theirs.max() < ours.min():
        return False
    return len(ours) >= 1.5 * len(np.unique(ours)) and len(np.unique(theirs)) >= 5 and bool(np.isin(theirs, ours).mean() < 0.02)


def seen(one: Held, target: str | None, time: str | None, like: Held | None) -> dict[str, Any]:
    """The value of `table_seen`; `like` is the table that this one is held against, where there is one."""
    table, profiles, sample = one.table, one.profiles, one.sample
    told: dict[str, Any] = {"table": table.name, "role": one.role, "rows": table.rows, "target": target, "lost": table.lost}
    told["columns"] = [{"name": n, "kind": p.kind, "dtype": p.dtype, "missing": p.missing, "nonfinite": p.nonfinite, "distinct": p.distinct,
                        "only": only(p)} for n, p in profiles.items()]  # fmt: skip
    told["texts"] = [t for n, p in profiles.items() if p.kind == "text" and (t := spelt_numbers(table, n, p, sample[n]))]
    told["marks"] = [t for n, p in profiles.items() if p.kind == "number" and n != target and (t := marked(table, n, p, sample[n]))]
    told["variants"] = [t for n, p in profiles.items() if p.kind == "text" and p.levels and (t := variants(table, n, p))]
    timed = sample.get(time or "")
    order = np.argsort(timed, kind="stable") if timed is not None and timed.dtype.kind != "O" and np.isfinite(timed).all() else None
    numbers = {n: v for n, v in sample.items() if n != target and profiles[n].kind == "number"}
    usual = {n: float(np.nanmedian(v)) for n, v in (like.sample if like else {}).items() if n in numbers and v.dtype.kind != "O" and not np.isnan(v).all()}
    told["changes"] = changes(numbers, table.rows_of_sample(), order, usual)
    levels = {n: v for n, v in sample.items() if profiles[n].kind == "text" and profiles[n].levels}
    for change in told["changes"]:
        place = change.pop("place")
        change["same"] = next((n for n, v in levels.items() if _parts(v, place)), None)
    return told


def _parts(levels: np.ndarray, place: np.ndarray) -> bool:
    """Has the column no level on both sides: is it another machine, and not another unit, that begins there?"""
    inside = set(levels[place].tolist())
    return len(inside) < len(levels) and not inside & set(np.delete(levels, place).tolist())


def only(p: Profile) -> str | None:
    """The one value that a column has; None where it has several or none."""
    if p.nonfinite:
        return None
    if p.levels:
        return str(p.levels[0][0])[:40] if len(p.levels) == 1 else None
    return f"{p.min:g}" if p.valid and p.min is not None and p.min == p.max else None


def spelt_numbers(table: Table, name: str, p: Profile, sample: np.ndarray) -> dict[str, Any] | None:
    """A column of texts most of which spell a number; what keeps it from being read as one."""
    counts = dict(p.levels) if p.levels else Counter(v for v in sample.tolist() if v is not None)
    said = {t: n for t, n in counts.items() if t.strip().lower() not in NULLS}
    total = sum(said.values())
    numbers = {t: n for t, n in said.items() if as_number(t) is not None}
    if total < 20 or sum(numbers.values()) < 0.9 * total or len(numbers) < 12:
        return None
    plain = sum(n for t, n in numbers.items() if _plain(t))
    words = {t: n for t, n in counts.items() if t not in said}
    odd = [t for t in counts if not _plain(t) and t != ""]
    codes = all(DIGITS.fullmatch(t) for t in numbers) and (len({len(t) for t in numbers}) == 1 or any(t[0] == "0" and len(t) > 1 for t in numbers))
    decimal = sum(n for t, n in numbers.items() if re.search(r"\d[.,]\d", t))
    if codes or (not odd and decimal < 0.3 * total):
        return None
    return {"column": name, "share": round(sum(numbers.values()) / total, 4), "plain": round(plain / max(total, 1), 4), "examples": sorted(numbers)[:3],
            "odd": [str(t)[:40] for t in odd[:5]], "count": sum(counts[t] for t in odd), "words": list(words)[:5], "of": sum(counts.values()),
            "rows": table.first(name, "equal", odd[:200]) if odd else []}  # fmt: skip


def _plain(text: str) -> bool:
    try:
        float(text)
        return True
    except ValueError:
        return False


def marked(table: Table, name: str, p: Profile, sample: np.ndarray) -> dict[str, Any] | None:
    """A number far from all others that stands for what is missing."""
    value = mark(sample) if len(np.unique(sample)) > 10 else None
    if value is None:
        return None
    rest = sample[(sample != value) & np.isfinite(sample)]
    return {"column": name, "value": value, "count": int(round((sample == value).mean() * table.rows)), "low": float(rest.min()), "high": float(rest.max()),
            "rows": table.first(name, "equal", [value])}  # fmt: skip


def variants(table: Table, name: str, p: Profile) -> dict[str, Any] | None:
    """Levels that are one once blanks at the ends, case and doubled blanks are taken away; the rarer spelling is the odd one."""
    if len(p.levels) > 2000:
        return None
    groups: dict[str, list[tuple[Any, int]]] = {}
    for text, n in p.levels:
        groups.setdefault(" ".join(str(text).split()).casefold(), []).append((text, n))
    several = {k: v for k, v in groups.items() if len(v) > 1 and k}
    odd = {str(t): str(v[0][0]) for v in several.values() for t, _ in v[1:]}
    slips = several and all(t != t.strip() or "  " in t or len(t) > 3 for t in odd) and all(sum(n for _, n in v[1:]) <= 0.1 * v[0][1] for v in several.values())
    if not slips:  # levels that differ by case alone may be meant so
        return None
    count = sum(n for v in several.values() for _, n in v[1:])
    return {"column": name, "spellings": dict(list(odd.items())[:6]), "count": count, "levels": len(p.levels), "after": len(groups), "slips": slips,
            "rows": table.first(name, "equal", list(odd))}  # fmt: skip
