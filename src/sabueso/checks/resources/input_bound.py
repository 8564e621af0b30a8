"""input-bound."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact, latest
from ...findings import Finding
from ...places import Place


@check(stage="resources", severity="warning")
def input_bound(hot_lines: list[Fact], *, share: float = 0.85, least_cpu: float = 1.0, least_ms: float = 15.0) -> Iterator[Finding]:
    """Nearly all of the training time goes into making the batches.

    What it means
    -------------
    The loader calls the data set's own code for each row, and that code takes far longer than the training step that waits for it.

    Why it is bad
    -------------
    The model (and an accelerator) stands idle; training takes many times longer than it needs to.

    Evidence
    --------
    CPU seconds of the main thread in the data set's code within the loader, against all of the training loop, from 20 looks a second.
    Threshold: 85 % of the loop, and 15 ms a step: below, a small model makes any loader look slow.

    Remedy
    ------
    Do once what is done for each row (open, decompress, parse, decode in `__init__` or into an array on disk), then use workers.

    Fault
    -----
        import io

        import numpy as np
        import torch

        text = "\\n".join(",".join("%.3f" % v for v in row) for row in np.random.default_rng(0).random((1800, 40)))

        class Rows(torch.utils.data.Dataset):
            def __len__(self):
                return 30

            def __getitem__(self, i):
                table = np.array([[float(v) for v in row.split(",")] for row in text.split("\\n")])  # sabueso: input-bound
                return torch.tensor(table[i], dtype=torch.float32)

        torch.manual_seed(0)
        net = torch.nn.Linear(40, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for epoch in range(7):
            for x in torch.utils.data.DataLoader(Rows(), batch_size=5):
                opt.zero_grad()
                (net(x) - x.mean(1, keepdim=True)).square().mean().backward()
                opt.step()

    Control
    -------
        import numpy as np
        import torch

        class Rows(torch.utils.data.Dataset):
            def __init__(self):
                self.table = np.random.default_rng(0).random((900, 40)).astype("float32")

            def __len__(self):
                return 900

            def __getitem__(self, i):
                return torch.from_numpy(self.table[i]) * 2

        torch.manual_seed(0)
        net = torch.nn.Linear(40, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for epoch in range(7):
            for x in torch.utils.data.DataLoader(Rows(), batch_size=10):
                opt.zero_grad()
                (net(x) - x.mean(1, keepdim=True)).square().mean().backward()
                opt.step()

    Known limits
    ------------
    With worker processes only the waiting is seen, not the line in the worker.
    """
    for fact in latest(hot_lines):
        fed = [x for x in fact["lines"] if x["fed"] > 0]
        steps, total = fact["steps"], sum(x["fed"] for x in fed)
        if not fed or steps < 4 or total < least_cpu or total < share * fact["train"] or total / steps * 1000 < least_ms:
            continue
        worst = max(fed, key=lambda x: x["fed"])
        rest = max(fact["train"] - total, 0.0)
        yield Finding(
            says=f"{total / fact['train']:.0%} of the training loop goes into reading rows: a step waits {total / steps * 1000:.0f} ms "
            f"for its batch and works {rest / steps * 1000:.1f} ms on it",
            place=Place(stage="resources", file=worst["file"], line=worst["line"]),
            evidence=[
                (
                    "share of the training loop's CPU time in the data set's code",
                    round(min(1.0, total / fact["train"]), 3),
                    f"under {share}",
                ),
                ("ms a step for its rows", round(total / steps * 1000, 1), f"under the {rest / steps * 1000:.1f} ms of the step itself"),
                ("CPU seconds at this line", round(worst["fed"], 2), None),
            ],
            remedy=f"do the work of line {worst['line']} once, when the data set is built (or store the rows decoded), and let __getitem__ only pick row i",
            confidence=0.85,
            verified="fact",
        )
