"""`# sabueso: ignore[name]` on the guilty line silences that check there."""

from __future__ import annotations

import linecache
import re

from ..diagnoses import Diagnosis

MARK = re.compile(r"#\s*sabueso:\s*ignore\[([\w\s,-]+)\]")


def silenced(diagnosis: Diagnosis) -> None:
    """Take findings out whose line says so; what only they explained becomes explained by nothing and is dropped from the culprits too."""
    gone = {f.id for f in diagnosis.findings if f.check in names_on(f.place.file, f.place.line)}
    gone |= {f.id for f in diagnosis.findings if f.explained_by in gone}
    diagnosis.findings = [f for f in diagnosis.findings if f.id not in gone]
    diagnosis.culprits = [f for f in diagnosis.culprits if f.id not in gone]


def names_on(file: str | None, line: int | None) -> set[str]:
    """The checks that a line of the person's silences."""
    match = MARK.search(linecache.getline(file, line)) if file and line else None
    return {n.strip() for n in match.group(1).split(",")} if match else set()
