"""scheduler-order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...catalogue import check
from ...events import Fact, Series
from ...findings import Finding
from ...places import Place

LEADS_TO = ("learning-rate-too-low", "not-learning", "underfitting", "learning-rate-too-high")


@check(stage="train", severity="error", leads_to=LEADS_TO, interventions=("schedule left out",))
def scheduler_order(scheduler: list[Fact], learning_rate: list[Series] | None = None, *, small: float = 1e-3, share: float = 0.5) -> Iterator[Finding]:
    """A learning rate scheduler is stepped too often, too seldom, or before the optimizer.

    What it means
    -------------
    A schedule meant in epochs is stepped every batch, one meant in updates with each of the batches that add up to one, one meant in batches
    every epoch, or one is stepped before the optimizer's first step.
    Why it is bad
    -------------
    The rate is gone before training has begun, or never gets to where it should be.
    Evidence
    --------
    The scheduler's steps against the optimizer's, and the rate that was in use. Stepped every batch is found where more than half of all steps
    ran at less than a thousandth of the highest rate (two fifths where it is stepped several times for each update; or its length is the
    number of updates): schedules that end near zero (cosine, polynomial) spend under a tenth of their steps there. Stepped every epoch
    is found where the length set equals the optimizer's steps but less than a third of it was used.
    Remedy
    ------
    Move `scheduler.step()` to where the schedule's unit ends.
    Fault
    -----
        import torch

        torch.manual_seed(0)
        x = torch.randn(160, 3)
        net = torch.nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(opt, step_size=3, gamma=0.1)
        for epoch in range(8):
            for rows in torch.randperm(160).split(16):
                opt.zero_grad()
                (net(x[rows]).squeeze(1) - x[rows].sum(1)).pow(2).mean().backward()
                opt.step()
                schedule.step()  # sabueso: scheduler-order
    Control
    -------
        import torch

        torch.manual_seed(0)
        x = torch.randn(160, 3)
        net = torch.nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(opt, step_size=3, gamma=0.1)
        for epoch in range(8):
            for rows in torch.randperm(160).split(16):
                opt.zero_grad()
                (net(x[rows]).squeeze(1) - x[rows].sum(1)).pow(2).mean().backward()
                opt.step()
            schedule.step()
    References
    ----------
    PyTorch documentation, "How to adjust learning rate".
    """
    for fact in scheduler:
        found = too_often(fact, rates_of(fact, learning_rate), small, share) or too_seldom(fact) or too_early(fact)
        if found is None:
            continue
        says, evidence, remedy, severity, confidence, step = found
        place = Place(stage="train", file=fact.place.file or None, line=fact.place.line, step=step, tensor="lr")
        yield Finding(says=says, place=place, evidence=evidence, remedy=remedy, severity=severity, confidence=confidence, verified="fact")


def rates_of(fact: Fact, series: list[Series] | None) -> np.ndarray:
    """The rate of each optimizer step."""
    for s in series or ():
        name = s.place.module or ""
        number = int(name.rpartition("-")[2]) if "-" in name else 0
        if s.process == fact.process and number == fact["optimizer"]:
            return s.values
    return np.array([])


Found = tuple[str, list[tuple[str, Any, Any]], str, str, float, int]


def too_often(fact: Fact, rates: np.ndarray, small: float, share: float) -> Found | None:
    """Stepped with each batch, though meant for epochs or for updates of several batches: the rate is gone early."""
    gap = fact["gaps"][0][0] if fact["gaps"] else None
    if gap not in (0, 1) or len(rates) < 20 or fact["steps"] < 0.5 * len(rates) or fact["class"] == "ReduceLROnPlateau":
        return None
    top, each = float(np.nanmax(rates)), fact["steps"] / len(rates)
    low = np.flatnonzero(rates < small * top)
    low = low[low > int(np.nanargmax(rates))]
    over = gap == 0 and each >= 1.9 and 0.9 <= (fact["settings"].get("T_max") or 0) / len(rates) <= 1.1  # swings back up: its length is that of all updates
    if len(low) < (share if gap else 0.8 * share) * len(rates) and not over:
        return None
    tenth = np.flatnonzero(rates < 0.1 * top + 1e-30)
    how, remedy = "with every batch", "step the scheduler once an epoch, after the loop over batches"
    first = ("optimizer steps for each step of the scheduler", 1, "those of an epoch")
    if not gap:
        how, first = f"{each:.3g} times for each step of the optimizer", ("steps of the scheduler for each of the optimizer", round(each, 2), 1)
        remedy = "step the scheduler only where the optimizer has stepped, not with each of the batches whose gradients add up"
    gone = f"after {int([*low, 0][0])} of {len(rates)} steps the rate is under a thousandth of what it was"
    if over:
        gone = f"its {fact['settings']['T_max']} steps, as many as the optimizer has, are gone through {each:.3g} times"
    return (
        f"{fact['class']} is stepped {how}: {gone}",
        [first, ("share of all steps that ran at less than a thousandth of the highest rate", round(len(low) / len(rates), 3), "under 0.1"),
         ("rate of the last step", float(rates[-1]), f"of the order of {top:g}")],
        remedy, "error", 0.95, int([*tenth, *low, 0][0]),
    )  # fmt: skip


def too_seldom(fact: Fact) -> Found | None:
    """Stepped with each epoch, though its length is that of all batches."""
    length = fact["settings"].get("total_steps") or fact["settings"].get("T_max")
    steps = fact["optimizer_steps"] or 0
    gap = fact["gaps"][0][0] if fact["gaps"] else 0
    if not length or gap < 5 or steps < 50 or not 0.9 <= length / steps <= 1.1 or fact["steps"] > 0.34 * length:
        return None
    return (
        f"{fact['class']} is set to {length} steps, one a batch, but is stepped once in {gap} batches",
        [("steps of the scheduler", fact["steps"], length), ("steps of the optimizer", steps, length),
         ("rate at the end", fact["last_rate"], "that of the schedule's end")],
        "step the scheduler after each optimizer step", "error", 0.92, 0,
    )  # fmt: skip


def too_early(fact: Fact) -> Found | None:
    """Stepped before the optimizer's first step."""
    at = fact.get("at") or []
    if len(at) < 3 or at[0] != 0 or at[1] == 0 or any(b <= a for a, b in zip(at[1:], at[2:])):
        return None
    return (
        f"{fact['class']} is stepped before the optimizer: the first value of its schedule is never used",
        [("optimizer steps before the scheduler's first", 0, "at least 1"),
         ("rate of the first optimizer step", fact["rates"][1] if len(fact["rates"]) > 1 else None, fact["rates"][0])],
        "call `optimizer.step()` before `scheduler.step()`", "warning", 0.6, 0,
    )  # fmt: skip
