"""Tables and pages of the command line: the runs, the catalogue, one check's page."""

from __future__ import annotations

import json
import textwrap
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ..stages import ACROSS, STAGES
from .columns import cut, wide
from .text import paper

if TYPE_CHECKING:
    from ..catalogue import Check


def runs_table(folders: list[Path], total: int) -> str:
    """When, name, outcome, verdict, seconds; reads the head of each run, no evidence."""
    rows = [("started", "run", "outcome", "verdict", "seconds"), *(_run(f) for f in folders)]
    text = _aligned(rows)
    return text if total == len(folders) else f"{text}\n{total - len(folders)} older ones: `sabueso runs -n {total}`"


def _run(folder: Path) -> tuple[str, str, str, str, str]:
    meta, diagnosis = _read(folder / "run.json"), _read(folder / "diagnosis.json")
    started = meta.get("started")
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(started)) if isinstance(started, (int, float)) else "?"
    found = [c.get("check", "?") for c in diagnosis.get("culprits", ())]
    verdict = "-" if not diagnosis else ", ".join(found) if found else "nothing found"
    seconds = meta.get("seconds")
    outcome = str(meta.get("outcome") or ("unfinished" if meta else "unreadable"))
    return when, folder.name, outcome, cut(verdict, 48), f"{seconds:.1f}" if isinstance(seconds, (int, float)) else "-"


def _read(path: Path) -> dict[str, Any]:
    try:
        held = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}


def checks_table(checks: dict[str, Check], word: str | None = None) -> str:
    """Name, severity and what it says, by the stage that causes the fault."""
    shown = [c for c in checks.values() if not word or word in c.name or word in c.stage or word in c.sections[""].lower()]
    parts = []
    for stage in (*STAGES, *ACROSS):
        here = [(f"  {c.name}", c.severity, " ".join(c.sections[""].split("\n\n")[0].split())) for c in shown if c.stage == stage]
        if here:
            parts.append(f"{stage}\n{_aligned(here)}")
    last = f"{len(shown)} checks; `sabueso explain NAME` tells one" if shown else f"no check with {word!r} in it"
    return "\n\n".join([*parts, last])


def page(check: Check, out: TextIO) -> str:
    """A check's docstring as its page: headings stand out, programs are kept."""
    on = paper(out)
    settings = ", ".join(f"{k} = {v!r}" for k, v in check.settings.items()) or "none"
    leads = ", ".join(check.leads_to) or "nothing that is told apart"
    parts = [on.style("bold", check.name) + f"  ({check.stage}, {check.severity})", _flow(check.sections[""], on.width)]
    for heading, body in check.sections.items():
        if heading:
            parts.append(on.style("bold", heading) + "\n" + (body if heading in ("Fault", "Control") else _flow(body, on.width)))
    parts.append(on.style("bold", "Leads to") + f"\n{leads}")
    parts.append(on.style("bold", "Settings") + f"\n{settings}  (in pyproject: [tool.sabueso.checks.{check.name}])")
    return on.plain("\n\n".join(parts))


def _flow(text: str, width: int) -> str:
    """Paragraphs laid anew to a width; lists and indented lines are kept."""
    kept = lambda p: any(line.startswith((" ", "-", "*")) for line in p.splitlines())  # noqa: E731
    return "\n\n".join(p if kept(p) else textwrap.fill(" ".join(p.split()), width) for p in text.split("\n\n"))


def _aligned(rows: Iterable[tuple[str, ...]]) -> str:
    rows = list(rows)
    sizes = [max(wide(r[c]) for r in rows) for c in range(len(rows[0]))]
    return "\n".join("  ".join(cell + " " * (size - wide(cell)) for cell, size in zip(row, sizes)).rstrip() for row in rows)
