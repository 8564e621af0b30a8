"""The report in a terminal: the culprit first."""

from __future__ import annotations

from typing import TextIO

from ..diagnoses import Diagnosis


def tell(diagnosis: Diagnosis, out: TextIO) -> None:
    """Print the report."""
    for c in diagnosis.culprits:
        out.write(f"CULPRIT {c.check} at {c.place.file}:{c.place.line} {c.says}\n  {c.evidence}\n  fix: {c.remedy}\n")
    if not diagnosis.culprits:
        out.write(f"sabueso: nothing found by {len(diagnosis.clean)} checks\n")
