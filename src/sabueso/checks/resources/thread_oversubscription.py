"""thread-oversubscription."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(stage="resources", severity="warning")
def thread_oversubscription(threads_set: list[Fact], *, times: float = 8.0) -> Iterator[Finding]:
    """Many more threads are asked for than there are processors.

    What it means
    -------------
    Each process sets a number of threads made for a larger machine, or several processes each ask for all of it.

    Why it is bad
    -------------
    The threads of every small matrix product wait for each other to be given a processor; the program is slower than with one thread.

    Evidence
    --------
    Threads asked for, times the processes that ask, against the processors that the process may use (affinity and control group). Threshold: eight
    times as many; twice as many does little harm.

    Remedy
    ------
    Set the threads to the processors divided by the processes (`torch.set_num_threads(max(1, cores // workers))`).

    Fault
    -----
        from sabueso.events import Fact
        from sabueso.places import Place
        from sabueso.runs import Run

        asked = {"threads": 48, "cores": 2, "function": "torch.set_num_threads"}
        run = Run(facts=[Fact("threads_set", asked, Place(file="train.py", line=16), process=p) for p in (1, 2)])

    Control
    -------
        from sabueso.events import Fact
        from sabueso.places import Place
        from sabueso.runs import Run

        asked = {"threads": 4, "cores": 2, "function": "torch.set_num_threads"}
        run = Run(facts=[Fact("threads_set", asked, Place(file="train.py", line=16))])
    """
    last = {f.process: f for f in threads_set}
    by_line: dict[tuple[str | None, int | None], list[Fact]] = {}
    for fact in last.values():
        by_line.setdefault((fact.place.file, fact.place.line), []).append(fact)
    for held in by_line.values():
        worst = max(held, key=lambda f: f["threads"])
        threads, cores = worst["threads"], worst["cores"]
        total = sum(f["threads"] for f in held[: max(1, cores)])  # more processes than processors run in turn
        if threads <= cores or total < times * cores:
            continue
        share = max(1, cores // len(held))
        yield Finding(
            says=f"{len(held)} process{'es' if len(held) > 1 else ''} ask for {threads} threads each on {cores} processors",
            place=worst.place.but(stage="resources", step=1),
            evidence=[
                ("threads asked for in a process", threads, f"at most {cores}"),
                ("processes that ask", len(held), None),
                ("processors that may be used", cores, None),
            ],
            remedy=f"set {worst['function']}({share}): {cores} processors shared by {len(held)} process{'es' if len(held) > 1 else ''}",
            confidence=0.9,
            verified="fact",
        )
