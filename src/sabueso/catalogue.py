"""Check and @check: what a check is, what evidence it needs, how it answers."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .diagnoses import Blind
from .findings import Finding
from .interventions import INTERVENTIONS
from .runs import Run
from .vocabulary import VOCABULARY, of_run

SECTIONS = ("What it means", "Why it is bad", "Evidence", "Remedy", "Fault", "Control", "References", "Known limits")


@dataclass(frozen=True, slots=True)
class Check:
    """A fault that can be recognised: a pure function of evidence.

    `needs` are the evidence names that it can't do without, `uses` those that it takes when there are any (parameters whose default is
    None), `settings` its thresholds. `leads_to` names the faults that it is known to cause. Where there is evidence of those in `instead`,
    the needed is not missed.
    """

    name: str
    stage: str
    severity: str
    leads_to: tuple[str, ...]
    needs: tuple[str, ...]
    uses: tuple[str, ...]
    settings: dict[str, Any]
    function: Callable[..., Iterable[Finding]]
    doc: str
    instead: tuple[str, ...] = ()
    interventions: tuple[str, ...] = ()  # those that try its remedy, first the likeliest

    @property
    def sections(self) -> dict[str, str]:
        """The docstring taken apart, for whoever reads it: a run asks none."""
        return sections_of(inspect.cleandoc(self.doc))

    def missing(self, run: Run) -> list[str]:
        """The needed evidence that the run lacks."""
        return [] if any(of_run(run, n) for n in self.instead) else [n for n in self.needs if not of_run(run, n)]

    def ask(self, run: Run, settings: dict[str, Any] | None = None) -> list[Finding]:
        """Run the check: its findings, with name, stage and severity filled in. Call only if nothing is missing."""
        given = {n: of_run(run, n) for n in self.needs + self.uses}
        found = list(self.function(**given, **{**self.settings, **(settings or {})}))
        for f in found:
            f.check, f.stage, f.severity = self.name, f.stage or self.stage, f.severity or self.severity
            if f.place.stage is None:
                f.place = f.place.but(stage=f.stage)
        return found

    def blind(self, missing: list[str]) -> Blind:
        return Blind(self.name, missing, "; ".join(dict.fromkeys(VOCABULARY[n].cure for n in missing)))


def check(
    *, stage: str, severity: str = "error", leads_to: tuple[str, ...] = (), instead: tuple[str, ...] = (), interventions: tuple[str, ...] = ()
) -> Callable[[Callable[..., Iterable[Finding]]], Check]:
    """Make a Check of a function named for the fault. Evidence named in `instead` does as well as all that it needs.

    Parameters without default are evidence that it needs; those with default None and a name of the vocabulary are evidence that it
    uses when there is any; other defaults are settings. `interventions` try its remedy from outside. Raises TypeError for a parameter that is neither.
    """

    def make(function: Callable[..., Iterable[Finding]]) -> Check:
        needs, uses, settings = [], [], {}
        for p in inspect.signature(function).parameters.values():
            if p.default is inspect.Parameter.empty:
                needs.append(p.name)
            elif p.default is None and p.name in VOCABULARY:
                uses.append(p.name)
            else:
                settings[p.name] = p.default
        foreign = [n for n in interventions if n not in INTERVENTIONS]
        if foreign:
            raise TypeError(f"{function.__name__} names interventions that interventions.py does not: {', '.join(foreign)}")
        unknown = [n for n in needs if n not in VOCABULARY]
        if unknown:
            raise TypeError(f"{function.__name__} asks for evidence that vocabulary.py does not name: {', '.join(unknown)}")
        name, doc = function.__name__.replace("_", "-"), function.__doc__ or ""
        return Check(name, stage, severity, leads_to, tuple(needs), tuple(uses), settings, function, doc, instead, interventions)

    return make


def sections_of(doc: str) -> dict[str, str]:
    """The docstring taken apart: '' is the summary, the rest by heading (a line of its own with dashes under it)."""
    parts = re.split(r"(?m)^(" + "|".join(SECTIONS) + r")\n-+\n", doc)
    return {"": parts[0].strip(), **{parts[i]: parts[i + 1].strip("\n") for i in range(1, len(parts) - 1, 2)}}
