"""The first screen: the verdict, the trail, code, numbers, remedy, what it explains, what was ruled out and what could not be seen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...diagnoses import Diagnosis
from ...events import Fact
from ...findings import Finding
from .. import markdown, phrases
from ..source import diff, excerpt

STATES = {phrases.ORIGIN: "origin", phrases.SYMPTOM: "symptom", phrases.WARNED: "warned", phrases.OK: "ok"}
AROUND = 3
STEPS = 50  # shown on both sides of the step at which it began


def screen(diagnosis: Diagnosis, tried: Iterable[Fact] = (), pages: dict[str, str] | None = None, live: bool = False) -> dict[str, Any]:
    """All that the template says of a diagnosis, of a run that goes on where `live`. `pages` holds a sentence on each check by name."""
    first, *rivals = diagnosis.culprits or [None]
    return {
        "first": told(first, diagnosis, pages or {}) if first else None,
        "rivals": [told(f, diagnosis, pages or {}) for f in rivals],
        "notes": [told(f, diagnosis, {}) for f in diagnosis.findings if f.severity == "note" and f.explained_by is None],
        "trail": trail(diagnosis),
        "live": live,
        "markdown": markdown.render(diagnosis) if first else "",
        "near": near(first),
        "ending": "" if live else phrases.ending(diagnosis.run),
        "clean": diagnosis.clean,
        "blind": diagnosis.blind,
        "own_errors": diagnosis.own_errors,
        "tried": [experiment(f) for f in tried],
    }


def near(finding: Finding | None) -> tuple[int, int] | None:
    """The steps about the one at which it began."""
    step = finding.place.step if finding else None
    return (max(0, step - STEPS), step + STEPS) if step is not None else None


def trail(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    """Each stage with its state and what was found there."""
    return [
        {
            "stage": stage, "state": state, "kind": STATES.get(state, "dark"),
            "checks": list(dict.fromkeys(f.check for f in diagnosis.findings if f.stage == stage and f.severity != "note")),
        }
        for stage, state in phrases.trail(diagnosis)
    ]  # fmt: skip


def badge(run: dict[str, Any]) -> tuple[str, str]:
    """(kind, word) of how the program ended, or that it still runs."""
    outcome = run.get("outcome")
    return ("live", "running") if not outcome else ("good" if outcome == "succeeded" else "bad", str(outcome))


def told(finding: Finding, diagnosis: Diagnosis, pages: dict[str, str]) -> dict[str, Any]:
    """One finding in words."""
    kind, how = phrases.proof(finding)
    return {
        "finding": finding, "spot": phrases.line(finding.place), "where": phrases.where(finding.place), "line": finding.place.line,
        "cause": next((f.check for f in diagnosis.findings if f.id and f.id == finding.explained_by), ""), "diff": diff(finding, diagnosis.run),
        "code": excerpt(finding.place, diagnosis.run, AROUND), "proof": kind, "how": how, "means": pages.get(finding.check, ""),
        "numbers": [(w, phrases.number(v), phrases.number(e), odd(v)) for w, v, e in finding.evidence],
        "explains": [(f.check, f.stage, phrases.line(f.place), f.says) for f in diagnosis.explained(finding)],
    }  # fmt: skip


def odd(value: Any) -> bool:
    """Is it a number that is not finite?"""
    return isinstance(value, float) and not (value - value == 0) or value in ("nan", "inf", "-inf")


def experiment(fact: Fact) -> dict[str, Any]:
    """A thing that was tried on a copy: what, before, after, whether it helped."""
    change = fact.get("change") or fact.get("fault") or "the fault mended"
    helps = fact.get("helps")
    word = "mended it" if fact.get("fault") else "helped" if helps else "did not help" if helps is False else "tried"
    how = str(fact.get("how") or "").removesuffix(f": {change}")
    return {"change": change, "how": how, "before": fact.get("before"), "after": fact.get("after"), "word": word}
