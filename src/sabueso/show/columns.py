"""How wide text is on a terminal: East Asian letters take two columns, combining marks none."""

from __future__ import annotations

import unicodedata


def wide(text: str) -> int:
    """The columns that a text takes."""
    return len(text) if text.isascii() else sum(_wide(c) for c in text)


def cut(text: str, width: int) -> str:
    """At most so many columns, an ellipsis at the end where something was cut off."""
    if wide(text) <= width:
        return text
    kept, room = [], width - 1
    for c in text:
        room -= _wide(c)
        if room < 0:
            break
        kept.append(c)
    return "".join(kept) + "…"


def _wide(c: str) -> int:
    return 0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
