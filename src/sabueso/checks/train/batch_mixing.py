"""batch-mixing."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...places import Place


@check(stage="train", severity="error", leads_to=("not-learning", "underfitting", "overfitting", "shape-mismatch", "misleading-metric"))
def batch_mixing(batch_mixing: list[Fact], *, least: int = 2) -> Iterator[Finding]:
    """A layer takes the rows of the batch for steps in time, or a reshape tears them, so that they influence each other.

    What it means
    -------------
    Recurrent and attention layers expect (time, batch, features) unless `batch_first=True`; given (batch, time, features) they run along
    the batch. A `view` to (time, batch, features) does not exchange axes: it cuts the same memory anew, and each row is pieced together of others.
    Why it is bad
    -------------
    What is answered for one row depends on which others come before it, and time within a row is not seen at all.
    Evidence
    --------
    The shape given to a layer with `batch_first=False` whose first axis is as long as the model's input has rows and the loss has targets, one
    a row, in at least two sampled steps. Or a reshape between the model's input and that loss after which an axis is as long as the batch but
    the rows lie along none: followed by shapes through every operation, and only as far as they are sure.
    Remedy
    ------
    `batch_first=True`; `permute` or `transpose` where a `view` was to exchange axes.
    Fault
    -----
        import torch
        from torch import nn

        torch.manual_seed(0)
        x, y = torch.randn(24, 7, 3), torch.randint(0, 2, (24,))


        class Reader(nn.Module):
            def __init__(self):
                super().__init__()
                self.gru = nn.GRU(3, 8)  # sabueso: batch-mixing
                self.head = nn.Linear(8, 2)

            def forward(self, x):
                return self.head(self.gru(x)[0][:, -1])


        net = Reader()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(8):
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    Control
    -------
        import torch
        from torch import nn

        torch.manual_seed(0)
        x, y = torch.randn(24, 7, 3), torch.randint(0, 2, (24,))


        class Reader(nn.Module):
            def __init__(self):
                super().__init__()
                self.gru = nn.GRU(3, 8, batch_first=True)
                self.head = nn.Linear(8, 2)

            def forward(self, x):
                return self.head(self.gru(x)[0][:, -1])


        net = Reader()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(8):
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    References
    ----------
    PyTorch documentation, GRU and MultiheadAttention: batch_first.
    """
    by_module: dict[tuple[int, str | None, int | None], list[Fact]] = {}
    for fact in batch_mixing:
        by_module.setdefault((fact.process, fact.place.module, fact.place.line if fact.get("how") else None), []).append(fact)
    for (_, module, _), facts in by_module.items():
        if len(facts) < least:
            continue
        first = facts[0]
        if first.get("how") == "reshape":
            yield torn(first, len(facts))
            continue
        yield Finding(
            says=f"`{module}` ({first['class']}, batch_first=False) runs along the {first['batch']} rows of the batch as if they were steps in time",
            place=Place(stage="train", file=first.place.file, line=first.place.line, step=first.place.step, module=module),
            evidence=[
                (f"shape given to `{module}`", str(tuple(first["shape"])), "(time, batch, features)"),
                ("rows of the batch, each with its own target", first["batch"], first["shape"][1]),
            ],  # fmt: skip
            remedy=f"batch_first=True where `{module}` is built",
            edit=("keyword", first["class"], "batch_first", "True"),
            confidence=0.93,
            verified="fact",
        )


def torn(fact: Fact, times: int) -> Finding:
    """A reshape in place of a transpose."""
    shape, result, rows = tuple(fact["shape"]), tuple(fact["result"]), fact["batch"]
    into = f", as `{fact.place.module}` is given them" if fact.place.module else ""
    where = result.index(rows)
    return Finding(
        says=f"`{fact['op']}` cuts {shape} anew into {result}{into}: the {rows} rows of the batch do not lie along axis {where} then, each is pieced "
        "together of several",
        place=fact.place,
        evidence=[
            (f"axis along which the rows of the batch lie before line {fact.place.line}", fact["axis"], None),
            ("axes of the result along which they lie", "none", where),
            ("sampled steps in which it was so", times, 0),
        ],
        remedy=f"exchange the axes in line {fact.place.line} (transpose({fact['axis']}, {where}), or permute), and reshape after that",
        confidence=0.95,
        verified="fact",
    )
