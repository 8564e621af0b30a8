"""Phrases: how a place, a number, a verification and the trail are put into words; every form of the report uses the same ones."""

from __future__ import annotations

import math
import os
import re
import shlex
import signal
from typing import Any

from ..diagnoses import Diagnosis
from ..findings import Finding
from ..places import Place
from ..stages import STAGES, rank_of

ORIGIN, SYMPTOM, WARNED, OK = "ORIGIN", "symptom", "warned", "ok"
NOT_REACHED, NOT_WATCHED = "not reached", "not watched"
MOST_LISTED = 6
MOST_ROWS = 50
NAMED = ("module", "tensor", "estimator", "column", "row")


def trail(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    """(stage, state) over the six stages; a culprit that belongs to none of them comes first."""
    crash = diagnosis.run.get("crash") or {}
    seen = {*(diagnosis.run.get("stages") or ()), *(f.stage for f in diagnosis.findings), crash.get("stage")}
    first = diagnosis.culprits[0] if diagnosis.culprits else None
    last = max((rank_of(s) for s in seen), default=-1)
    broke = diagnosis.run.get("outcome") not in (None, "succeeded")
    states = [(s, _state(s, diagnosis, first, seen, broke and rank_of(s) > last)) for s in STAGES]
    return states if first is None or first.stage in STAGES else [(first.stage, ORIGIN), *states]


def grouped(states: list[tuple[str, str]]) -> list[tuple[list[str], str]]:
    """Neighbouring stages of one state together, but for the origin."""
    groups: list[tuple[list[str], str]] = []
    for stage, state in states:
        if groups and groups[-1][1] == state and state != ORIGIN:
            groups[-1][0].append(stage)
        else:
            groups.append(([stage], state))
    return groups


def _state(stage: str, diagnosis: Diagnosis, first: Finding | None, seen: set[str], unreached: bool) -> str:
    here = [f for f in diagnosis.findings if f.stage == stage and f.severity != "note"]
    if first is not None and first.stage == stage:
        return ORIGIN
    if any(f.explained_by is None for f in here):
        return WARNED
    if here or stage == (diagnosis.run.get("crash") or {}).get("stage"):
        return SYMPTOM
    return OK if stage in seen else NOT_REACHED if unreached else NOT_WATCHED


def line(place: Place) -> str:
    """`train.py:31`, or `nb.ipynb cell 3 line 4` for a notebook's cell; empty where there is no line."""
    if not place.file:
        return ""
    file, _, cell = place.file.partition("#cell")
    if cell:
        return f"{file} cell {cell}" + (f" line {place.line}" if place.line else "")
    return f"{file}:{place.line}" if place.line else file


def where(place: Place) -> list[str]:
    """The parts of a place besides file and line, in words, finest last."""
    said = [named(key, value) for key in NAMED if (value := getattr(place, key)) is not None]
    said += [f"{key} {number(value)}" for key in ("step", "epoch", "rank") if (value := getattr(place, key)) is not None]
    return said


def named(key: str, value: Any) -> str:
    """`row 3`, `rows 3, 9`; of rows a place holds the first 50, so there may be more than it lists."""
    several = isinstance(value, (list, tuple)) and len(value) > 1
    said = listing(value)
    if key == "row" and several and len(value) >= MOST_ROWS:
        said = re.sub(r" and \d+ more$", " and many more", said)
    return f"{key}{'s' if several else ''} {said}"


def listing(value: Any) -> str:
    """A name or row, or several of them: the first few and how many more."""
    if not isinstance(value, (list, tuple)):
        return str(value)
    more = len(value) - MOST_LISTED
    return ", ".join(str(v) for v in value[:MOST_LISTED]) + (f" and {more} more" if more > 0 else "")


def number(value: Any) -> str:
    """A value of the evidence: four digits of a float, thousands apart, long lists cut."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, int):
        return f"{value:,}".replace(",", " ") if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, (list, tuple)):
        more = len(value) - MOST_LISTED
        return "[" + ", ".join(number(v) for v in value[:MOST_LISTED]) + (f", … {more} more" if more > 0 else "") + "]"
    if isinstance(value, dict):
        return ", ".join(f"{k}: {number(v)}" for k, v in list(value.items())[:MOST_LISTED])
    return " ".join(str(value).split())


def _float(value: float) -> str:
    if not math.isfinite(value):
        return "NaN" if value != value else "inf" if value > 0 else "-inf"
    if value == int(value) and abs(value) < 1e6:
        return f"{value:.1f}"
    return f"{value:.4g}"


def proof(finding: Finding) -> tuple[str, str]:
    """("verified", how) or ("suspected", how sure)."""
    sure = f"confidence {finding.confidence:.2f}"
    if finding.verified == "fact":
        return "verified", f"an exact fact, no guess; {sure}"
    if isinstance(finding.verified, dict):
        v = finding.verified
        change = f": {number(v.get('before'))} before, {number(v.get('after'))} after" if "before" in v or "after" in v else ""
        return "verified", f"{v.get('how', 'by an experiment')}{change}; {sure}"
    return "suspected", f"not yet tried out; {sure}"


def tables(run: dict[str, Any]) -> str:
    """The tables that were checked, and in what time: `train.parquet (20 000 x 12) and test.parquet (5000 x 12) in 0.4 s`."""
    said = [f"{t['table']} ({number(t['rows'])} x {t['columns']})" for t in run["tables"]]
    return f"{' and '.join(said)} in {run['seconds']:.1f} s"


def ending(run: dict[str, Any]) -> str:
    """How the program ended, in words; empty where it succeeded."""
    outcome, status = run.get("outcome"), run.get("exit_status")
    if outcome == "interrupted":
        return "the program was interrupted"
    if outcome == "killed":
        name = signal_name(run.get("signal") or (status or 128) - 128)
        hint = "; often the kernel's out-of-memory killer" if name == "SIGKILL" else ""
        return f"the program was killed by {name}{hint}"
    if outcome == "failed":
        crash = run.get("crash")
        said = f" with {crash['type']}: {' '.join(str(crash['message']).split())[:200]}" if crash else f" with exit status {status}"
        return f"the program failed{said}"
    return "" if outcome else "the program has not ended yet, or sabueso itself was killed"


def signal_name(value: int) -> str:
    """SIGKILL for 9."""
    try:
        return signal.Signals(value).name
    except ValueError:
        return f"signal {value}"


def command(run: dict[str, Any]) -> str:
    """The command as the person would type it again; the interpreter's path shortened."""
    words = [str(w) for w in run.get("command") or ()]
    if words and os.path.basename(words[0]).startswith("python"):
        words[0] = "python"
    return shlex.join(words)
