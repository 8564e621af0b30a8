"""A join taken apart: keys without a partner and what would give them one, and keys that stand more than once."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np

MOST_ROWS = 400_000  # larger joins are counted, not taken apart
MOST_DISTINCT = 50_000  # of keys without a partner that remedies are tried on


def apart(left: list[np.ndarray], right: list[np.ndarray]) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """The numbers of a join on these key columns; the left rows without partner; the right rows whose key stands more than once."""
    numbered: dict[Any, int] = {}
    keys: Any
    if len(left) == len(right) == 1 and left[0].dtype.kind in "iufb" and right[0].dtype.kind in "iufb":
        keys, both = np.unique(np.concatenate([left[0], right[0]]).astype(np.float64), return_inverse=True)
        a, b = both[: len(left[0])], both[len(left[0]) :]
    else:
        a, b = coded(left, numbered), coded(right, numbered)
        keys = list(numbered)
    size = len(keys)
    left_times, right_times = np.bincount(a, minlength=size), np.bincount(b, minlength=size)
    alone = (left_times > 0) & (right_times == 0)
    twice = (right_times > 1) & (left_times > 0)
    facts = {
        "left_rows": len(a), "right_rows": len(b), "left_keys": int((left_times > 0).sum()), "right_keys": int((right_times > 0).sum()),
        "left_repeated": int((left_times > 1).sum()), "right_repeated": int((right_times > 1).sum()), "repeated_met": int(twice.sum()),
        "unmatched_left": int(left_times[alone].sum()), "unmatched_left_keys": int(alone.sum()),
        "unmatched_right_keys": int(((right_times > 0) & (left_times == 0)).sum()),
        "gained": int((left_times * np.maximum(right_times - 1, 0)).sum()), "examples_repeated": [shown(keys[i]) for i in np.flatnonzero(twice)[:3]],
        "examples_unmatched": [shown(keys[i]) for i in np.flatnonzero(alone)[:3]],
    }  # fmt: skip
    if alone.any() and len(left) == len(right) and numbered:
        facts["repair"] = repair([keys[i] for i in np.flatnonzero(alone)[:MOST_DISTINCT]], left_times, right_times, numbered, len(left))
    return facts, np.flatnonzero(alone[a]), np.flatnonzero(twice[b])


def coded(columns: list[np.ndarray], numbered: dict[Any, int]) -> np.ndarray:
    """The number of each row's key; new keys are numbered on the way."""
    rows = columns[0].tolist() if len(columns) == 1 else list(zip(*(c.tolist() for c in columns)))
    for key in dict.fromkeys(rows):
        numbered.setdefault(key, len(numbered))
    return np.fromiter(map(numbered.__getitem__, rows), dtype=np.int64, count=len(rows))


def repair(alone: list[Any], left_times: np.ndarray, right_times: np.ndarray, numbered: dict[Any, int], width: int) -> dict[str, Any] | None:
    """The one change of spelling under which most keys without a partner find a key of the other side.

    That key had no partner either, except where only blanks, case or composition differ: then both spellings may stand side by side.
    """
    free = [k for k, i in numbered.items() if right_times[i] and not left_times[i]]
    best: dict[str, Any] | None = None
    whole = [k for k, i in numbered.items() if right_times[i]]
    for name, spell in SPELLINGS.items():
        among = whole if name in VARIANTS else free
        for part in range(width) if among else ():
            theirs = {respelt(k, part, width, spell): k for k in among}
            if len(theirs) < 0.9 * len(among):  # keys that differ only so are different keys
                continue
            met = [(k, theirs[s]) for k in alone if (s := respelt(k, part, width, spell)) in theirs and s is not None]
            rows = sum(int(left_times[numbered[k]]) for k, _ in met)
            if met and (best is None or rows > best["rows"]):
                best = {"how": name, "part": part, "keys": len(met), "rows": rows, "left": shown(met[0][0]), "right": shown(met[0][1])}
    return best


def respelt(key: Any, part: int, width: int, spell: Callable[[Any], Any]) -> Any:
    """A key with one part spelt otherwise; None if that part can't be."""
    if width == 1:
        return spell(key)
    return None if (one := spell(key[part])) is None else (*key[:part], one, *key[part + 1 :])


def shown(key: Any) -> Any:
    """A key as it can be told and stored."""
    return (int(key) if float(key).is_integer() else float(key)) if isinstance(key, (int, float)) else str(key)[:60]


def _text(change: Callable[[str], Any]) -> Callable[[Any], Any]:
    return lambda v: change(v) if isinstance(v, str) else None


def _unpadded(v: Any) -> Any:
    text = str(int(v)) if isinstance(v, (int, float)) and v == v and v == int(v) else v if isinstance(v, str) else None
    return None if text is None or not text.strip().isdigit() else text.strip().lstrip("0") or "0"


def _as_number(v: Any) -> Any:
    try:
        return float(v) if not isinstance(v, bool) and v is not None else None
    except (TypeError, ValueError):
        return None


VARIANTS = frozenset(  # may stand beside the key as it is
    {"blanks at the ends removed", "Unicode composed (NFC)", "upper and lower case made equal", "leading zeros put back", "cast to a number"}
)
SPELLINGS: dict[str, Callable[[Any], Any]] = {
    "cast to text": lambda v: None if v is None else str(v),
    "blanks at the ends removed": _text(lambda s: s.strip()),
    "leading zeros put back": _unpadded,
    "cast to a number": _as_number,
    "Unicode composed (NFC)": _text(lambda s: unicodedata.normalize("NFC", s)),
    "upper and lower case made equal": _text(lambda s: s.strip().casefold() if len(s.strip()) > 2 else None),
    "inner blanks, hyphens and case made equal": _text(lambda s: "".join(c for c in unicodedata.normalize("NFKC", s).casefold() if c.isalnum())),
}
