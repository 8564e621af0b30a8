"""Diagnosis: the culprits, what each explains, and what could not be seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .findings import Finding

FORMAT = 1


@dataclass(slots=True)
class Blind:
    """A check that lacked evidence: never called clean."""

    check: str
    missing: list[str]
    cure: str

    def as_dict(self) -> dict[str, Any]:
        return {"check": self.check, "missing": self.missing, "cure": self.cure}


@dataclass(slots=True)
class Diagnosis:
    """All that is told of one run; `culprits` is ordered, most likely first, and holds warnings and errors only."""

    run: dict[str, Any]
    findings: list[Finding] = field(default_factory=list)
    culprits: list[Finding] = field(default_factory=list)
    blind: list[Blind] = field(default_factory=list)
    clean: list[str] = field(default_factory=list)
    own_errors: list[dict[str, Any]] = field(default_factory=list)

    def as_dict(self, version: str) -> dict[str, Any]:
        """The diagnosis format 1 (DESIGN section 6)."""
        return {
            "format": FORMAT, "sabueso": version, "run": self.run, "culprits": [f.as_dict() for f in self.culprits],
            "findings": [f.as_dict() for f in self.findings], "blind": [b.as_dict() for b in self.blind],
            "clean": self.clean, "own_errors": self.own_errors,
        }  # fmt: skip

    @classmethod
    def of(cls, data: dict[str, Any]) -> Diagnosis:
        """From the diagnosis format."""
        findings = [Finding.of(f) for f in data["findings"]]
        by_id = {f.id: f for f in findings}
        return cls(
            run=data["run"], findings=findings, culprits=[by_id[c["id"]] for c in data["culprits"]],
            blind=[Blind(**b) for b in data["blind"]], clean=list(data.get("clean", ())), own_errors=list(data["own_errors"]),
        )  # fmt: skip

    def explained(self, culprit: Finding) -> list[Finding]:
        """The findings that a culprit accounts for, in the order of the trail."""
        return [f for f in self.findings if f.id in culprit.explains]

    def _repr_html_(self) -> str:
        """For notebooks: the culprits."""
        return "<hr>".join(f._repr_html_() for f in self.culprits) or f"<p>nothing found by {len(self.clean)} checks</p>"
