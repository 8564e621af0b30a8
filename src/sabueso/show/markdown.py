"""The report as Markdown: for a pull request, a CI summary, or a coding agent."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..diagnoses import Diagnosis
from ..findings import Finding
from . import phrases
from .source import diff, excerpt


def render(diagnosis: Diagnosis) -> str:
    """The whole report."""
    return "\n".join(_lines(diagnosis)) + "\n"


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    run = diagnosis.run
    yield "## sabueso: " + (f"culprit {diagnosis.culprits[0].check}" if diagnosis.culprits else "nothing found")
    yield ""
    yield f"`{phrases.command(run).replace('`', '')}`" + (f"; {escape(phrases.ending(run))}" if phrases.ending(run) else "")
    yield ""
    if run.get("tables"):
        yield escape(f"Checked {phrases.tables(run)}")
    else:
        yield from _trail(diagnosis)
    for number, culprit in enumerate(diagnosis.culprits, 1):
        yield from _culprit(number, culprit, diagnosis)
    yield ""
    yield f"{len(diagnosis.clean)} checks found nothing" + (f", {len(diagnosis.blind)} could not see:" if diagnosis.blind else ".")
    for b in diagnosis.blind:
        yield f"- {b.check}: no {escape(', '.join(b.missing))}; {escape(b.cure)}"
    if diagnosis.own_errors:
        yield f"\n{len(diagnosis.own_errors)} errors of sabueso's own; the program was not touched by them."


def _trail(diagnosis: Diagnosis) -> Iterator[str]:
    yield " › ".join(f"**{s} {state}**" if state == phrases.ORIGIN else f"{s} {state}" for s, state in phrases.trail(diagnosis))


def _culprit(number: int, finding: Finding, diagnosis: Diagnosis) -> Iterator[str]:
    spot = " · ".join(p for p in (phrases.line(finding.place), *phrases.where(finding.place)) if p)
    yield from ("", f"### {number}. {finding.check} ({finding.severity}) {escape(spot)}".rstrip(), "", escape(finding.says), "")
    code = excerpt(finding.place, diagnosis.run, 2)
    if code:
        fence = "`" * max(3, 1 + max((len(m) for _, t in code for m in re.findall("`+", t)), default=0))
        yield fence + "python"
        yield from (f"{'>' if n == finding.place.line else ' '} {n:>4}  {text}" for n, text in code)
        yield from (fence, "")
    if finding.evidence:
        yield from ("| | seen | expected |", "|---|---|---|")
        yield from (f"| {escape(w)} | {escape(phrases.number(v))} | {escape(phrases.number(e))} |" for w, v, e in finding.evidence)
        yield ""
    if finding.remedy:
        yield f"**Fix:** {escape(finding.remedy)}  "
    if changed := diff(finding, diagnosis.run):
        yield from ("", "```diff", *(f"{sign} {text}" for sign, text in changed), "```", "")
    yield "**{}:** {}".format(*map(escape, phrases.proof(finding)))
    explained = diagnosis.explained(finding)
    if explained:
        yield "**Explains:** " + ", ".join(dict.fromkeys(f.check for f in explained))


def escape(text: object) -> str:
    """As it is, on one line: nothing in it turns into markup or breaks a table."""
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", " ".join(str(text).split()))
