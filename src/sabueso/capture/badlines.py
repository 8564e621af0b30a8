"""Lines of a separated text file that a reader left out, and what they were."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from itertools import islice
from typing import Any

from . import summarise, tables
from .recorder import Recorder

MOST_BYTES = 64_000_000
MOST_LINES = 300_000


def look(recorder: Recorder, origin: Any, frame: Any, options: dict[str, Any]) -> None:
    """Record the lines with more fields than the header that are not in the table that was read."""
    if not isinstance(origin, (str, os.PathLike)) or not os.path.isfile(origin) or os.path.getsize(origin) > MOST_BYTES or not recorder.wants("bad_lines"):
        return
    with open(origin, "rb") as raw:
        start = raw.read(2)
    if start in (b"\x1f\x8b", b"PK", b"BZ"):
        return
    with open(origin, encoding=options.get("encoding") or "utf-8", errors="replace", newline="") as file:
        separator = options.get("sep") or options.get("delimiter") or ","
        if not isinstance(separator, str) or len(separator) != 1:
            return
        lines = list(islice(csv.reader(file, delimiter=separator, quotechar=options.get("quotechar") or '"'), MOST_LINES))
    if len(lines) < 2 or options.get("header", "infer") not in ("infer", 0) or options.get("skiprows") or options.get("nrows"):
        return
    found = describe(lines, summarise.height(frame))
    if found:
        recorder.fact("bad_lines", {"table": tables.name_of(origin), **found})


def describe(lines: list[list[str]], rows_read: int) -> dict[str, Any] | None:
    """The left-out lines: count, which values of other fields vanish with them, and the field that holds the surplus separators."""
    header, body = lines[0], [(i, r) for i, r in enumerate(lines[1:], 2) if r]
    width = len(header)
    good, bad = [r for _, r in body if len(r) <= width], [(i, r) for i, r in body if len(r) > width]
    lost = len(body) - rows_read
    if not bad or lost < 1 or lost > 1.05 * len(bad) + 1:
        return None
    column = surplus(header, good, [r for _, r in bad])
    vanished = levels_lost(header, good, [mended(r, column, width) for _, r in bad], column) if column is not None else []
    return {
        "lines": len(body), "lost": lost, "column": header[column] if column is not None else None, "first_lines": [i for i, _ in bad[: tables.FIRST]],
        "levels": vanished, "example": separator_line(bad[0][1]), "fields": len(bad[0][1]), "header_fields": width,
    }  # fmt: skip


def separator_line(row: list[str]) -> str:
    out = io.StringIO()
    csv.writer(out).writerow(row)
    return out.getvalue().strip()[:160]


def mended(row: list[str], at: int, width: int) -> list[str]:
    """The surplus fields put back together in one column."""
    extra = len(row) - width
    return [*row[:at], ",".join(row[at : at + extra + 1]), *row[at + extra + 1 :]]


def surplus(header: list[str], good: list[list[str]], bad: list[list[str]]) -> int | None:
    """The column that, when the surplus fields are put together in it, leaves all others as they are in good lines."""
    width, some = len(header), bad[:200]
    kinds = [_kind([r[c] for r in good[:500] if len(r) == width]) for c in range(width)]
    scores = []
    for at in range(width):
        rows = [mended(r, at, width) for r in some]
        fit = [_share([r[c] for r in rows], kinds[c]) for c in range(width) if c != at]
        scores.append((sum(fit) / max(len(fit), 1), -abs(at - width // 2), at))
    best = max(scores) if scores else (0.0, 0, 0)
    return best[2] if best[0] > 0.8 else None


def _kind(values: list[str]) -> set[str] | str:
    """How a column looks in good lines: numbers, a few levels, or anything."""
    if values and sum(summarise.as_number(v) is not None for v in values) > 0.95 * len(values):
        return "number"
    levels = set(values)
    return levels if len(levels) <= max(20, len(values) // 20) else "any"


def _share(values: list[str], kind: set[str] | str) -> float:
    if kind == "any":
        return 0.9
    fits = [summarise.as_number(v) is not None if kind == "number" else 1.0 if v in kind else 0.5 for v in values]
    return sum(fits) / max(len(fits), 1)


def levels_lost(header: list[str], good: list[list[str]], bad: list[list[str]], at: int) -> list[dict[str, Any]]:
    """Levels of other columns that lose at least half of their lines, with the share of all lost lines that they are."""
    found = []
    for c, name in enumerate(header):
        gone, kept = Counter(r[c] for r in bad if len(r) > c), Counter(r[c] for r in good if len(r) > c)
        if c == at or len(gone) + len(kept) > 200 or _kind(list(kept.elements())[:500]) == "number" and len(kept) > 20:
            continue
        for level, n in gone.most_common(3):
            share = n / (n + kept[level])
            if share >= 0.5 and n >= 5:
                found.append({"column": name, "level": level[:60], "lost": n, "kept": kept[level], "share_of_lost": round(n / len(bad), 3)})
    return sorted(found, key=lambda d: -d["lost"])[:5]
