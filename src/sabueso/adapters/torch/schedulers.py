"""Schedulers: how often each learning rate scheduler is stepped, against the steps of its optimizer."""

from __future__ import annotations

import linecache
import weakref
from typing import Any

import torch
from torch.optim import lr_scheduler

from .lines import Line, built_at, here
from .steps import Steps
from .watch import Watch

PART = "schedulers"
SETTINGS = ("step_size", "gamma", "milestones", "T_max", "T_0", "eta_min", "total_steps", "total_iters", "patience", "factor", "threshold", "cooldown",
            "mode", "min_lrs", "total_size")  # fmt: skip
MOST_METRICS = 200


class Seen:
    """One scheduler."""

    def __init__(self, scheduler: Any, line: Line | None, number: int) -> None:
        self.ref, self.line, self.number, self.cls = weakref.ref(scheduler), line, number, type(scheduler).__name__
        self.steps = 0
        self.at: list[int] = []  # steps that the optimizer had had at each step of the scheduler
        self.gaps: dict[int, int] = {}
        self.step_line: Line | None = None
        self.metrics: list[float] = []
        self.best: Any = None
        self.rates: list[float] = []
        self.settings: dict[str, Any] = {}
        self.optimizer: Any = None
        self.optimizer_steps = 0


class Schedulers:
    """The hooks."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.steps: Steps = watch.parts["steps"]
        self.seen: dict[int, Seen] = {}
        self.deep = 0

    def of(self, scheduler: Any) -> Seen:
        seen = self.seen.get(id(scheduler))
        if seen is None or seen.ref() is not scheduler:
            seen = self.seen[id(scheduler)] = Seen(scheduler, built_at(scheduler), len(self.seen))
        return seen

    def before(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A scheduler's step begins."""
        scheduler = args[0]
        if getattr(scheduler, "_is_initial", False) or not hasattr(scheduler, "optimizer"):
            self.of(scheduler)  # it is being built: by this line
            return None
        known = id(scheduler) in self.seen
        seen = self.of(scheduler)
        optimizer = scheduler.optimizer
        held = self.steps.held(optimizer)
        if not known or not seen.settings:
            seen.settings = {n: plain(getattr(scheduler, n)) for n in SETTINGS if hasattr(scheduler, n)}
            seen.best, seen.optimizer = plain(getattr(scheduler, "best", None)), held
            seen.rates.append(float(optimizer.param_groups[0]["lr"]))
        seen.step_line = here()
        if len(seen.at) < 2000:
            seen.at.append(held.steps)
        gap = held.steps - seen.optimizer_steps if seen.steps else held.steps
        seen.gaps[gap] = seen.gaps.get(gap, 0) + 1
        seen.optimizer_steps = held.steps
        seen.steps += 1
        metric = args[1] if len(args) > 1 else kwargs.get("metrics")
        if metric is not None and len(seen.metrics) < MOST_METRICS and not (torch.is_tensor(metric) and metric.device.type != "cpu"):
            seen.metrics.append(float(metric))
        return seen

    def after(self, seen: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """It returned: the rate that it left."""
        if seen is not None and len(seen.rates) < 2000:
            rate = args[0].optimizer.param_groups[0]["lr"]
            seen.rates.append(float(rate) if not torch.is_tensor(rate) or rate.device.type == "cpu" else float("nan"))

    def last_words(self) -> None:
        """The fact `scheduler` of each."""
        for seen in [s for s in self.seen.values() if s.steps][:20]:
            held = seen.optimizer
            value = {"class": seen.cls, "steps": seen.steps, "optimizer_steps": held.steps if held else None, "optimizer": held.number if held else None,
                     "first_at": seen.at[0] if seen.at else None, "settings": seen.settings, "gaps": sorted(seen.gaps.items(), key=lambda g: -g[1])[:5],
                     "at": seen.at[:6], "rates": seen.rates[:200], "last_rate": seen.rates[-1] if seen.rates else None,
                     "metrics": seen.metrics, "best_before": seen.best,
                     "built": seen.line.told if seen.line else None}  # fmt: skip
            where = (seen.step_line if steps_itself(seen.step_line) else None) or seen.line
            self.recorder.fact("scheduler", value, step=seen.at[0] if seen.at else 0, stage="train", **(where.place if where else {"file": "", "line": None}))


def plain(value: Any) -> Any:
    """A setting as a fact can hold it."""
    if torch.is_tensor(value):
        return float(value) if value.numel() == 1 and value.device.type == "cpu" else None
    if isinstance(value, dict):
        return sorted(value)
    return value if isinstance(value, (int, float, str, list, tuple, type(None))) else str(value)


def steps_itself(line: Line | None) -> bool:
    """Does the person's line step it, rather than give it to a trainer (`trainer.fit`)?"""
    return line is not None and "step" in linecache.getline(line.code.co_filename, line.line)


def install(watch: Watch) -> None:
    """Patch the step of every scheduler class of torch."""
    schedulers = Schedulers(watch)
    watch.parts["schedulers"] = schedulers
    for cls in {c for c in vars(lr_scheduler).values() if isinstance(c, type) and "step" in vars(c) and issubclass(c, lr_scheduler.LRScheduler)}:
        watch.around(PART, cls, "step", schedulers.before, schedulers.after)
    watch.recorder.at_exit(schedulers.last_words)
