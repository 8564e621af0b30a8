"""sampler-epoch."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(stage="distributed", severity="warning", leads_to=("overfitting",), interventions=("sampler told the epoch",))
def sampler_epoch(sampler_epochs: list[Fact], *, least: int = 3) -> Iterator[Finding]:
    """A distributed sampler is never told the epoch, so every epoch has the same order.

    What it means
    -------------
    DistributedSampler draws its permutation from seed + epoch number; without `set_epoch` the number stays 0.

    Why it is bad
    -------------
    Each epoch brings the same batches in the same order, and each rank only ever sees its own share of the rows.

    Evidence
    --------
    The sampler's epoch number each time that it was asked for an order. Threshold: three epochs of a shuffling sampler, all with one
    number.

    Remedy
    ------
    Call `sampler.set_epoch(epoch)` at the beginning of each epoch.

    Fault
    -----
        from sabueso.events import Fact
        from sabueso.places import Place
        from sabueso.runs import Run

        value = {"epochs": [0, 0, 0, 0], "shuffle": True, "name": "sampler", "class": "DistributedSampler", "steps": 400, "world": 2}
        run = Run(facts=[Fact("sampler_epochs", value, Place(rank=0, file="train.py", line=20))])

    Control
    -------
        from sabueso.events import Fact
        from sabueso.places import Place
        from sabueso.runs import Run

        value = {"epochs": [0, 1, 2, 3], "shuffle": True, "name": "sampler", "class": "DistributedSampler", "steps": 400, "world": 2}
        run = Run(facts=[Fact("sampler_epochs", value, Place(rank=0, file="train.py", line=20))])
    """
    told: set[tuple[str | None, int | None]] = set()
    by_sampler = {(f.process, f["name"], f.place.line): f for f in sampler_epochs}
    for fact in by_sampler.values():
        where = (fact.place.file, fact.place.line)
        epochs = fact["epochs"]
        if where in told or not fact["shuffle"] or fact["world"] < 2 or len(epochs) < least or len(set(epochs)) > 1 or not fact["steps"]:
            continue
        told.add(where)
        yield Finding(
            says=f"{fact['name']} was asked for {len(epochs)} epochs and stood at epoch {epochs[0]} each time: all have the same order",
            place=fact.place.but(stage="distributed", rank=None, epoch=1, step=None, module=fact["name"]),
            evidence=[
                ("epochs asked of the sampler", len(epochs), None),
                ("different epoch numbers that it was given", len(set(epochs)), len(epochs)),
                ("shuffle", True, None),
            ],
            remedy=f"call `{fact['name']}.set_epoch(epoch)` before the loop over the loader in each epoch",
            confidence=0.93,
            verified="fact",
        )
