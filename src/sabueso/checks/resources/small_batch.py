"""small-batch."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact, latest
from ...findings import Finding


@check(stage="resources", severity="warning")
def small_batch(
    loader_use: list[Fact], hot_lines: list[Fact], *, most_rows: float = 2.0, least_steps: int = 1000, least_cpu: float = 1.0, small: int = 5_000_000
) -> Iterator[Finding]:
    """A small model takes a step for every row or two.

    What it means
    -------------
    The loader hands out one row (or two) at a time, all of one shape, and the optimizer steps on each.

    Why it is bad
    -------------
    A step has a fixed cost (Python, the loader, the optimizer) of some hundred microseconds, whatever it works on; with one row nearly all the time is
    that cost, and the processor's wide units do nothing.

    Evidence
    --------
    Rows a step and the number of steps, the model's size, the CPU time a step. Threshold: at most two rows, 1,000 steps, at least 64 steps' worth
    of rows to choose from, fewer than five million parameters (a large model may have room for no more), and rows of one shape.

    Remedy
    ------
    Take 32 to 128 rows a step, with a learning rate raised to match.

    Fault
    -----
        import torch
        from torch.utils.data import DataLoader, TensorDataset

        torch.manual_seed(0)
        x = torch.randn(700, 8)
        loader = DataLoader(TensorDataset(x, x[:, :1]), batch_size=1, shuffle=True)  # sabueso: small-batch
        net = torch.nn.Linear(8, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.005)
        for epoch in range(8):
            for xb, yb in loader:
                opt.zero_grad()
                (net(xb) - yb).square().mean().backward()
                opt.step()

    Control
    -------
        import torch
        from torch.utils.data import DataLoader, TensorDataset

        torch.manual_seed(0)
        x = torch.randn(700, 8)
        loader = DataLoader(TensorDataset(x, x[:, :1]), batch_size=32, shuffle=True)
        net = torch.nn.Linear(8, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(8):
            for xb, yb in loader:
                opt.zero_grad()
                (net(xb) - yb).square().mean().backward()
                opt.step()
    """
    spent = {f.process: f for f in latest(hot_lines)}
    for fact in latest(loader_use):
        steps, rows = fact["steps"], fact["rows"]
        a_step = fact["rows_a_step"] * fact["backwards"] / max(1, steps)
        hot = spent.get(fact.process)
        if hot is None or not 0 < a_step <= most_rows or steps < least_steps or not rows or rows < 64 * a_step:
            continue
        if fact["shapes"] != 1 or fact["parameters"] >= small or hot["train"] < least_cpu:
            continue
        cost = hot["train"] / steps * 1e6
        yield Finding(
            says=f"{steps:,} steps of {a_step:.0f} row each, on a model of {fact['parameters']:,} parameters: nearly all of the {cost:.0f} "
            "microseconds a step is the fixed cost of a step",
            place=fact.place.but(stage="resources", step=1, tensor=fact["target"]),
            evidence=[
                ("rows a step", round(a_step, 2), "32 to 128"),
                ("steps", steps, f"about {max(1, round(steps * a_step / 64)):,} with 64 rows"),
                ("microseconds of CPU a step", round(cost), None),
                ("rows in the data set", rows, None),
            ],
            remedy=f"set batch_size of {fact['loader'] or 'the loader'} to 64 in place of {fact['batch_size']} (and the learning rate higher to match)",
            edit=("keyword", "DataLoader", "batch_size", "64", 1),
            confidence=0.85,
            verified="fact",
        )
