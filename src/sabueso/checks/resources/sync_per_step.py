"""sync-per-step."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact, latest
from ...findings import Finding
from ...places import Place

MANY = 300  # reads a step that are too many even where each is cheap: on an accelerator each waits for all that was asked of it


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
    CPU time, all such lines of a file together. Threshold: 25 reads a step (loss, accuracy and a norm are three) and 40 % of the time; 300
    reads and 2 % (on an accelerator they would be most of it).

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
        reading = [(read, spent[key]) for key, read in last.items() if key in spent and read["median"] >= least_reads and read["steps"] >= 4]
        for file in sorted({read["file"] for read, _ in reading}):
            mine = sorted((r for r in reading if r[0]["file"] == file), key=lambda r: -r[1]["train"])
            seconds = sum(line["train"] for _, line in mine)
            part = seconds / max(fact["train"], 1e-9)
            many = sum(read["median"] for read, _ in mine) >= MANY and part >= share / 20
            if seconds >= least_cpu and part >= share or many:
                yield told([read for read, _ in mine], part, share)


def told(reads: list[Fact], part: float, share: float) -> Finding:
    """The finding of the lines of one file that read values back, the costliest first."""
    first, values = reads[0], sum(r["median"] for r in reads)
    lines = "this line" if len(reads) == 1 else f"lines {', '.join(str(n) for n in sorted(r['line'] for r in reads)[:4])}"
    return Finding(
        says=f"each training step reads {values:.0f} single values back to Python at {lines}, {part:.0%} of the loop's time",
        place=Place(stage="resources", file=first["file"], line=first["line"]),
        evidence=[
            ("reads of single values a step (median of sampled steps)", values, "a few"),
            ("share of the training loop's CPU time", round(part, 3), f"under {share}"),
            ("sampled steps", first["steps"], None),
        ],
        remedy=f"call line {first['line']} every hundredth step (`if step % 100 == 0:`), or stack the values in one tensor and read it once",
        confidence=0.9,
        verified="fact",
    )
