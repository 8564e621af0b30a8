"""nondeterministic-op."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact
from ...findings import Finding


@check(stage="reproducibility", severity="warning")
def nondeterministic_op(completion_order: list[Fact], *, least_moved: int = 2) -> Iterator[Finding]:
    """Data is put together in the order in which threads happened to finish.

    What it means
    -------------
    Results of parallel work are taken as they come (`as_completed`) and stacked in that order: rows stand elsewhere in each run.

    Why it is bad
    -------------
    A seed fixes the split and the order of batches by row number; with other rows behind the numbers two runs train on different data.

    Evidence
    --------
    The order in which the futures ended against the order in which they were submitted, and the name under which the results are gathered,
    joined and not sorted. Threshold: two out of place.

    Remedy
    ------
    Take the results in the order of submission: `[f.result() for f in futures]`, or `pool.map`.

    Fault
    -----
        import time
        from concurrent.futures import ThreadPoolExecutor, as_completed

        import numpy as np

        def block(i):
            time.sleep(0.02 * (7 - i))
            return np.full(3, i)

        with ThreadPoolExecutor(8) as pool:
            parts = [f.result() for f in as_completed([pool.submit(block, i) for i in range(8)])]  # sabueso: nondeterministic-op
        print(np.concatenate(parts))

    Control
    -------
        import time
        from concurrent.futures import ThreadPoolExecutor, as_completed

        import numpy as np

        def block(i):
            time.sleep(0.02 * (7 - i))
            return np.full(3, i)

        with ThreadPoolExecutor(8) as pool:
            place = {pool.submit(block, i): i for i in range(8)}
            parts = [None] * 8
            for f in as_completed(list(place)):
                parts[place[f]] = f.result()
        print(np.concatenate(parts))
    """
    for fact in completion_order:
        if fact["moved"] < least_moved:
            continue
        yield Finding(
            says=f"{fact['name']} is put together in the order in which {fact['futures']} threads finished: another one in each run",
            place=fact.place.but(stage="reproducibility", step=None, tensor=fact["name"]),
            evidence=[
                ("results that stand elsewhere than submitted", fact["moved"], 0),
                ("results", fact["futures"], None),
                ("submitted as 0, 1, 2, .., finished as", fact["order"], "0, 1, 2, .."),
            ],
            remedy="take the results in the order of submission: `[f.result() for f in futures]` or `list(pool.map(..))` in place of as_completed",
            confidence=0.9,
            verified="fact",
        )
