"""straggler."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact, latest
from ...findings import Finding
from ...places import Place


@check(stage="distributed", severity="warning")
def straggler(hot_lines: list[Fact], rank: list[Fact], *, times: float = 2.5, least_cpu: float = 5.0) -> Iterator[Finding]:
    """One rank needs far more work for a step than the others, which wait for it.

    What it means
    -------------
    The ranks take as many steps, but the processor works several times as long for one of them: more or longer rows, or work that only it does.

    Why it is bad
    -------------
    Every gradient average waits for the slowest rank, so all run at its pace.

    Evidence
    --------
    CPU seconds of the training loop on each rank, at an equal number of steps. Threshold: 2.5 times the median of the others, and five seconds.

    Remedy
    ------
    Divide rows by their cost (length buckets), and take work that only one rank does (writing, evaluation) out of the loop.

    Fault
    -----
        from sabueso.events import Fact
        from sabueso.places import Place
        from sabueso.runs import Run

        def of(rank, cpu):
            line = {"file": "train.py", "line": 30, "function": "encode", "own": cpu / 2, "all": cpu / 2, "train": cpu / 2, "fed": 0.0}
            return [Fact("rank", {"rank": rank, "world": 2, "backend": "gloo"}, Place(rank=rank), process=rank),
                    Fact("hot_lines", {"cpu": cpu, "train": cpu, "steps": 100, "lines": [line]}, Place(rank=rank), process=rank)]

        run = Run(facts=of(0, 40.0) + of(1, 9.0))

    Control
    -------
        from sabueso.events import Fact
        from sabueso.places import Place
        from sabueso.runs import Run

        def of(rank, cpu):
            line = {"file": "train.py", "line": 30, "function": "encode", "own": cpu / 2, "all": cpu / 2, "train": cpu / 2, "fed": 0.0}
            return [Fact("rank", {"rank": rank, "world": 2, "backend": "gloo"}, Place(rank=rank), process=rank),
                    Fact("hot_lines", {"cpu": cpu, "train": cpu, "steps": 100, "lines": [line]}, Place(rank=rank), process=rank)]

        run = Run(facts=of(0, 12.0) + of(1, 9.0))
    """
    ranks = {f.process: f["rank"] for f in rank}
    held = {ranks[f.process]: f for f in latest(hot_lines) if f.process in ranks and f["steps"] >= 4}
    if len(held) < 2 or max(f["steps"] for f in held.values()) > 1.2 * min(f["steps"] for f in held.values()):
        return
    slow = max(held, key=lambda r: held[r]["train"])
    others = sorted(f["train"] for r, f in held.items() if r != slow)
    usual, most = others[len(others) // 2], held[slow]["train"]
    if most < times * usual or most - usual < least_cpu:
        return
    line = max(held[slow].get("lines"), key=lambda x: x["own"], default=None)
    yield Finding(
        says=f"rank {slow} works {most / max(usual, 0.1):.1f} times as long for as many steps as the others, which wait for it",
        place=Place(stage="distributed", rank=slow, file=line["file"] if line else None, line=line["line"] if line else None),
        evidence=[
            (f"CPU seconds of the training loop on rank {slow}", most, f"about {usual}"),
            ("CPU seconds on the others (median)", usual, None),
            ("steps", held[slow]["steps"], None),
        ],
        remedy="divide the rows by their cost among the ranks, and move work that only one rank does out of the loop",
        confidence=0.7,
        verified="fact",
    )
