"""out-of-memory."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact, latest
from ...findings import Finding

SAYS = ("out of memory", "not enough memory", "unable to allocate", "cannot allocate memory", "can't allocate memory")


@check(stage="resources", severity="error")
def out_of_memory(crash: list[Fact], memory_held: list[Fact] = None) -> Iterator[Finding]:
    """The program ended because there was no memory for what it asked.

    What it means
    -------------
    One array or tensor is larger than what is left of the memory.

    Why it is bad
    -------------
    Nothing of the run is left; on a machine without limits the whole machine may stall.

    Evidence
    --------
    The exception that ended the program and what it asked for; the resident memory, and what there is of it.

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
    for fact in crash:
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
