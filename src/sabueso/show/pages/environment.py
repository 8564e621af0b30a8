"""Environment and resources: what ran, with which libraries, where its time and memory went."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ...events import Fact, latest
from .. import phrases
from .distributions import spot
from .site import size

MOST_LINES = 12


def screen(meta: dict[str, Any], facts: Callable[[str], list[Fact]], charts: list[dict[str, Any]]) -> dict[str, Any]:
    """All that the template shows of where the program ran."""
    cwd = meta.get("cwd") or ""
    started = meta.get("started")
    pairs = [
        ("command", phrases.command(meta)), ("working directory", cwd), ("run", meta.get("id")),
        ("started", time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(started)) if isinstance(started, (int, float)) else ""),
        ("outcome", meta.get("outcome") or "running"), ("exit status", meta.get("exit_status")), ("seconds", meta.get("seconds")),
        ("sabueso", meta.get("sabueso")), ("python", meta.get("python")), ("machine", meta.get("machine")),
    ]  # fmt: skip
    pairs += [(f"overhead of process {f.process}", f"{f.get('share', 0):.1%}, {f.get('seconds', 0):.2f} s") for f in latest(facts("overhead"))]
    pairs += [(f"memory of process {f.process}", memory(f)) for f in latest(facts("memory_held"))]
    pairs += [("threads asked for", f"{f.get('threads')} on {f.get('cores')} cores") for f in facts("threads_set")[:4]]
    pairs += [("torch seeded", phrases.number(f.get("seeded"))) for f in latest(facts("torch_seed"))[:4]]
    libraries = {str(f.get("library") or f.get("name")).partition(".")[0]: f.get("version") for f in facts("library") if f.get("version")}
    return {
        "pairs": [(k, phrases.number(v)) for k, v in pairs if v not in (None, "")],
        "charts": charts,
        "lines": hot(latest(facts("hot_lines")), cwd),
        "libraries": sorted(libraries.items()),
        "given_up": [(f.get("names") or [], f.get("why")) for f in facts("not_captured")][:20],
    }


def memory(fact: Fact) -> str:
    """From its first step to its last, and the most."""
    return f"{size(fact['start'])} at the first step, {size(fact['end'])} at the last, {size(fact['most'])} at most of {size(fact['limit'])}"


def hot(facts: list[Fact], cwd: str) -> list[tuple[str, float, float]]:
    """(line, CPU seconds, share) of the lines that took most."""
    total = sum(f.get("cpu") or 0.0 for f in facts) or 1.0
    held: dict[str, float] = {}  # of several functions or processes a line is told once
    for place, line in ((f.place, row) for f in facts for row in f.get("lines") or ()):
        told = spot(place.but(file=line["file"], line=line["line"]), cwd)
        held[told] = held.get(told, 0.0) + line["own"]
    return [(told, own, min(1.0, own / total)) for told, own in sorted(held.items(), key=lambda h: -h[1]) if own > 0][:MOST_LINES]
