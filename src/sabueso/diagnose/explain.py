"""Explain: folds consequences under the earliest sufficient cause; what is left are the culprits, at most three."""

from __future__ import annotations

from ..catalogue import Check
from ..diagnoses import Diagnosis
from ..findings import Finding
from ..stages import rank_of
from .order import weight

MOST = 3  # one answer, at most two rivals beside it


def explain(diagnosis: Diagnosis, checks: dict[str, Check]) -> Diagnosis:
    """Fill `explained_by` and `explains`, and set the culprits: of a run the likeliest few, of tables that were checked every one."""
    for effect in diagnosis.findings:
        causes = [c for c in diagnosis.findings if c is not effect and explains(c, effect, checks)]
        if diagnosis.run.get("every"):  # of tables every column is judged by itself
            causes = [c for c in causes if columns_of(effect) <= columns_of(c)]
        if causes:
            effect.explained_by = min(causes, key=lambda c: (depth(c, diagnosis.findings, checks), weight(c))).id
    by_id = {f.id: f for f in diagnosis.findings}
    uncircled(diagnosis.findings, by_id)
    for effect in diagnosis.findings:
        root, seen = effect, {effect.id}
        while root.explained_by is not None and root.explained_by not in seen:
            root = by_id[root.explained_by]
            seen.add(root.id)
        if root is not effect:
            effect.explained_by = root.id
            root.explains.append(effect.id)
    culprits = [f for f in diagnosis.findings if f.explained_by is None and f.severity != "note"]
    told = sorted(culprits, key=weight)
    diagnosis.culprits = told if diagnosis.run.get("every") else once_a_check(told)[:MOST]
    return diagnosis


def uncircled(findings: list[Finding], by_id: dict[str, Finding]) -> None:
    """Where findings explain each other in a circle the strongest of them is explained by none: else none would be told."""
    for finding in findings:
        chain = [finding]
        while chain[-1].explained_by is not None and (then := by_id[chain[-1].explained_by]) not in chain:
            chain.append(then)
        if chain[-1].explained_by is not None:
            circle = chain[chain.index(by_id[chain[-1].explained_by]) :]
            min(circle, key=lambda f: (weight(f), f.id)).explained_by = None


def explains(cause: Finding, effect: Finding, checks: dict[str, Check]) -> bool:
    """Is the effect known to follow from the cause, and came it no earlier?"""
    known = effect.check in cause.covers or (cause.check in checks and effect.check in checks[cause.check].leads_to)
    if not known or cause.severity == "note":
        return False
    mutual = cause.check in effect.covers or (effect.check in checks and cause.check in checks[effect.check].leads_to)
    if mutual and (weight(effect), effect.id) < (weight(cause), cause.id):  # of equal weight the first stands: each under the other, none would be told
        return False
    if rank_of(cause.stage) < rank_of(effect.stage):
        return True
    if cause.place.step is None or effect.place.step is None:
        return True
    return cause.place.step <= effect.place.step


def columns_of(finding: Finding) -> set[str]:
    """The columns that a finding is of."""
    held = finding.place.column
    return set(held) if isinstance(held, list) else {held} - {None}  # type: ignore[return-value]


def depth(cause: Finding, findings: list[Finding], checks: dict[str, Check]) -> int:
    """How many findings stand before this one: the root of a chain has none."""
    return sum(1 for c in findings if c is not cause and explains(c, cause, checks))


def once_a_check(culprits: list[Finding]) -> list[Finding]:
    """One check may find many places of the same fault: the strongest stands for them."""
    kept: dict[str, Finding] = {}
    for finding in culprits:
        kept.setdefault(finding.check, finding)
    return list(kept.values())
