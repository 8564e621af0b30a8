"""Annotations of a GitHub workflow: one command a culprit, at the person's line."""

from __future__ import annotations

from ..diagnoses import Diagnosis
from ..findings import Finding
from . import phrases

LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def render(diagnosis: Diagnosis) -> str:
    """One line a culprit; empty where there is none."""
    return "".join(_annotation(f) + "\n" for f in diagnosis.culprits)


def _annotation(finding: Finding) -> str:
    file, _, cell = (finding.place.file or "").partition("#cell")
    parts = {"file": file, "line": "" if cell else finding.place.line or "", "title": f"sabueso: {finding.check}"}
    numbers = "; ".join(f"{w}: {phrases.number(v)}, expected {phrases.number(e)}" for w, v, e in finding.evidence)
    spots = "; ".join([*([f"cell {cell}"] if cell else []), *phrases.where(finding.place)])
    said = "\n".join(p for p in (finding.says, spots, numbers, f"Fix: {finding.remedy}" if finding.remedy else "") if p)
    head = ",".join(f"{k}={_property(v)}" for k, v in parts.items() if v)
    return f"::{LEVELS[finding.severity]} {head}::{_data(said)}"


def _data(text: object) -> str:
    return str(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: object) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
