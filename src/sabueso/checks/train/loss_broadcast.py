"""loss-broadcast."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...places import Place


@check(stage="train", severity="error", leads_to=("not-learning", "underfitting", "learning-rate-too-low", "metric-inputs"), interventions=("target reshaped",))
def loss_broadcast(broadcast: list[Fact]) -> Iterator[Finding]:
    """Prediction and target have shapes that stretch each other, so every prediction is compared with every target.

    What it means
    -------------
    A column (B, 1) against a row (B,) gives a table (B, B). Its mean is a number like any loss, but it is least where every prediction
    is the mean of all targets.
    Why it is bad
    -------------
    The model learns a constant. Nothing fails; the loss stops at the variance of the targets.
    Evidence
    --------
    An operation on the way to the loss whose result is larger than both operands, where leaving out one axis of length 1 of one operand
    gives exactly the other's shape. Not found where an axis was put in on purpose next to it (`[:, None]`, `unsqueeze`), where both come
    from the same tensor, or where both or neither depend on parameters: those are comparisons of all pairs.
    Remedy
    ------
    Give both the same shape: `prediction.squeeze(1)` or `target.unsqueeze(1)`.
    Fault
    -----
        import torch

        torch.manual_seed(0)
        x = torch.randn(64, 3)
        y = x.sum(1)
        net = torch.nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.05)
        for step in range(20):
            opt.zero_grad()
            loss = (net(x) - y).pow(2).mean()  # sabueso: loss-broadcast
            loss.backward()
            opt.step()
    Control
    -------
        import torch

        torch.manual_seed(0)
        x = torch.randn(64, 3)
        y = x.sum(1)
        net = torch.nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.05)
        for step in range(20):
            opt.zero_grad()
            loss = (net(x).squeeze(1) - y).pow(2).mean()
            loss.backward()
            opt.step()
    References
    ----------
    PyTorch warns of it in mse_loss ("Using a target size that is different to the input size"); NumPy's broadcasting rules.
    """
    seen = set()
    for fact in broadcast:
        a, b = fact["shapes"]
        if not squeezed_equal(a, b) or fact["same_source"] or fact["explicit"][len(b) > len(a)] or fact["grad"][0] == fact["grad"][1]:
            continue
        key = (fact.place.file, fact.place.line, fact["operation"])
        if key in seen:
            continue
        seen.add(key)
        learned = a if fact["grad"][0] else b
        module = fact["modules"][0 if fact["grad"][0] else 1]
        other = b if learned is a else a
        axis = odd_axis(a, b)
        long_one, fix = (learned, "prediction") if len(learned) > len(other) else (other, "target")
        yield Finding(
            says=f"{fact['operation']} of {tuple(a)} and {tuple(b)} gives {tuple(fact['result'])}: each prediction is compared with every target of the batch",
            place=Place(stage="train", file=fact.place.file, line=fact.place.line, step=fact.place.step, module=module or fact.place.module),
            evidence=[
                ("shape of the prediction", str(tuple(learned)), f"the target's, {tuple(other)}"),
                ("values in the loss", size(fact["result"]), max(size(a), size(b))),
            ],
            remedy=f"take the axis of length 1 out of the {fix}: `{fix}.squeeze({axis})` where it has shape {tuple(long_one)}",
            confidence=0.97,
            verified="fact",
        )


def squeezed_equal(a: list[int], b: list[int]) -> bool:
    """Is one the other with one axis of length 1 left out, the rest longer than 1?"""
    return odd_axis(a, b) is not None and min(size(a), size(b)) > 1


def odd_axis(a: list[int], b: list[int]) -> int | None:
    """The axis of length 1 that one has more than the other."""
    long, short = (a, b) if len(a) > len(b) else (b, a)
    if len(long) != len(short) + 1:
        return None
    fits = [i for i, n in enumerate(long) if n == 1 and long[:i] + long[i + 1 :] == short]
    return fits[-1] if fits else None


def size(shape: list[int]) -> int:
    """How many values a shape holds."""
    count = 1
    for n in shape:
        count *= n
    return count
