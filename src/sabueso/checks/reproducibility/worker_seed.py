"""worker-seed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(stage="reproducibility", severity="error", leads_to=("duplicate-augmentation", "overfitting", "underfitting"), interventions=("workers 0",))
def worker_seed(worker_random: list[Fact]) -> Iterator[Finding]:
    """Workers of a data loader draw the same random numbers as each other, or in every epoch anew.

    What it means
    -------------
    Each worker is a process with random streams of its own. Seeded alike (a constant in worker_init_fn, a generator built anew for each
    epoch), they all make the same noise, crops and flips, and do so again in each epoch, since workers start afresh then.
    Why it is bad
    -------------
    Augmentation that looks random repeats a few patterns; the model learns these.
    Evidence
    --------
    The state of the streams that the first batch of each worker drew from, before and after. Equal states before and equal ones after mean
    the same numbers. Told for shuffled loaders only; no threshold but that two workers, or two epochs, agree.
    Remedy
    ------
    Leave worker_init_fn out (torch seeds NumPy, random and itself by worker and epoch), or seed from `torch.initial_seed() % 2**32`.
    Fault
    -----
        from sabueso.events import Fact
        from sabueso.places import Place
        from sabueso.runs import Run

        def of(worker, epoch, before, after):
            value = {"number": 0, "epoch": epoch, "workers": 2, "dataset": "Noisy", "shuffled": True, "line": ["train.py", 40],
                     "init": ["train.py", 12, "seed_worker"], "worker": worker, "drawn": {"numpy": [before, after]}, "samples": 25}
            return Fact("worker_random", value, Place(file="train.py", line=40))

        run = Run(facts=[of(w, e, "a1", "b2") for e in range(3) for w in range(2)])
    Control
    -------
        from sabueso.events import Fact
        from sabueso.places import Place
        from sabueso.runs import Run

        def of(worker, epoch, before, after):
            value = {"number": 0, "epoch": epoch, "workers": 2, "dataset": "Noisy", "shuffled": True, "line": ["train.py", 40],
                     "init": ["train.py", 12, "seed_worker"], "worker": worker, "drawn": {"numpy": [before, after]}, "samples": 25}
            return Fact("worker_random", value, Place(file="train.py", line=40))

        run = Run(facts=[of(w, e, f"a{w}{e}", f"b{w}{e}") for e in range(3) for w in range(2)])
    References
    ----------
    PyTorch, Randomness in multi-process data loading.
    """
    loaders: dict[int, list[Fact]] = defaultdict(list)
    for fact in worker_random:
        loaders[fact["number"]].append(fact)
    for facts in loaders.values():
        for stream in dict.fromkeys(s for f in facts for s in f["drawn"]):
            drew = [(f, tuple(f["drawn"][stream])) for f in facts if stream in f["drawn"]]
            if len(drew) > 1 and len({d for _, d in drew}) < len(drew):
                yield finding([f for f, _ in drew], stream, len({d for _, d in drew}))
                return


def finding(facts: list[Fact], stream: str, distinct: int) -> Finding:
    """Where the seed is set, and how often the numbers repeat."""
    first, epochs = facts[0], {f["epoch"] for f in facts}
    workers = {f["worker"] for f in facts}
    own = (first.get("own") or {}).get(stream)
    name = {"numpy": "np.random", "python": "random"}.get(stream, f"the generator `{stream}` of the data set")
    says = f"{len(facts)} workers started in {len(epochs)} epochs draw from {name} only {distinct} sequence{'s' * (distinct > 1)} of numbers"
    evidence = [
        (f"distinct sequences drawn from {name}", distinct, len(facts)),
        ("workers of the loader", len(workers), None),
        ("epochs looked at", len(epochs), None),
    ]
    init = first.get("init") if stream in ("numpy", "python") else None
    place = first.place.but(stage=None, step=None)
    if stream not in ("numpy", "python"):
        place = place.but(file=own[0], line=own[1]) if own else place
        remedy = f"each worker gets a copy of `{stream}`, in each epoch anew: draw from torch's stream, or make it in the worker from torch.initial_seed()"
    elif init:
        place = place.but(file=init[0], line=init[1])
        remedy = f"seed from the worker's own seed in {init[2]}: np.random.seed(torch.initial_seed() % 2**32), or leave worker_init_fn out"
    else:
        remedy = "do not build the loader's generator anew with the same seed for each epoch; torch seeds the workers itself"
    return Finding(says, place, evidence, remedy, confidence=0.95, verified="fact")
