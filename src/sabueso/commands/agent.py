"""`sabueso mcp`: the tools of a debugger for coding agents, over stdio, with the official library of the Model Context Protocol.

Every answer is JSON of at most a page (about 1,500 tokens); what is cut is told with the number of the next page. Values of variables that look
like secrets never leave.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from .. import config, wiring
from ..checks import catalogue
from ..errors import SabuesoError, UsageError
from ..events import Fact, Series, Summary
from ..runs import Run
from ..show.json import safe
from ..store.layout import find_run, runs_in
from ..store.reader import open_run
from .probe import compared

try:
    from mcp.server.mcpserver import MCPServer
except ImportError:
    try:
        from mcp.server.fastmcp import FastMCP as MCPServer  # its name up to version 1
    except ImportError as error:  # the base install is light
        raise UsageError("mcp is not installed: pip install 'sabueso[mcp]' brings the library for agents") from error

PAGE = 4_200  # characters of an answer: below 1,500 tokens of JSON
MOST_OUTPUT = 600  # of what the program printed last
MOST_EACH = 6
SECRET = re.compile(r"(?i)key|token|secret|passw|credential")
SAID = """Debug AI pipelines by evidence. `run` a command watched: it returns the diagnosis, with the culprit's line, numbers and remedy. `evidence` shows what
was captured, `confirm` tries the remedy in a copy of the folder, `diff` lays two runs side by side, `explain` tells what a fault is."""


@click.command()
def mcp() -> None:
    """Serve the tools of sabueso to a coding agent over stdio (Model Context Protocol)."""
    server().run()


def server() -> Any:
    """The server with its tools."""
    made = MCPServer("sabueso", instructions=SAID)
    for tool in (run, diagnosis, evidence, confirm, diff, explain):
        made.tool()(tool)
    return made


# ---- the tools; what stands in their docstrings is what an agent reads


def run(command: str, directory: str = ".", seconds: int = 600, rows: int | None = None) -> str:
    """Run a Python command watched (`train.py --epochs 1`, `-m package.module`, `pytest tests`) and return the diagnosis: culprits with line, numbers, remedy.

    `rows` limits each table and loader to so many rows. The program's own last output is returned too.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "diagnosis.json"
        options = ["--rows", str(rows)] if rows else []
        asked = [sys.executable, "-m", "sabueso", "run", "--json", str(out), "--format", "json", *options, *shlex.split(command)]
        try:
            done = subprocess.run(asked, cwd=directory, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
        except (OSError, subprocess.TimeoutExpired) as error:
            return answer({"error": f"{type(error).__name__}: {error}"})
        if not out.exists():
            return answer({"error": done.stderr[-MOST_OUTPUT:] or "nothing was watched"})
        return answer({**brief(json.loads(out.read_text())), "output": done.stdout[-MOST_OUTPUT:]})


def diagnosis(run: str = "", directory: str = ".", page: int = 1) -> str:
    """The diagnosis of a stored run (the newest, or the one named): culprits, what they explain, what could not be seen."""
    try:
        folder = found(run, directory)
        settings = config.load(Path(directory))
        told = wiring.kept(folder) or wiring.diagnose_run(folder, settings.chosen(catalogue()), settings)
    except SabuesoError as error:
        return answer({"error": str(error)})
    data = told.as_dict("")
    return answer(
        {**brief(data), "blind": [b["check"] for b in data["blind"]], "notes": [f["says"] for f in data["findings"] if f["severity"] == "note"]}, page
    )


def evidence(name: str = "", about: str = "", run: str = "", directory: str = ".", page: int = 1) -> str:
    """What a run captured. Without a name: the names there are. With one (`train_loss`, `gradient_norm`, `table_read`, ..): its values; `about` keeps those
    whose module, tensor, column or file has that text."""
    try:
        held = open_run(found(run, directory))
    except SabuesoError as error:
        return answer({"error": str(error)})
    if name not in held.names():
        return answer({"names": held.names()} if not name else {"error": f"no evidence named {name!r}", "names": held.names()}, page)
    return answer({"name": name, "found": shown(held, name, about)}, page)


def confirm(finding: str = "", run: str = "", directory: str = ".", seconds: int = 1200) -> str:
    """Try a finding's remedy (the first culprit's by default): run the program again in a copy of its folder with that one thing changed. The verdict is
    went away, stayed, no difference, or could not be tried."""
    asked = [sys.executable, "-m", "sabueso", "confirm", *([run] if run else []), "--yes", "--format", "json", *(["--finding", finding] if finding else [])]
    try:
        done = subprocess.run(asked, cwd=directory, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
        return answer(json.loads(done.stdout))
    except (OSError, subprocess.TimeoutExpired) as error:
        return answer({"error": f"{type(error).__name__}: {error}"})
    except ValueError:
        return answer({"error": done.stderr[-MOST_OUTPUT:]})


def diff(before: str, after: str, directory: str = ".", page: int = 1) -> str:
    """Two runs side by side: the first value that differs by more than rounding, with both lines, and what could explain it."""
    try:
        return answer(compared(found(before, directory), found(after, directory)).as_dict(), page)
    except SabuesoError as error:
        return answer({"error": str(error)})


def explain(check: str = "", page: int = 1) -> str:
    """What a fault is, how it is recognised, its remedy. Without a name: the faults that are looked for, by stage."""
    known = catalogue()
    if check not in known:
        stages: dict[str, list[str]] = {}
        for c in known.values():
            stages.setdefault(c.stage, []).append(c.name)
        return answer({"checks": stages} if not check else {"error": f"no check named {check!r}", "checks": stages}, page)
    told = known[check]
    parts = {k: told.sections[k] for k in ("What it means", "Why it is bad", "Evidence", "Remedy", "Fault") if k in told.sections}
    about = {"check": check, "stage": told.stage, "severity": told.severity, "summary": told.sections.get("", "")}
    return answer({**about, **parts, "interventions": told.interventions}, page)


# ---- answers


def found(run: str, directory: str) -> Path:
    """The run folder of a name under a directory's runs. Raises UsageError."""
    settings = config.load(Path(directory))
    home = settings.home()
    home = home if home.is_absolute() else Path(directory) / home
    if not runs_in(home):
        raise UsageError(f"no runs in {home}: use `run` first")
    return find_run(home, run or None)


def brief(data: dict[str, Any]) -> dict[str, Any]:
    """A diagnosis without what an agent seldom needs."""
    keep = ("check", "severity", "confidence", "place", "says", "evidence", "remedy", "explains", "verified")
    ended = {k: data["run"].get(k) for k in ("id", "outcome", "exit_status", "seconds", "stages", "crash") if data["run"].get(k) is not None}
    return {"run": ended, "culprits": [{k: c[k] for k in (*keep, "edit") if k in c} for c in data["culprits"]], "own_errors": len(data["own_errors"])}


def shown(held: Run, name: str, about: str) -> list[dict[str, Any]]:
    """Evidence of one name, short."""
    items: list[Fact | Series | Summary] = [*held.facts(name), *held.series(name), *held.profiles(name)]
    told = [one(i) for i in items if about.lower() in json.dumps(i.place.as_dict()).lower()]
    return told


def one(item: Fact | Series | Summary) -> dict[str, Any]:
    """One piece: a fact's or profile's value, a series with its first and last points and what lies between."""
    place = {k: v for k, v in item.place.as_dict().items() if k != "stage"}
    if not isinstance(item, Series):
        return {"place": place, "value": item.value}
    low, high = (float(f(item.values)) if len(item) else None for f in (min, max))
    steps, values = item.steps.tolist(), item.values.tolist()
    ends = [[s, v] for s, v in [*zip(steps, values)][:MOST_EACH]], [[s, v] for s, v in [*zip(steps, values)][-MOST_EACH:]]
    return {"place": place, "points": len(item), "low": low, "high": high, "first_nonfinite": item.first_nonfinite, "begins": ends[0], "ends": ends[1]}


def answer(data: dict[str, Any], page: int = 1) -> str:
    """As JSON without blanks, one page of it."""
    text = hidden(json.dumps(safe(data), default=str, ensure_ascii=False, separators=(",", ":")))
    pages = max(1, -(-len(text) // PAGE))
    part = text[(page - 1) * PAGE : page * PAGE]
    return part if pages == 1 else f"{part}\n[page {page} of {pages}: ask with page={page + 1} for more]" if page < pages else part


def hidden(text: str) -> str:
    """Without the values of variables that look like secrets."""
    for name, value in os.environ.items():
        if len(value) >= 6 and SECRET.search(name):
            text = text.replace(value, "(hidden)")
    return text
