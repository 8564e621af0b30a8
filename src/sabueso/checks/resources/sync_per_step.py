"""sync-per-step."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact, latest
from ...findings import Finding
from ...places import Place


@check(stage="resources", severity="warning")
def sync_per_step(host_reads: list[Fact], hot_lines: list[Fact], *, least_reads: int = 25, share: float = 0.4, least_cpu: float = 0.3) -> Iterator[Finding]:
    """Every training step reads many single values back to Python.

    What it means
    -------------
    A line of the training loop (a journal, a monitor, a hand-made metric) calls `.item()`, `float()` or `tolist()` dozens of times in
    each step.

    Why it is bad
    -------------
    Each read is a small operation of its own, and on an accelerator each waits until the device has finished all that was asked of it.

    Evidence
    --------
    Reads by the person's own code a step, the median of sampled steps, under one line of the loop; and that line's share of the loop's
    CPU time. Threshold: 25 reads a step (loss, accuracy and a norm are three) and 40 % of the time.

    Remedy
    ------
    Do it every hundredth step; gather the values in one tensor (`torch.stack(..)`) and read that once.

    Fault
    -----
        import torch

        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(8, 20), torch.nn.ReLU(), torch.nn.Linear(20, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        x = torch.randn(64, 8)

        def norms(net):
            return [[row.quantile(q).item() for q in (0.1, 0.5, 0.9) for row in p.grad] for p in net.parameters()]

        for step in range(500):
            loss = (net(x) - x[:, :1]).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            norms(net)  # sabueso: sync-per-step

    Control
    -------
        import torch

        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        x = torch.randn(64, 8)
        for step in range(1200):
            loss = (net(x) - x[:, :1]).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 0:
                print(step, loss.item(), [p.norm().item() for p in net.parameters()])

    Known limits
    ------------
    Reads within a library (a logger's own `.item()`) are not counted.
    """
    last = {(f.process, f["file"], f["line"]): f for f in host_reads}
    for fact in latest(hot_lines):
        spent = {(fact.process, x["file"], x["line"]): x for x in fact["lines"]}
        for key, read in last.items():
            line = spent.get(key)
            if line is None or read["median"] < least_reads or read["steps"] < 4:
                continue
            part = line["train"] / max(fact["train"], 1e-9)
            if line["train"] < least_cpu or part < share:
                continue
            yield Finding(
                says=f"each training step reads {read['median']:.0f} single values back to Python at this line, {part:.0%} of the loop's time",
                place=Place(stage="resources", file=read["file"], line=read["line"]),
                evidence=[
                    ("reads of single values a step (median of sampled steps)", read["median"], "a few"),
                    ("share of the training loop's CPU time", round(part, 3), f"under {share}"),
                    ("sampled steps", read["steps"], None),
                ],
                remedy=f"call line {read['line']} every hundredth step (`if step % 100 == 0:`), or stack the values in one tensor and read it once",
                confidence=0.9,
                verified="fact",
            )
