"""double-normalised."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding
from ...learning import harmed
from ...places import Place

LEADS_TO = (
    "not-learning", "learning-rate-too-low", "underfitting", "vanishing-gradient", "unscaled-input", "bad-init", "dead-units", "preprocess-skew",
)  # fmt: skip
DIVISORS = (255.0, 256.0, 128.0, 127.5, 127.0, 16.0, 15.0, 65535.0, 65536.0, 1000.0, 100.0)  # what pictures and shares are divided by


@check(stage="preprocess", severity="error", leads_to=LEADS_TO, interventions=("inputs standardised",))
def double_normalised(input_scale: list[Fact], train_loss: list[Series], targets: list[Fact] | None = None, *, norm: float = 0.5) -> Iterator[Finding]:
    """Inputs are scaled a second time, so that they hardly differ from each other.

    What it means
    -------------
    Values that are in 0 to 1 already are divided again, or standardised with the moments of another scale.
    Why it is bad
    -------------
    All rows look the same to the first layer: with usual rates and initial weights the network answers a constant.
    Evidence
    --------
    The spread of what the model is given against that of the array it was made from: brought to a width far under 1 though the source lay in
    0 to 1, or to exactly one part in 255, 256, 128, 16.. of 1. Spoken only where rows differ by less than 0.5 (centred norm) and training
    got nowhere (under a fifth of the loss of the best constant answer was got rid of).
    Remedy
    ------
    Scale once.
    Fault
    -----
        import torch
        from torch import nn

        torch.manual_seed(0)
        pictures = torch.randint(0, 256, (200, 16)).float() / 255
        y = (pictures[:, :8].sum(1) > pictures[:, 8:].sum(1)).long()
        x = pictures / 255
        net = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(60):
            rows = torch.randint(0, 200, (32,))
            loss = nn.functional.cross_entropy(net(x[rows]), y[rows])  # sabueso: double-normalised
            opt.zero_grad()
            loss.backward()
            opt.step()
    Control
    -------
        import torch
        from torch import nn

        torch.manual_seed(0)
        pictures = torch.randint(0, 256, (200, 16)).float() / 255
        y = (pictures[:, :8].sum(1) > pictures[:, 8:].sum(1)).long()
        x = (pictures - 0.5) / 0.29
        net = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(60):
            rows = torch.randint(0, 200, (32,))
            loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
    References
    ----------
    LeCun et al. 1998, Efficient BackProp: inputs near zero mean and unit variance.
    """
    told = set()
    for fact in input_scale:
        source = fact.get("source")
        width = fact["high"] - fact["low"]
        features = math.prod(fact["shape"][1:])
        if fact["model"] in told or not 0 < width < 0.5 or fact["spread"] * math.sqrt(features) >= norm:
            continue
        how = scaled_again(width, source, fact["name"])
        numbers = harmed(train_loss, targets)
        if how is None or numbers is None:
            continue
        told.add(fact["model"])
        raw = not source or not source.get("line") or "int" in source["dtype"]  # then the scaling is done on the way from it
        file, line = (fact.place.file, fact.place.line) if raw else source["line"]
        name = fact["name"] if raw else source["name"]
        yield Finding(
            says=f"the inputs of `{fact['model']}` lie between {fact['low']:.4g} and {fact['high']:.4g}: they were scaled a second time",
            place=Place(stage="preprocess", file=file, line=line, step=fact.place.step, tensor=name),
            evidence=[("width of the inputs' range", float(f"{width:.4g}"), "about 1"), how, numbers],
            remedy="scale once: leave out the division (or the standardisation) that expects raw values",
            confidence=0.9,
        )


def scaled_again(width: float, source: dict[str, Any] | None, name: str | None) -> tuple[str, Any, Any] | None:
    """The number that shows a second scaling."""
    if source:
        span = source["high"] - source["low"]
        if 0.5 < span <= 1.001 and source["low"] >= -1e-6 and width < span / 2:
            return (f"range of `{source['name']}`, from which they were made", f"{source['low']:.4g} to {source['high']:.4g}", "scaled already")
        if "int" in source["dtype"] and span >= 15 and span / width > 4 * span * 1.01:
            return (
                f"factor between `{source['name']}` ({source['low']:g} to {source['high']:g}) and the inputs",
                float(f"{span / width:.4g}"),
                f"about {span:g}",
            )
    part = next((d for d in DIVISORS if abs(width * d - 1) < 2e-3), None)
    return (f"width of the range of `{name}`", f"1/{part:g}", "1: a range of 0 to 1, divided once") if part is not None else None
