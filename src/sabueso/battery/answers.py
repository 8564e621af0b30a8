"""Answer: what one question of the battery found; Examination: all of them, with the cause first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..findings import Finding
from ..places import NOWHERE, Place

Number = tuple[str, Any, Any]  # what, value, expected
MARKS = {True: "yes", False: "NO", None: "-"}


@dataclass(slots=True)
class Answer:
    """A question with what was seen: `passed` is None where it could not be told or does not apply."""

    question: str
    passed: bool | None
    says: str
    evidence: list[Number] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return {
            "question": self.question, "passed": self.passed, "says": self.says,
            "evidence": [{"what": w, "value": v, "expected": e} for w, v, e in self.evidence],
            "findings": [f.check for f in self.findings],
        }  # fmt: skip


def fault(check: str, says: str, evidence: list[Number], remedy: str, place: Place = NOWHERE, severity: str = "error", **more: Any) -> Finding:
    """A finding of the battery; its stage is that of a training unless said otherwise."""
    stage = more.pop("stage", "train")
    place = place if place.stage else place.but(stage=stage)
    return Finding(says=says, place=place, evidence=evidence, remedy=remedy, severity=severity, check=check, stage=stage, **more)


@dataclass(slots=True)
class Examination:
    """The battery's answers in the order in which causes come before symptoms; falsy where a fault was found.

    `culprits` holds the first fault of severity error or warning and what stands beside it; what follows from it is in `findings`.
    """

    subject: str
    answers: list[Answer]
    seconds: float = 0.0

    @property
    def findings(self) -> list[Finding]:
        """All findings, causes before symptoms, one of a kind and place."""
        held: dict[Any, Finding] = {}
        for answer in self.answers:
            for f in answer.findings:
                held.setdefault((f.check, f.place.module, f.place.tensor, f.place.line), f)
        return list(held.values())

    @property
    def culprits(self) -> list[Finding]:
        """At most three faults, most likely first; notes are none."""
        serious = [f for f in self.findings if f.severity != "note"]
        first = [f for f in serious if f.severity == "error"] or serious
        return [*first[:1], *[f for f in serious if f is not first[0] and f.check not in FOLLOWS and f.check != first[0].check]][:3] if first else []

    def __bool__(self) -> bool:
        return not self.culprits

    def as_dict(self) -> dict[str, Any]:
        return {
            "format": 1, "subject": self.subject, "culprits": [f.as_dict() for f in self.culprits], "findings": [f.as_dict() for f in self.findings],
            "answers": [a.as_dict() for a in self.answers], "seconds": round(self.seconds, 3),
        }  # fmt: skip

    def __str__(self) -> str:
        return "\n".join([self.subject, *told(self.answers), *map(said, self.culprits)])

    __repr__ = __str__

    def raise_for_culprit(self) -> Examination:
        """Raise AssertionError with the whole text where a fault was found; returns itself else."""
        if self.culprits:
            raise AssertionError(str(self))
        return self


# symptoms: never told beside a cause
FOLLOWS = frozenset({"not-learning", "vanishing-gradient", "saturated-units", "bad-init", "learning-rate-too-low", "dead-units"})


def told(answers: Iterable[Answer]) -> list[str]:
    """One line an answer."""
    return [f"  {MARKS[a.passed]:<4} {a.question}: {a.says}" for a in answers]


def said(finding: Finding) -> str:
    """A culprit in a few lines."""
    spot = f"  {finding.place.file}:{finding.place.line}" if finding.place.file else ""
    numbers = [f"  {what}: {short(value)} (expected {short(expected)})" for what, value, expected in finding.evidence]
    return "\n".join([f"CULPRIT {finding.check}{spot}", f"  {finding.says}", *numbers, f"  fix: {finding.remedy}"])


def short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
