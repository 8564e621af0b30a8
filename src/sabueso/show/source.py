"""The person's source around a place: from the file, or from the notebook's cell as it was run."""

from __future__ import annotations

import os
from typing import Any

from .. import edits
from ..findings import Finding
from ..places import Place


def excerpt(place: Place, run: dict[str, Any], around: int = 1) -> list[tuple[int, str]]:
    """(number, text) of the guilty line and `around` lines before and after it; empty where the source can't be read."""
    text = source(place.file, run) if place.file and place.line else None
    lines = text.splitlines() if text else []
    if not place.line or not 1 <= place.line <= len(lines):
        return []
    first, last = max(1, place.line - around), min(len(lines), place.line + around)
    cut = [(n, lines[n - 1].expandtabs(4).rstrip()) for n in range(first, last + 1)]
    while cut and not cut[-1][1] and cut[-1][0] != place.line:
        cut.pop()
    while cut and not cut[0][1] and cut[0][0] != place.line:
        cut.pop(0)
    return _flush_left(cut)


def diff(finding: Finding, run: dict[str, Any]) -> list[tuple[str, str]]:
    """The remedy as ("-" or "+", line) of the person's source; empty where it is no change of one line, or the source is another by now."""
    both = mended(finding, run)
    return edits.lines(*both) if both else []


def mended(finding: Finding, run: dict[str, Any]) -> tuple[str, str] | None:
    """The person's source as it is, and with the remedy in it."""
    place = finding.place
    text = source(place.file, run) if finding.edit and place.file and place.line else None
    made = edits.applied(finding.edit, text, place.line) if text and place.line else None
    return (text, made) if text and made else None


def source(file: str, run: dict[str, Any]) -> str | None:
    """The text of a file told relative to where the program ran, or of a cell that the run kept."""
    for cell in (run.get("cells") or {}).values():
        if cell["name"] == file:
            return str(cell["source"])
    try:
        with open(os.path.join(run.get("cwd") or "", file), encoding="utf-8", errors="replace") as f:
            return f.read()
    except (OSError, ValueError):
        return None


def _flush_left(cut: list[tuple[int, str]]) -> list[tuple[int, str]]:
    spare = min((len(t) - len(t.lstrip()) for _, t in cut if t.strip()), default=0)
    spare = max(0, spare - 4) if spare > 12 else 0  # only deep code is moved, so that it still looks like the person's
    return [(n, t[spare:]) for n, t in cut]
