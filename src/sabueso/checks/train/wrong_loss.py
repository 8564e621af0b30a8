"""wrong-loss."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...places import Place


@check(stage="train", severity="error", leads_to=("not-learning", "underfitting", "misleading-metric", "learning-rate-too-low"))
def wrong_loss(loss_call: list[Fact], *, least: int = 2) -> Iterator[Finding]:
    """The loss is made for another kind of target.

    What it means
    -------------
    Cross-entropy over classes that exclude each other is given rows with several labels.
    Why it is bad
    -------------
    The labels of a row compete for one probability: none of them can come near 1.
    Evidence
    --------
    Targets of cross_entropy that are floats of only 0 and 1, with rows that sum to 2 or more, in at least two sampled steps. Soft and mixed
    labels sum to 1.
    Remedy
    ------
    `binary_cross_entropy_with_logits`.
    Fault
    -----
        import torch

        torch.manual_seed(0)
        x = torch.randn(64, 5)
        y = (x[:, :4] > 0).float()
        net = torch.nn.Linear(5, 4)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(12):
            opt.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(x), y)  # sabueso: wrong-loss
            loss.backward()
            opt.step()
    Control
    -------
        import torch

        torch.manual_seed(0)
        x = torch.randn(64, 5)
        y = (x[:, :4] > 0).float()
        net = torch.nn.Linear(5, 4)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(12):
            opt.zero_grad()
            loss = torch.nn.functional.binary_cross_entropy_with_logits(net(x), y)
            loss.backward()
            opt.step()
    References
    ----------
    PyTorch documentation of CrossEntropyLoss: class indices, or probabilities for each class.
    """
    by_line: dict[tuple[int, str | None, int | None], list[Fact]] = {}
    for fact in loss_call:
        target = fact["target"]
        if fact["in_loss"] and fact["function"] == "cross_entropy" and "float" in target["dtype"] and target.get("distinct") == [0.0, 1.0]:
            if target["shape"] == fact["prediction"]["shape"] and target.get("row_sum_high", 0) >= 2:
                by_line.setdefault((fact.process, fact.place.file, fact.place.line), []).append(fact)
    for facts in by_line.values():
        if len(facts) >= least:
            first = facts[0]
            yield Finding(
                says="cross_entropy is given rows with several labels, as if the classes excluded each other",
                place=Place(stage="train", file=first.place.file, line=first.place.line, step=first.place.step, module=first.place.module),
                evidence=[
                    ("most labels of one row", first["target"]["row_sum_high"], 1),
                    ("values of the targets", "0 and 1", "a class index, or shares that sum to 1"),
                ],
                remedy="binary_cross_entropy_with_logits, with a threshold for each class",
                confidence=0.92,
                verified="fact",
            )
