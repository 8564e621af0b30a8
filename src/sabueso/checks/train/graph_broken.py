"""graph-broken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ...catalogue import check
from ...events import Fact
from ...findings import Finding
from ...gradient_cuts import draws, flat, kept_back, left, lookups, starved, whole
from ...parameters import cut_off, departed, idle, shared_module
from ...places import Place

LEADS_TO = ("not-learning", "underfitting", "frozen-parameters", "missing-step", "learning-rate-too-low", "vanishing-gradient", "symmetric-init")


@check(stage="train", severity="error", leads_to=LEADS_TO)
def graph_broken(
    parameters: list[Fact] | None = None, graph_cut: list[Fact] | None = None, optimizer_use: list[Fact] | None = None,
    evaluation: list[Fact] | None = None, *, least: int = 2,
) -> Iterator[Finding]:  # fmt: skip
    """The path of the gradient from the loss to parameters is cut.

    What it means
    -------------
    On the way from the parameters to the loss lies `no_grad`, `detach`, `.data`, `.item()`, NumPy, or an operation without a derivative.
    Why it is bad
    -------------
    The optimizer holds these parameters, but they never get a gradient: only what lies behind the cut is trained.
    Evidence
    --------
    Parameters that an optimizer holds and that took part in the loss of sampled steps, but got no gradient in any of them; the operation at
    which the gradient stops, with its line. Silent where they get gradients by another path or in another turn (targets without gradient,
    fakes for a discriminator), and where they took no part. Or a backward of the person's own that returns None for them. Or an
    optimizer that steps and never had a gradient, beside one that had; or gradients that reach a model in every step and are exactly zero in each.
    Remedy
    ------
    Take the cut out of the path that is trained.
    Fault
    -----
        import torch
        from torch import nn

        torch.manual_seed(0)
        x, y = torch.randn(60, 4), torch.randint(0, 2, (60,))
        body, head = nn.Linear(4, 8), nn.Linear(8, 2)
        opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
        for step in range(12):
            h = torch.relu(body(x)).detach()  # sabueso: graph-broken
            loss = nn.functional.cross_entropy(head(h), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    Control
    -------
        import torch
        from torch import nn

        torch.manual_seed(0)
        x, y = torch.randn(60, 4), torch.randint(0, 2, (60,))
        body, head = nn.Linear(4, 8), nn.Linear(8, 2)
        opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
        for step in range(12):
            h = torch.relu(body(x))
            loss = nn.functional.cross_entropy(head(h), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    References
    ----------
    PyTorch documentation, "Locally disabling gradient computation".
    """
    for found in cut_off(parameters or [], least):
        yield told(found)
    gone = departed(parameters or [], least)
    yield from map(left, gone)
    yield from () if gone else apart(parameters or [], least)
    yield from whole(graph_cut or [])
    yield from lookups(graph_cut or [])
    yield from draws(graph_cut or [])
    yield from kept_back(graph_cut or [])
    yield from starved(optimizer_use or [], evaluation or [])
    yield from flat(optimizer_use or [])


def told(found: list[tuple[Fact, dict[str, Any]]]) -> Finding:
    """The finding of one cut."""
    fact, row = found[0]
    cut = row["cut"]
    file, line = cut["no_grad_line"] or cut["line"] or (fact.place.file, fact.place.line)
    cause = "torch.no_grad()" if cut["no_grad"] else f"`{cut['op']}`"
    module = shared_module([r["path"] for _, r in found]) or fact["model"]
    return Finding(
        says=f"{cause} in line {line} cuts `{module}` off from the loss: it never gets a gradient",
        place=Place(stage="train", file=file, line=line, step=fact.place.step and 0, module=module),
        evidence=[
            (f"parameters of `{module}` that the optimizer holds and that got no gradient", len(found), 0),
            ("sampled steps in which they took part in the loss", fact["steps"] if fact["steps"] < 5 else "all", "with a gradient in each"),
        ],  # fmt: skip
        remedy=f"let the gradient through: take {cause} out of line {line}" + (" (keep it for evaluation only)" if cut["no_grad"] else ""),
        edit=("unwrap", "detach") if not cut["no_grad"] and cut["op"] == "detach" else (),
        confidence=0.95,
        verified="fact",
    )


def apart(parameters: list[Fact], least: int) -> Iterator[Finding]:
    """A model that is called and held by an optimizer, but none of whose parameters a loss depends on: its output left torch on the way."""
    by_model: dict[tuple[int, str], list[Fact]] = defaultdict(list)
    for fact in parameters:
        by_model[fact.process, fact["model"]].append(fact)
    for (_, model), facts in by_model.items():
        rows = [r for f in facts for r in f["rows"]]
        held = all(r["optimizer"] is not None and r["requires_grad"] for r in rows)
        if len(facts) < least or not rows or not held or not all(map(idle, rows)):
            continue
        file, line = facts[0].get("called") or (facts[0].place.file, facts[0].place.line)
        yield Finding(
            says=f"the output of `{model}` never gets to the loss as a tensor (NumPy, item(), a new tensor): it never gets a gradient",
            place=Place(stage="train", file=file, line=line, step=0, module=model),
            evidence=[
                (f"parameters of `{model}` that the optimizer holds and that no loss depends on", len(facts[0]["rows"]), 0),
                ("sampled steps in which it was called and stepped", len(facts), "with a gradient in each"),
            ],  # fmt: skip
            remedy="keep the output a tensor of torch up to the loss",
            confidence=0.9,
            verified="fact",
        )
