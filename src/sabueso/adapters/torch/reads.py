"""Reads: how often a step takes values of tensors back to Python, counted in sampled steps only, by line of the training loop."""

from __future__ import annotations

import statistics
import sys
from collections import Counter
from types import CodeType
from typing import Any

import torch

from ...capture.around import Patches
from ...capture.origin import OWN, is_users
from .lines import Line
from .watch import Watch

PART = "reads"
METHODS = ("item", "tolist", "__float__", "__bool__", "__int__")
FEW = 8  # reads a step that every program makes: loss, accuracy, a gradient norm
MOST_KEPT = 64  # sampled steps


class Reads:
    """Counts within armed steps; `last_words` tells the median step."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.patches = watch, Patches()
        self.codes: set[CodeType] = set()  # functions on the stack when an optimizer stepped: the training loop and what calls it
        self.now: Counter[Line] = Counter()
        self.steps: list[Counter[Line]] = []

    def arm(self) -> None:
        guard = self.watch.guard(PART)
        for name in METHODS:
            self.patches.around(torch.Tensor, name, guard(self.read), None)

    def disarm(self) -> None:
        self.patches.undo()
        if self.codes and len(self.steps) < MOST_KEPT:
            self.steps.append(self.now)
        self.now = Counter()
        if len(self.steps) in (8, 32):
            self.tell()

    def stepped(self, _: Any) -> None:
        """An optimizer steps: whoever calls it is the training loop."""
        if self.watch.armed:
            frame = sys._getframe(1)
            while frame is not None:
                if is_users(frame.f_code.co_filename):
                    self.codes.add(frame.f_code)
                frame = frame.f_back  # type: ignore[assignment]

    def read(self, args: Any, kwargs: Any) -> None:
        """A value is read by the person's own code: the line of the training loop under which it happens."""
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(OWN):
            frame = frame.f_back  # type: ignore[assignment]
        if frame is None or not is_users(frame.f_code.co_filename):
            return
        while frame is not None:
            if frame.f_code in self.codes:
                self.now[Line(frame.f_code, frame.f_lineno)] += 1
                return
            frame = frame.f_back  # type: ignore[assignment]

    def tell(self) -> None:
        """The median step, for each line of the loop under which much is read."""
        seen = {line for step in self.steps for line in step}
        for line in seen:
            counts = [step.get(line, 0) for step in self.steps[1:] or self.steps]
            median = statistics.median(counts)
            if median > FEW:
                value = {"median": median, "most": max(counts), "steps": len(counts), "file": line.place["file"], "line": line.line}
                self.watch.recorder.fact("host_reads", value, **line.place)


def install(watch: Watch) -> None:
    if not watch.recorder.wants("host_reads"):
        return
    reads = Reads(watch)
    shared = watch.recorder.shared  # once hooks give the saved tensors (checkpointing), nobody of us may ask for them: see capture/growth.py
    hooks = torch.autograd.graph.saved_tensors_hooks
    watch.around(PART, hooks, "__enter__", lambda args, kwargs: shared.__setitem__("saved_hooks", True), None, arithmetic=False)
    watch.hang("on_arm", PART, reads.arm)
    watch.hang("on_disarm", PART, reads.disarm)
    watch.hang("after_step", PART, reads.stepped, sampled=True)
    watch.at_undo(reads.patches.undo)
    watch.recorder.at_exit(reads.tell)
