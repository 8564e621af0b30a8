"""Order: along the stages, then by step, then as recorded; and the order in which culprits are told."""

from __future__ import annotations

from ..diagnoses import Diagnosis
from ..findings import SEVERITIES, Finding
from ..stages import rank_of


def ordered(diagnosis: Diagnosis) -> Diagnosis:
    """Number the findings along the flow."""
    diagnosis.findings.sort(key=lambda f: (rank_of(f.stage), f.place.step if f.place.step is not None else -1, f.check))
    for number, finding in enumerate(diagnosis.findings, 1):
        finding.id = f"F{number}"
    return diagnosis


def weight(finding: Finding) -> tuple[int, float, int, int]:
    """How likely a culprit: severity, confidence, what it explains, and the earlier stage on a tie."""
    return (-SEVERITIES.index(finding.severity), -round(finding.confidence, 2), -len(finding.explains), rank_of(finding.stage))
