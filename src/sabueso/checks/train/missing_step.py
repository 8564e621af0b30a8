"""missing-step."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...places import Place


@check(
    stage="train", severity="error", leads_to=("not-learning", "frozen-parameters", "underfitting", "missing-zero-grad", "learning-rate-too-low"),
    interventions=("step inserted",),
)  # fmt: skip
def missing_step(optimizer_use: list[Fact], *, least: int = 3) -> Iterator[Finding]:
    """An optimizer's parameters get gradients, but its step is never called.

    What it means
    -------------
    The call is missing, or another optimizer's step stands in its place.
    Why it is bad
    -------------
    These parameters stay what they were at the start; with adversaries or actors and critics the other side then plays against noise.
    Evidence
    --------
    The sampled backward calls that brought gradients to the parameters that an optimizer holds, its steps (none), and that the parameters
    have not moved. Silent where something else changed them, where a gradient scaler was asked to take the step, or where another optimizer
    that steps holds them too. The second form: all steps of an optimizer found no gradient at all (cleared after backward).
    Remedy
    ------
    Call the optimizer's `step()` after its backward.
    Fault
    -----
        import torch

        torch.manual_seed(0)
        x = torch.randn(40, 3)
        net = torch.nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(12):
            opt.zero_grad()
            loss = (net(x).squeeze(1) - x.sum(1)).pow(2).mean()
            loss.backward()  # sabueso: missing-step
    Control
    -------
        import torch

        torch.manual_seed(0)
        x = torch.randn(40, 3)
        net = torch.nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(12):
            opt.zero_grad()
            loss = (net(x).squeeze(1) - x.sum(1)).pow(2).mean()
            loss.backward()
            opt.step()
    References
    ----------
    PyTorch documentation, "Taking an optimization step".
    """
    for fact in optimizer_use:
        name = fact.get("name") or fact["class"]
        model = fact.get("model") or "its parameters"
        place = Place(stage="train", file=fact.place.file or None, line=fact.place.line, step=0, module=fact.get("model"))
        if fact["steps"] == 0 and fact["reached"] >= least and not fact["moved"] and not fact["shared"] and not fact.get("scaler"):
            yield Finding(
                says=f"the gradients of `{model}` are computed but never applied: `{name}.step()` is not called",
                place=place,
                evidence=[
                    (f"steps of {name}", 0, f"one a turn, {fact['turns']} turns"),
                    ("sampled backward calls that brought it gradients", fact["reached"], "0"),
                    (f"parameters of `{model}` that moved", 0, "all"),
                ],  # fmt: skip
                remedy=f"`{name}.step()` after the backward in line {fact.place.line}",
                edit=("after", f"{name}.step()") if fact.get("name") else (),
                confidence=0.96,
                verified="fact",
            )
        elif fact["steps"] >= least and fact["empty"] >= least and fact["empty"] >= fact["looked"] and cleared(fact, least) and not fact["moved"]:
            yield Finding(
                says=f"every step of `{name}` finds its gradients cleared: zero_grad comes between backward and step",
                place=place,
                evidence=[(f"sampled steps of {name} without any gradient", fact["empty"], f"0 of {fact['looked']}")],
                remedy="zero_grad before backward, step after it",
                confidence=0.96,
                verified="fact",
            )


def cleared(fact: Fact, least: int) -> bool:
    """Did backward calls bring gradients other than zero, that were gone when the step came?"""
    return fact["reached"] >= least and fact.get("brought", fact["reached"]) >= least
