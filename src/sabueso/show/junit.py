"""JUnit's XML, which CI servers show: a stage is a suite, a check a case; culprits fail, checks that could not see are skipped."""

from __future__ import annotations

import re
from collections import defaultdict
from xml.etree import ElementTree as tree

from ..diagnoses import Diagnosis
from ..findings import Finding
from . import phrases

CLEAN = "found nothing"
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML 1.0 can't hold


def render(diagnosis: Diagnosis) -> str:
    """The whole document."""
    suites = tree.Element("testsuites", name="sabueso")
    cases: dict[str, list[tree.Element]] = defaultdict(list)
    culprits = {f.id for f in diagnosis.culprits}
    for finding in diagnosis.findings:
        cases[finding.stage].append(_found(finding, diagnosis, finding.id in culprits))
    cases[CLEAN] += [tree.Element("testcase", classname="sabueso", name=n, time="0") for n in diagnosis.clean]
    for blind in diagnosis.blind:
        case = tree.Element("testcase", classname="sabueso", name=blind.check, time="0")
        tree.SubElement(case, "skipped", message=clean(f"no {', '.join(blind.missing)}; {blind.cure}"))
        cases["could not see"].append(case)
    seconds = f"{diagnosis.run.get('seconds') or 0:.3f}"
    for name, held in cases.items():
        if held:
            failures, skipped = (sum(c.find(word) is not None for c in held) for word in ("failure", "skipped"))
            told = {"name": name, "tests": str(len(held)), "failures": str(failures), "errors": "0", "skipped": str(skipped), "time": seconds}
            tree.SubElement(suites, "testsuite", told).extend(held)
    for key in ("tests", "failures", "errors", "skipped"):
        suites.set(key, str(sum(int(s.get(key, "0")) for s in suites)))
    tree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tree.tostring(suites, encoding="unicode")


def _found(finding: Finding, diagnosis: Diagnosis, culprit: bool) -> tree.Element:
    case = tree.Element("testcase", classname=f"sabueso.{finding.stage}", name=finding.check, time="0")
    if finding.place.file and finding.place.line and "#cell" not in finding.place.file:
        case.set("file", clean(finding.place.file))
        case.set("line", str(finding.place.line))
    spots = " · ".join(p for p in (phrases.line(finding.place), *phrases.where(finding.place)) if p)
    numbers = [f"{w}: {phrases.number(v)} (expected {phrases.number(e)})" for w, v, e in finding.evidence]
    explained = [f"explains {f.check}" for f in diagnosis.explained(finding)]
    text = clean("\n".join([p for p in (spots, finding.says, *numbers, f"Fix: {finding.remedy}" if finding.remedy else "", *explained) if p]))
    if culprit:
        tree.SubElement(case, "failure", message=clean(finding.says), type=finding.severity).text = text
    else:
        tree.SubElement(case, "system-out").text = text
    return case


def clean(text: str) -> str:
    """Without what XML can't hold."""
    return FORBIDDEN.sub("\ufffd", text)
