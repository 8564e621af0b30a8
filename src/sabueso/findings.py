"""Finding: what a check concluded, with the place and the numbers that convince."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from . import drawings
from .places import NOWHERE, Place

SEVERITIES = ("note", "warning", "error")  # worth knowing; likely; the result is wrong or will be


@dataclass(slots=True)
class Finding:
    """One answer of one check.

    `evidence` holds two to five (what, value, expected) triples; `verified` is "fact" (an exact fact such as shapes or row identities),
    a dictionary {how, before, after} (an experiment), or None: then it reads as suspected. `explains` and `explained_by` are filled by
    the diagnosis. `covers` names further checks whose findings at a later point this one accounts for. `edit` is the remedy as a change of the
    line at `place`, where there is one (see `edits`).
    """

    says: str
    place: Place = NOWHERE
    evidence: list[tuple[str, Any, Any]] = field(default_factory=list)
    remedy: str = ""
    severity: str = ""  # empty: the check's own
    confidence: float = 0.8
    verified: str | dict[str, Any] | None = None
    covers: tuple[str, ...] = ()
    check: str = ""
    stage: str = ""
    id: str = ""
    explained_by: str | None = None
    explains: list[str] = field(default_factory=list)
    edit: tuple[Any, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The finding in the diagnosis format 1 (DESIGN section 6)."""
        return {
            "id": self.id, "check": self.check, "stage": self.stage, "severity": self.severity, "confidence": round(self.confidence, 3),
            "place": self.place.as_dict(),
            "evidence": [{"what": w, "value": v, "expected": e} for w, v, e in self.evidence],
            "says": self.says, "remedy": self.remedy, "explained_by": self.explained_by, "explains": self.explains,
            "verified": self.verified, **({"edit": list(self.edit)} if self.edit else {}),
        }  # fmt: skip

    @classmethod
    def of(cls, data: dict[str, Any]) -> Finding:
        """From the diagnosis format."""
        return cls(
            says=data["says"], place=Place.of(data.get("place")), remedy=data.get("remedy", ""), severity=data["severity"],
            evidence=[(e["what"], e["value"], e["expected"]) for e in data.get("evidence", ())], confidence=data["confidence"],
            verified=data.get("verified"), check=data["check"], stage=data["stage"], id=data["id"],
            explained_by=data.get("explained_by"), explains=list(data.get("explains", ())), edit=tuple(data.get("edit", ())),
        )  # fmt: skip

    def _repr_html_(self) -> str:
        """For notebooks: no script, every text escaped."""
        spot = f"{self.place.file}:{self.place.line}" if self.place.file and self.place.line else self.place.file or ""
        rest = [(k, v) for k, v in self.place.as_dict().items() if k not in ("file", "line", "stage")]
        head = drawings.table([(f"{self.severity} {self.check}", spot), *rest, ("", self.says)])
        fix = drawings.table([("fix", self.remedy)]) if self.remedy else ""
        return head + (drawings.table(self.evidence, ("evidence", "seen", "expected")) if self.evidence else "") + fix
