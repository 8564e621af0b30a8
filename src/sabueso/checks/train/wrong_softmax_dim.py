"""wrong-softmax-dim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...places import Place

READ_BY = frozenset({"log", "nll_loss", "cross_entropy", "binary_cross_entropy", "mse_loss", "gather", "kl_div", "l1_loss"})
LEADS_TO = ("not-learning", "underfitting", "learning-rate-too-low", "batch-mixing", "loss-activation-mismatch", "misleading-metric")


@check(stage="train", severity="error", leads_to=LEADS_TO, interventions=("softmax over the classes",))
def wrong_softmax_dim(softmax_dim: list[Fact]) -> Iterator[Finding]:
    """A softmax normalises along the wrong axis.

    What it means
    -------------
    The probabilities of one class over the rows of the batch sum to 1, in place of those of one row over the classes; or the weights of an
    attention do not sum to 1 along the axis over which they are used.
    Why it is bad
    -------------
    Rows of a batch compete with each other; what is learnt depends on who else is in the batch, and prediction of a single row is always 1.
    Evidence
    --------
    Shape and axis of a softmax on the way to the loss. Found where it runs over axis 0 of a table whose rows are the batch's and whose result is
    read as probabilities, or over the rows of the batch where its result weighs a sum within each row, or where its result is the left factor
    of a matrix product and it does not run over the last axis. Square tables that are normalised both ways (contrastive losses) and pooling
    over the rows of a bag are silent.
    Remedy
    ------
    `dim=1` (or `dim=-1`).
    Fault
    -----
        import torch

        torch.manual_seed(0)
        x, y = torch.randn(48, 4), torch.randint(0, 3, (48,))
        net = torch.nn.Linear(4, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(12):
            logp = torch.log_softmax(net(x), dim=0)  # sabueso: wrong-softmax-dim
            loss = torch.nn.functional.nll_loss(logp, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    Control
    -------
        import torch

        torch.manual_seed(0)
        x, y = torch.randn(48, 4), torch.randint(0, 3, (48,))
        net = torch.nn.Linear(4, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(12):
            logp = torch.log_softmax(net(x), dim=1)
            loss = torch.nn.functional.nll_loss(logp, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    References
    ----------
    PyTorch documentation, Softmax: "A dimension along which Softmax will be computed".
    """
    told = set()
    for fact in softmax_dim:
        shape, dim, key = fact["shape"], fact["dim"], (fact.place.file, fact.place.line)
        pooled = fact.get("pooled")
        over_rows, in_product = pooled is not None or along_batch(fact), not_contracted(fact)
        if key in told or not (over_rows or in_product):
            continue
        told.add(key)
        right = len(shape) - 1 if pooled is None else pooled
        what = (
            f"over the {shape[dim]} rows of the batch{'' if pooled is None else ', and its weights are summed over within each'}"
            if over_rows
            else "along an axis that the matrix product does not sum over"
        )
        yield Finding(
            says=f"{fact['operation']} of a {tuple(shape)} tensor runs over axis {dim}, {what}",
            place=Place(stage="train", file=fact.place.file, line=fact.place.line, step=fact.place.step, module=fact.place.module),
            evidence=[
                ("axis of the softmax", dim, right),
                ("length of that axis", shape[dim], shape[right]),
                ("rows of the batch", fact["batch"] or fact["rows"], None),
            ],
            remedy=f"dim={right}{' (or -1)' if right == len(shape) - 1 else ''} in line {fact.place.line}",
            edit=("keyword", fact["operation"], "dim", str(right), -1),
            confidence=0.93 if over_rows else 0.85,
            verified="fact",
        )


def along_batch(fact: Fact) -> bool:
    """Over the batch, with its result read as the probabilities of classes."""
    shape, users = fact["shape"], {u[0] for u in fact["used_by"]}
    if fact["dim"] != 0 or len(shape) < 2 or shape[0] < 2 or shape[1] < 2 or fact["both_ways"] or shape[0] == shape[1]:
        return False
    if len(shape) == 3:
        return bool(fact["implicit"] and fact["batch"] == shape[0] == fact["rows"])
    return len(shape) == 2 and shape[0] in (fact["batch"], fact["rows"]) and (fact["operation"] == "log_softmax" or bool(users & READ_BY))


def not_contracted(fact: Fact) -> bool:
    """The left factor of a matrix product, normalised along another axis than the one summed over."""
    shape: list[Any] = fact["shape"]
    left = any(op in ("matmul", "bmm") and position == 0 for op, position in fact["used_by"])
    return left and len(shape) >= 3 and fact["operation"] == "softmax" and fact["dim"] != len(shape) - 1 and shape[-1] > 1 and not fact["both_ways"]
