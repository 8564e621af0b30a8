"""rank-divergence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(stage="distributed", severity="error", leads_to=("not-learning", "learning-rate-too-high"))
def rank_divergence(rank_weights: list[Fact], *, apart: float = 0.1, least_steps: int = 2) -> Iterator[Finding]:
    """The ranks average their gradients but hold different weights.

    What it means
    -------------
    Each process trains its own model: nothing gave them the same weights at the start (or one of them stopped following).

    Why it is bad
    -------------
    The averaged gradient belongs to none of the models; each follows a mixture of all, and what is saved is only one of them.

    Evidence
    --------
    The first values of every parameter on each rank before the same step, where gradients are averaged. Threshold: a difference above 10
    % of the spread of the values, at every step that was looked at: equal weights and averaged gradients keep ranks equal to the last
    bits.

    Remedy
    ------
    Copy the weights of rank 0 to all before the first step (`dist.broadcast(p.data, src=0)` for each parameter), or wrap the model in
    DistributedDataParallel.

    Fault
    -----
        from sabueso.events import Fact
        from sabueso.places import Place
        from sabueso.runs import Run

        def weights(rank, step, values):
            value = {"step": step, "values": values, "world": 2, "averaging": True, "count": 3, "model": "net"}
            return Fact("rank_weights", value, Place(rank=rank, module="net", file="train.py", line=9, step=step), process=rank)

        run = Run(facts=[
            weights(0, 0, [0.1, -0.2, 0.3]), weights(1, 0, [0.3, 0.1, -0.1]), weights(0, 1, [0.1, -0.1, 0.3]), weights(1, 1, [0.3, 0.2,
            -0.1]),
        ])

    Control
    -------
        from sabueso.events import Fact
        from sabueso.places import Place
        from sabueso.runs import Run

        def weights(rank, step, values):
            value = {"step": step, "values": values, "world": 2, "averaging": True, "count": 3, "model": "net"}
            return Fact("rank_weights", value, Place(rank=rank, module="net", file="train.py", line=9, step=step), process=rank)

        run = Run(facts=[
            weights(0, 0, [0.1, -0.2, 0.3]), weights(1, 0, [0.1, -0.2, 0.3]), weights(0, 1, [0.1, -0.1, 0.3]), weights(1, 1, [0.1, -0.1,
            0.3]),
        ])

    Known limits
    ------------
    Sharded models and local steps between averagings hold different weights on purpose: these are left alone.
    """
    by_step: dict[tuple[str, int], dict[int, Fact]] = defaultdict(dict)
    for fact in rank_weights:
        if fact.place.rank is not None:
            by_step[fact.get("optimizer", ""), fact["step"]][fact.place.rank] = fact
    rows = [(step, held, _difference(held)) for (_, step), held in sorted(by_step.items(), key=lambda x: x[0][1]) if len(held) > 1]
    averaged = any(f["averaging"] for f in rank_weights)
    rows = [r for r in rows if r[2] is not None]
    if not averaged or len(rows) < least_steps or not all(r[2] > apart for r in rows[-least_steps:]):
        return
    step, held, difference = next(r for r in rows if r[2] > apart)
    first = held[min(held)]
    name = first.get("model") or first.place.module or "the model"
    yield Finding(
        says=f"{name} has different weights on the ranks before step {step} (their values differ by {difference:.0%} of their spread), "
        "while the gradients are averaged over the ranks",
        place=first.place.but(stage="distributed", step=step, rank=None, module=name if name != "the model" else None),
        evidence=[
            (f"difference between ranks before step {step}, relative to the spread of the values", round(difference, 3), 0),
            (f"the same before step {rows[-1][0]}", round(rows[-1][2], 3), 0),
            ("first values on rank " + str(min(held)), [round(v, 4) for v in held[min(held)]["values"][:4]], None),
            ("first values on rank " + str(max(held)), [round(v, 4) for v in held[max(held)]["values"][:4]], "the same"),
        ],
        remedy=f"after {name} is built, copy rank 0's weights to all ranks: "
        f"`for p in {name.split('.')[0]}.parameters(): dist.broadcast(p.data, src=0)`, or wrap it in DistributedDataParallel",
        confidence=0.95,
        verified="fact",
    )


def _difference(held: dict[int, Fact]) -> float | None:
    """Largest difference to the lowest rank, relative to the spread; None where the ranks hold other parameters."""
    values = [np.asarray(held[r]["values"], float) for r in sorted(held)]
    if len({len(v) for v in values}) != 1 or len({held[r]["count"] for r in held}) != 1:
        return None
    spread = float(np.std(values[0])) or 1.0
    worst = max(float(np.sqrt(np.mean((v - values[0]) ** 2))) for v in values[1:])
    return worst / spread if np.isfinite(worst) else None
