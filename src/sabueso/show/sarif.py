"""SARIF 2.1.0: culprits as results, the trail from each to what it led to as a code flow."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from .. import __version__, edits
from ..diagnoses import Diagnosis
from ..findings import Finding
from . import phrases
from .json import safe
from .source import mended

LEVELS = {"error": "error", "warning": "warning", "note": "note"}
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(diagnosis: Diagnosis) -> str:
    """The log as one JSON document."""
    names = sorted({f.check for f in diagnosis.culprits})
    rules = [{"id": n, "name": n, "help": {"text": f"sabueso explain {n}"}} for n in names]
    driver = {"name": "sabueso", "version": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(diagnosis)],
        "results": [_result(f, names.index(f.check), diagnosis) for f in diagnosis.culprits],
    }
    return json.dumps(safe({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}), indent=1, ensure_ascii=False)


def _invocation(diagnosis: Diagnosis) -> dict[str, Any]:
    run = diagnosis.run
    said: dict[str, Any] = {"executionSuccessful": run.get("outcome") == "succeeded", "commandLine": phrases.command(run)}
    if isinstance(run.get("exit_status"), int):
        said["exitCode"] = run["exit_status"]
    if diagnosis.own_errors:
        notes = [{"level": "note", "message": {"text": f"{e.get('adapter')}: {e.get('error')}"}} for e in diagnosis.own_errors]
        said["toolExecutionNotifications"] = notes
    return said


def _result(finding: Finding, index: int, diagnosis: Diagnosis) -> dict[str, Any]:
    numbers = [f"{w}: {phrases.number(v)} (expected {phrases.number(e)})" for w, v, e in finding.evidence]
    text = "\n".join([finding.says, *numbers, *([f"Fix: {finding.remedy}"] if finding.remedy else [])])
    flow = [finding, *diagnosis.explained(finding)]
    result = {
        "ruleId": finding.check,
        "ruleIndex": index,
        "level": LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [_location(finding, diagnosis.run)],
        "rank": round(100 * finding.confidence, 1),
        "partialFingerprints": {"sabueso/v1": f"{finding.check}:{finding.place.file}:{finding.place.module}:{finding.place.column}"},
        "properties": {"place": finding.place.as_dict(), "verified": finding.verified, "stage": finding.stage},
    }
    if len(flow) > 1:
        steps = [{"location": _location(f, diagnosis.run, f"{f.stage}: {f.check}. {f.says}"), "nestingLevel": min(n, 1)} for n, f in enumerate(flow)]
        result["codeFlows"] = [{"message": {"text": "from the cause to what it led to"}, "threadFlows": [{"locations": steps}]}]
    if fixes := _fixes(finding, diagnosis.run, result["locations"][0]):
        result["fixes"] = fixes
    return result


def _fixes(finding: Finding, run: dict[str, Any], location: dict[str, Any]) -> list[dict[str, Any]]:
    """The remedy as a change of whole lines, where it is one."""
    both = mended(finding, run)
    if not both or "region" not in location.get("physicalLocation", {}):
        return []
    changes = [
        {"deletedRegion": {"startLine": first, "startColumn": 1, "endLine": behind, "endColumn": 1}, "insertedContent": {"text": text}}
        for first, behind, text in edits.regions(*both)
    ]
    artifact = location["physicalLocation"]["artifactLocation"]
    return [{"description": {"text": finding.remedy}, "artifactChanges": [{"artifactLocation": artifact, "replacements": changes}]}]


def _location(finding: Finding, run: dict[str, Any], text: str = "") -> dict[str, Any]:
    """Where a finding has no file of its own (a column, a module) it stands at the script: code scanning wants a file of each result."""
    file, _, cell = (finding.place.file or _script(run)).partition("#cell")
    location: dict[str, Any] = {}
    if file:
        path = PurePath(file)
        artifact = {"uri": path.as_uri()} if path.is_absolute() else {"uri": quote(path.as_posix()), "uriBaseId": "%SRCROOT%"}
        location["physicalLocation"] = {"artifactLocation": artifact}
        if finding.place.line and not cell:
            location["physicalLocation"]["region"] = {"startLine": finding.place.line}
    spots = [*([f"cell {cell} line {finding.place.line}"] if cell else []), *phrases.where(finding.place)]
    location["logicalLocations"] = [{"fullyQualifiedName": " · ".join([finding.stage, *spots])}]
    if text:
        location["message"] = {"text": text}
    return location


def _script(run: dict[str, Any]) -> str:
    return next((str(w) for w in run.get("command") or () if str(w).endswith((".py", ".ipynb"))), "")
