"""Every evidence name once: its kind, unit, meaning, where it comes from, and what would cure its absence.

A check's parameters are these names. Capture records only what an enabled check names. `source` is the library whose use brings the
evidence: where a run did not use it, a check that needs it does not apply and says nothing; where it did and the evidence is missing all
the same, the check is blind. Keep each section sorted; one line of meaning says what the value holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .runs import Run


@dataclass(frozen=True, slots=True)
class Term:
    """One kind of evidence: `kind` is fact, series, profile or trace."""

    kind: str
    unit: str
    meaning: str
    source: str = "any"
    cure: str = "run the program under `sabueso run`"


VOCABULARY: dict[str, Term] = {
    # ---- the run as a whole
    "crash": Term("fact", "", "the exception that ended the program: type, message, frames and the failing line's operands"),
    "stage_seen": Term("fact", "", "a stage was entered: name, how it was told"),
    "not_captured": Term("fact", "", "evidence that was given up: names, and why (a compiled model, a failed adapter, the budget)"),
    "overhead": Term("fact", "share", "what capture cost of the process's time: share, seconds"),
    # ---- torch: steps, losses, parameters
    # ---- torch: layers
    # ---- torch: data
    # ---- sklearn and row lineage
    # ---- tables: readers, joins, filters
    # ---- metrics, serving, monitoring
    # ---- resources, reproducibility, ranks
}


def of_run(run: Run, name: str) -> list[Any]:
    """The run's evidence of that name, by its kind."""
    return {"fact": run.facts, "series": run.series, "profile": run.profiles, "trace": run.facts}[VOCABULARY[name].kind](name)
