"""From evidence to the culprit: ask every check, then fold consequences under their causes."""

from __future__ import annotations

from typing import Any

from ..catalogue import Check
from ..diagnoses import Diagnosis
from ..interventions import helped, proof
from ..runs import Run
from ..vocabulary import VOCABULARY
from .explain import explain
from .order import ordered


def diagnose(run: Run, checks: dict[str, Check], settings: dict[str, dict[str, Any]] | None = None) -> Diagnosis:
    """Ask each check of the run and explain what they found. `settings` holds thresholds by check name.

    A check answers found, clean or blind. Evidence that did not come up is an answer too where its library was watched: what a fact
    tells of did not happen. It is blind where evidence was given up, and does not apply where its library was never used.
    """
    result = Diagnosis(dict(run.meta))
    for name, check in checks.items():
        missing = check.missing(run)
        if missing:
            if given_up(run, missing):
                result.blind.append(check.blind(missing))
            elif watched(run, missing):
                result.clean.append(name)
            continue
        try:
            found = check.ask(run, (settings or {}).get(name))
        except Exception as error:  # a check must not keep the others from speaking
            result.own_errors.append({"adapter": f"check {name}", "error": f"{type(error).__name__}: {error}"})
            continue
        for finding in found:
            finding.verified = finding.verified or proof(helped(run.facts("experiment"), *check.interventions))
        result.findings.extend(found)
        if not found:
            result.clean.append(name)
    return explain(ordered(result), checks)


def given_up(run: Run, missing: list[str]) -> bool:
    """Is any of the evidence among what facts `not_captured` say was given up?"""
    return bool({n for f in run.facts("not_captured") for n in f["names"]}.intersection(missing))


def watched(run: Run, missing: list[str]) -> bool:
    """Was the library that brings the evidence used, and watched?"""
    awake = {f["name"] for f in run.facts("library")}
    return any(VOCABULARY[n].source in awake for n in missing)
