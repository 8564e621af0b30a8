"""out-of-memory."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact, latest
from ...findings import Finding
from ...places import Place

SAYS = ("out of memory", "not enough memory", "unable to allocate", "cannot allocate memory", "can't allocate memory")


@check(stage="resources", severity="error")
def out_of_memory(crash: list[Fact] = None, program_end: list[Fact] = None, memory_held: list[Fact] = None, hot_lines: list[Fact] = None) -> Iterator[Finding]:
    """The program ended because there was no memory for what it asked.

    What it means
    -------------
    One array or tensor is larger than what is left of the memory.

    Why it is bad
    -------------
    Nothing of the run is left; on a machine without limits the whole machine may stall.

    Evidence
    --------
    The exception that ended the program and what it asked for; or SIGKILL where the kernel counts a process killed for memory, or where no
    tenth of the memory was free any more; the resident memory, and what there is of it.

    Remedy
    ------
    Work in parts (batches, chunks), keep a smaller type (float32), or don't build all pairs at once.

    Fault
    -----
        import numpy as np

        points = np.zeros((3_000_000, 2))
        apart = np.empty((len(points), len(points)))  # sabueso: out-of-memory
        print(apart.shape)

    Control
    -------
        import numpy as np

        points = np.zeros((300, 2))
        apart = np.empty((len(points), len(points)))
        try:
            np.empty((3_000_000, 3_000_000))
        except MemoryError:
            print("too large", apart.shape)
    """
    for fact in program_end or []:
        if fact["signal"] == "SIGKILL" and (fact["oom_kills"] > 0 or fact["room"] < 0.1 * fact["total"] and fact["peak"] > 0.5 * fact["total"]):
            yield of_kill(fact, latest(memory_held or []), latest(hot_lines or []))
    for fact in crash or []:
        message = fact["message"].strip()
        if fact["type"] not in ("MemoryError", "_ArrayMemoryError", "OutOfMemoryError") and not any(s in message.lower() for s in SAYS):
            continue
        held = latest(memory_held or [])
        evidence = [("the exception", f"{fact['type']}: {message.splitlines()[-1] if message else ''}"[:200], "none")]
        for f in held[:1]:
            evidence.append(("MB in memory before", round(f["end"] / 2**20), None))
            if f["limit"]:
                evidence.append(("MB that there are", round(f["limit"] / 2**20), None))
        if len(evidence) < 2:
            evidence.append(("line that asked for it", fact.place.line, None))
        yield Finding(
            says="the program asked for more memory than there is: " + (message.splitlines()[-1][:160] if message else fact["type"]),
            place=fact.place.but(stage="resources"),
            evidence=evidence,
            remedy="work on it in parts (batches or chunks of rows), or keep it smaller (float32, sparse, no table of all pairs)",
            confidence=0.9,
            verified="fact",
        )


def of_kill(end: Fact, held: list[Fact], hot: list[Fact]) -> Finding:
    """The kernel ended it: the container that grew most, else the line where most time went, is where to look."""
    grown = next((h for f in held for h in f["holders"]), None)
    lines = [line for f in hot for line in f["lines"]]
    line = grown or max(lines, key=lambda x: x["own"], default=None)
    evidence = [("signal that ended the program", end["signal"], "none"), ("MB resident at most", round(end["peak"] / 2**20), None),
                ("MB free at least", round(end["room"] / 2**20), None), ("processes that the kernel killed for memory", end["oom_kills"], 0)]  # fmt: skip
    if grown:
        evidence.append((f"entries of {grown['name']}, last seen", grown["to"], None))
    return Finding(
        says=f"the kernel killed the program when its memory had reached {round(end['peak'] / 2**20):,} MB",
        place=Place(stage="resources", file=line["file"] if line else None, line=line["line"] if line else None, tensor=grown["name"] if grown else None),
        evidence=evidence,
        remedy="work in parts (batches or chunks of rows), keep less of what the loop makes, or use fewer worker processes",
        confidence=0.9 if end["oom_kills"] else 0.75,
        verified="fact" if end["oom_kills"] else None,
    )
