"""same-data-each-rank."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact, latest
from ...findings import Finding


@check(stage="distributed", severity="error", leads_to=("hang",))
def same_data_each_rank(rank_batches: list[Fact], *, least: int = 4) -> Iterator[Finding]:
    """Every rank trains on the same batches.

    What it means
    -------------
    The data is not divided among the processes: with the same seed each draws the same rows in the same order.

    Why it is bad
    -------------
    All ranks compute the same gradient; their number buys nothing, and an epoch takes as many steps as on one process.

    Evidence
    --------
    Fingerprints (row numbers and bytes) of the first training batches, laid side by side where gradients are averaged over the ranks.
    Threshold: at least four batches, all equal and not all the same: of independent draws not even two would agree.

    Remedy
    ------
    Give the loader a `DistributedSampler(dataset, num_replicas=world, rank=rank)` in place of `shuffle=True`, and call its set_epoch.

    Fault
    -----
        from sabueso.events import Fact
        from sabueso.places import Place
        from sabueso.runs import Run

        def batches(rank, prints):
            value = {"world": 2, "batches": prints, "averaging": True, "sampler": "RandomSampler", "loader": "loader"}
            return Fact("rank_batches", value, Place(rank=rank, file="train.py", line=12), process=rank)

        run = Run(facts=[batches(0, ["a1", "b2", "c3", "d4"]), batches(1, ["a1", "b2", "c3", "d4"])])

    Control
    -------
        from sabueso.events import Fact
        from sabueso.places import Place
        from sabueso.runs import Run

        def batches(rank, prints):
            value = {"world": 2, "batches": prints, "averaging": True, "sampler": "DistributedSampler", "loader": "loader"}
            return Fact("rank_batches", value, Place(rank=rank, file="train.py", line=12), process=rank)

        run = Run(facts=[batches(0, ["a1", "b2", "c3", "d4"]), batches(1, ["e5", "f6", "a7", "b8"])])

    Known limits
    ------------
    Only what a DataLoader hands out is seen.
    """
    last = [f for f in latest(rank_batches) if f.place.rank is not None and len(f["batches"]) >= least]
    ranks = {f.place.rank: f for f in last}
    if len(ranks) < 2 or not any(f["averaging"] for f in last):
        return
    shown = min(len(f["batches"]) for f in ranks.values())
    prints = [f["batches"][:shown] for f in ranks.values()]
    if any(p != prints[0] for p in prints) or len(set(prints[0])) < least:
        return
    first = ranks[min(ranks)]
    name = first.get("loader") or "the loader"
    yield Finding(
        says=f"all {len(ranks)} ranks train on the same batches: the first {shown} of {name} are equal on every rank",
        place=first.place.but(stage="distributed", rank=None, step=0, module=first.get("loader")),
        evidence=[
            ("first training batches that are equal on all ranks", f"{shown} of {shown}", "none"),
            ("ranks compared", len(ranks), None),
            (f"sampler of {name}", first["sampler"], "DistributedSampler"),
        ],
        remedy="build the loader with `sampler=DistributedSampler(dataset, num_replicas=world, rank=rank)` in place of shuffle=True, "
        "and call `sampler.set_epoch(epoch)` each epoch",
        confidence=0.95,
        verified="fact",
    )
