"""hang."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...places import Place

BROKEN = (
    "timed out",
    "timeout",
    "connection closed",
    "connection reset",
    "closed by peer",
    "watchdog",
    "gloo",
    "nccl",
    "socket",
    "terminated",
)


@check(stage="distributed", severity="error", leads_to=())
def hang(rank: list[Fact], rank_epoch: list[Fact] = None, stalled: list[Fact] = None, crash: list[Fact] = None, rank_end: list[Fact] = None,
         *, least_seconds: float = 4.0) -> Iterator[Finding]:  # fmt: skip
    """One rank waits in a collective operation for another that never comes.

    What it means
    -------------
    A collective (a gradient average, a barrier) ends only when every rank has called it. Here the ranks make different numbers of calls:
    one has a batch more than the other, or takes another branch.

    Why it is bad
    -------------
    The program stands still until a time limit of the backend ends it.

    Evidence
    --------
    The batches of an epoch on each rank, or the lines at which the ranks stood still without using the processor (at least 4 seconds);
    and that the group broke or never came to its end.

    Remedy
    ------
    Give every rank the same number of batches (`drop_last=True`, DistributedSampler), or use `with Join([model]):`.

    Fault
    -----
        from sabueso.events import Fact
        from sabueso.places import Place
        from sabueso.runs import Run

        def of(rank, name, value, line):
            return Fact(name, value, Place(rank=rank, file="train.py", line=line), process=rank)

        epoch = {"batch_size": 10, "drop_last": False, "loader": "loader", "averaging": True, "epoch": 0, "world": 2}
        run = Run(facts=[
            of(0, "rank", {"rank": 0, "world": 2, "backend": "gloo"}, 3), of(1, "rank", {"rank": 1, "world": 2, "backend": "gloo"}, 3),
            of(0, "rank_epoch", {**epoch, "batches": 21, "rows": 201}, 8), of(1, "rank_epoch", {**epoch, "batches": 20, "rows": 200}, 8),
            of(0, "stalled", {"seconds": 12.0, "function": "backward", "stack": ["graph.py:_engine_run_backward"], "steps": 20}, 14),
            of(0, "crash", {"type": "RuntimeError", "message": "Timed out waiting 12000ms for recv operation"}, 14),
        ])

    Control
    -------
        from sabueso.events import Fact
        from sabueso.places import Place
        from sabueso.runs import Run

        def of(rank, name, value, line):
            return Fact(name, value, Place(rank=rank, file="train.py", line=line), process=rank)

        epoch = {"batch_size": 10, "drop_last": True, "loader": "loader", "averaging": True, "epoch": 0, "world": 2}
        run = Run(facts=[
            of(0, "rank", {"rank": 0, "world": 2, "backend": "gloo"}, 3), of(1, "rank", {"rank": 1, "world": 2, "backend": "gloo"}, 3),
            of(0, "rank_epoch", {**epoch, "batches": 20, "rows": 201}, 8), of(1, "rank_epoch", {**epoch, "batches": 20, "rows": 200}, 8),
            of(0, "rank_end", {"steps": 20, "epochs": 1, "collectives": {}, "world": 2}, 8),
            of(1, "rank_end", {"steps": 20, "epochs": 1, "collectives": {}, "world": 2}, 8),
        ])
    """
    world = max((f["world"] for f in rank), default=1)
    waits = [f for f in stalled or [] if f["seconds"] >= least_seconds and f.place.rank is not None]
    broken = [f for f in crash or [] if any(w in f["message"].lower() for w in BROKEN)]
    ended = {f.process for f in rank_end or []} - {f.process for f in crash or []}
    if world < 2 or not (waits or broken) or (len(ended) >= world and not broken):
        return
    uneven = _uneven(rank_epoch or [])
    if uneven is not None:
        yield _of_batches(*uneven, waits, broken)
        return
    at = {f.place.rank: f for f in waits}
    lines = {(f.place.file, f.place.line) for f in at.values()}
    if broken and len(at) >= 2 and len(lines) > 1:
        yield _of_lines(at)


def _uneven(epochs: list[Fact]) -> tuple[Fact, Fact] | None:
    """The first epoch with another number of batches on some rank: (most, fewest)."""
    by_epoch: dict[tuple[str | None, int], dict[int, Fact]] = defaultdict(dict)
    for f in epochs:
        if f["averaging"] and f["batches"] is not None and f.place.rank is not None:
            by_epoch[f.get("loader"), f["epoch"]].setdefault(f.place.rank, f)
    for held in by_epoch.values():
        counts = sorted(held.values(), key=lambda f: f["batches"])
        if len(held) > 1 and counts[0]["batches"] < counts[-1]["batches"]:
            return counts[-1], counts[0]
    return None


def _of_batches(most: Fact, fewest: Fact, waits: list[Fact], broken: list[Fact]) -> Finding:
    loader, longest = fewest.get("loader") or "the loader", max((f["seconds"] for f in waits), default=None)
    stood = [f"rank {f.place.rank} at line {f.place.line}" for f in {f.place.rank: f for f in waits}.values()]
    evidence = [
        (f"batches of epoch {most['epoch']} on rank {most.place.rank}", most["batches"], "the same on every rank"),
        (f"batches of epoch {fewest['epoch']} on rank {fewest.place.rank}", fewest["batches"], most["batches"]),
        ("rows on these ranks", [most["rows"], fewest["rows"]], None),
    ]
    if longest is not None:
        evidence.append(("seconds stood still", longest, f"0 ({', '.join(stood)})"))
    if broken:
        evidence.append(("the group broke with", broken[0]["message"].strip().splitlines()[-1][-160:], None))
    return Finding(
        says=f"rank {most.place.rank} has {most['batches']} batches an epoch and rank {fewest.place.rank} has {fewest['batches']}: "
        f"the last gradient average of rank {most.place.rank} waits for a partner that has left the loop",
        place=fewest.place.but(stage="distributed", step=fewest["batches"], epoch=fewest["epoch"], module=fewest.get("loader")),
        evidence=evidence[:5],
        remedy=f"give every rank the same number of batches: `drop_last=True` in {loader}, a DistributedSampler, or `with Join([model]):`",
        confidence=0.96,
        verified="fact",
        covers=("crash",),
    )


def _of_lines(at: dict[int, Fact]) -> Finding:
    lines = {r: f.place.line for r, f in sorted(at.items())}
    counts = list(lines.values())
    odd = min(lines, key=lambda r: (counts.count(lines[r]), -r))
    where = ", ".join(f"rank {r} at line {n}" for r, n in lines.items())
    place: Place = at[odd].place
    return Finding(
        says=f"the ranks wait for each other at different places: {where}",
        place=place.but(stage="distributed"),
        evidence=[(f"seconds that rank {r} stood still at line {f.place.line}", f["seconds"], 0) for r, f in sorted(at.items())[:4]],
        remedy="let every rank make the same collective calls in order: none within `if rank == 0:` or a branch that only some take",
        confidence=0.8,
        verified="fact",
    )
