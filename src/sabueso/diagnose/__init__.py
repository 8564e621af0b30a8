"""From evidence to the culprit: ask every check, then fold consequences under their causes."""

from __future__ import annotations

from typing import Any

from ..catalogue import Check
from ..diagnoses import Diagnosis
from ..runs import Run
from .explain import explain
from .order import ordered


def diagnose(run: Run, checks: dict[str, Check], settings: dict[str, dict[str, Any]] | None = None) -> Diagnosis:
    """Ask each check of the run and explain what they found. `settings` holds thresholds by check name."""
    result = Diagnosis(dict(run.meta))
    for name, check in checks.items():
        missing = check.missing(run)
        if missing:
            if watched(run, missing):
                result.blind.append(check.blind(missing))
            continue
        try:
            found = check.ask(run, (settings or {}).get(name))
        except Exception as error:  # a check must not keep the others from speaking
            result.own_errors.append({"adapter": f"check {name}", "error": f"{type(error).__name__}: {error}"})
            continue
        result.findings.extend(found)
        if not found:
            result.clean.append(name)
    return explain(ordered(result), checks, run)


def watched(run: Run, missing: list[str]) -> bool:
    """Was the evidence to be had? A fact `not_captured` says which names were given up, and why."""
    given_up = {n for f in run.facts("not_captured") for n in f["names"]}
    return any(n in given_up for n in missing)
