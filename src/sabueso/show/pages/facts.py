"""The log of facts: all that was recorded besides numbers by step, in the order of time."""

from __future__ import annotations

import json
import time
from typing import Any

from ...events import Fact
from ...vocabulary import VOCABULARY
from .. import phrases
from ..json import safe
from .distributions import spot

LONGEST = 240  # characters of one fact that are shown
PAGE = 50


def row(fact: Fact, cwd: str) -> dict[str, Any]:
    """One fact in words."""
    text = json.dumps(safe(fact.value), default=str, ensure_ascii=False)
    term = VOCABULARY.get(fact.name)
    return {
        "when": time.strftime("%H:%M:%S", time.localtime(fact.time)) if fact.time else "", "name": fact.name, "meaning": term.meaning if term else "",
        "spot": spot(fact.place, cwd), "where": ([fact.place.stage] if fact.place.stage else []) + phrases.where(fact.place),
        "value": text if len(text) <= LONGEST else text[:LONGEST] + " …",
    }  # fmt: skip


def screen(facts: list[Fact], total: int, cwd: str, filters: list[Any], pages: list[tuple[str, str]]) -> dict[str, Any]:
    """A page of the log."""
    return {"rows": [row(f, cwd) for f in facts], "shown": len(facts), "total": total, "filters": filters, "pages": pages}
