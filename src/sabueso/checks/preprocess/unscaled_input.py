"""unscaled-input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding
from ...interventions import on_copy, proof
from ...learning import harmed, saturated
from ...places import Place

LEADS_TO = (
    "not-learning", "saturated-units", "dead-units", "exploding-gradient", "nonfinite-loss", "learning-rate-too-high", "learning-rate-too-low",
    "vanishing-gradient", "underfitting", "bad-init", "overfitting", "loss-activation-mismatch",
)  # fmt: skip
BINARY = ("binary_cross_entropy", "binary_cross_entropy_with_logits", "binary_crossentropy")
Settings = list[Fact] | None
Curves = list[Series] | None


@check(stage="preprocess", severity="error", leads_to=LEADS_TO, interventions=("inputs standardised", "targets within 0 and 1", "targets standardised"))
def unscaled_input(
    input_scale: Settings = None, loss_call: Settings = None, train_loss: Curves = None, targets: Settings = None, experiment: Settings = None,
    units_saturated: Curves = None,
) -> Iterator[Finding]:  # fmt: skip
    """A network is given raw numbers of very different or very large scale.

    What it means
    -------------
    Columns in the thousands stand beside others near 1, or all values are far from 1; or raw values are targets of a loss that expects 0 to 1.
    Why it is bad
    -------------
    The largest column alone decides what the first layer answers; a binary cross-entropy on targets over 1 has no lower bound.
    Evidence
    --------
    The size of the columns against their siblings', with the table's column whose distribution it has; the range of the targets. Columns and
    levels are spoken of only where training got nowhere (under a fifth of the best constant's loss was got rid of), a tanh or sigmoid is
    saturated at the first step, or the same steps on a copy with standardised inputs go better.
    Remedy
    ------
    Standardise with the moments of the training part; divide pictures by their highest value.
    Fault
    -----
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.randn(200, 4)
        y = (x[:, 0] + x[:, 1] > 0).long()
        x[:, 3] = 16000 + 90 * x[:, 3]
        net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(60):
            rows = torch.randint(0, 200, (32,))
            loss = nn.functional.cross_entropy(net(x[rows]), y[rows])  # sabueso: unscaled-input
            opt.zero_grad()
            loss.backward()
            opt.step()
    Control
    -------
        import torch
        from torch import nn

        torch.manual_seed(0)
        x = torch.randn(200, 4)
        y = (x[:, 0] + x[:, 1] > 0).long()
        net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(60):
            rows = torch.randint(0, 200, (32,))
            loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
    References
    ----------
    LeCun et al. 1998, Efficient BackProp.
    """
    yield from of_targets(loss_call or [])
    tried = next(iter(on_copy(experiment, "inputs standardised")), None)
    numbers = harmed(train_loss or (), targets) or saturated(units_saturated or [])
    told, helps = set(), bool(tried and tried["helps"])
    for fact in input_scale or ():
        if fact["model"] in told or (numbers is None and not helps) or (tried is not None and not helps):
            continue
        columns = fact["columns"]
        if columns or fact["level"] >= 30.0:
            told.add(fact["model"])
            yield of_columns(fact, columns, numbers, tried) if columns else of_level(fact, numbers, tried)


def shown(numbers: Any, tried: Fact | None) -> list[Any]:
    """What shows the harm, and the experiment that shows the cure."""
    return [numbers] if numbers else [("loss of the same steps with standardised inputs", tried["after"], tried["before"])] if tried else []


def of_columns(fact: Fact, columns: list[dict[str, Any]], numbers: Any, tried: Fact | None) -> Finding:
    """Some columns are far larger than the others."""
    names = list(dict.fromkeys(c["name"] for c in columns if c["name"]))
    first = columns[0]
    name = names[0] if names else f"column {first['index']}"
    return Finding(
        says=f"`{name}` reaches {first['peak']:.4g} in the inputs of `{fact['model']}`, the others {first['usual']:.3g}: it drowns them",
        place=fact.place.but(stage="preprocess", module=None, tensor=fact["name"], column=(names if len(names) > 1 else names[0]) if names else None),
        evidence=[
            (f"largest value of `{name}` in a batch", float(f"{first['peak']:.5g}"), f"about {first['usual']:.3g}, as the other columns"),
            (f"mean and deviation of `{name}`", f"{first['mean']:.5g}, {first['std']:.4g}", "0 and 1"),
            *shown(numbers, tried),
        ],  # fmt: skip
        remedy=f"scale `{name}` with its own mean and deviation (check their unit against the data's)",
        confidence=0.9,
        verified=proof(tried),
    )


def of_level(fact: Fact, numbers: Any, tried: Fact | None) -> Finding:
    """All inputs are large."""
    return Finding(
        says=f"the inputs of `{fact['model']}` lie between {fact['low']:.4g} and {fact['high']:.4g}: they are not scaled",
        place=fact.place.but(stage="preprocess", module=None, tensor=(fact.get("source") or {}).get("name") or fact["name"]),
        evidence=[("root mean square of the inputs", float(f"{fact['level']:.4g}"), "about 1"), *shown(numbers, tried)],
        remedy="divide by the highest value, or standardise with the moments of the training part",
        confidence=0.85,
        verified=proof(tried),
    )


def of_targets(calls: list[Fact]) -> Iterator[Finding]:
    """Binary cross-entropy against many-valued targets that leave 0 to 1: raw pixels or columns to be reproduced."""
    for fact in calls:
        target = fact["target"]
        many = len(target["shape"]) >= 2 and target["shape"][-1] >= 8
        if not fact["in_loss"] or fact["function"] not in BINARY or not many or target.get("outside_unit", 0.0) < 0.05:
            continue
        source = fact.get("source") or {}
        line = source.get("line") or [fact.place.file, fact.place.line]
        yield Finding(
            says=f"{fact['function']} is given raw targets from {target['low']:.4g} to {target['high']:.4g}: over 1 it has no lower bound",
            place=Place(stage="preprocess", file=line[0], line=line[1], step=fact.place.step, tensor=source.get("name")),
            evidence=[("share of targets outside 0 to 1", round(target["outside_unit"], 3), 0.0), ("highest target", target["high"], 1.0)],
            remedy=f"divide by the highest value ({target['high']:g}) where the data is read",
            confidence=0.95,
            verified="fact",
        )
        return
