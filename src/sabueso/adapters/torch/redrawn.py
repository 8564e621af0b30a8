"""Redrawn: are the numbers that samples are made with drawn from a generator that stands where it stood for the sample before?

`Generator.manual_seed` cannot be watched; the state at each draw tells that it ran, whatever way the generator came to it.
"""

from __future__ import annotations

import hashlib
import re
import sys
from linecache import getline
from types import FrameType
from typing import Any

import torch
from torch.utils.data._utils import fetch as torch_fetch

from ...capture.around import Patches
from ...capture.origin import absolute, user_frame
from .augmentation import LEAST_SAMPLES
from .augmentation import PART as SAMPLES
from .watch import Watch

PART = "redrawn"
DRAWS = ("rand", "randn", "randint", "normal", "bernoulli")  # not randperm: a fixed permutation of the inputs is a task of its own
MOST_FETCHES = 24
MOST = 400  # draws looked at, of one loader


class Redrawn:
    """One a watch; a forked worker goes on with its copy."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder, self.samples = watch, watch.recorder, watch.parts[SAMPLES]
        self.patches = Patches()
        self.fetches: dict[Any, int] = {}
        self.looked: dict[Any, int] = {}
        self.held: dict[Any, set[Any]] = {}  # by loader, line and state of the generator: the samples

    def begins(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A batch's samples are about to be made. Only then are torch's functions touched: TorchScript knows them by their identity."""
        number = self.samples.loader.get("number")
        self.fetches[number] = self.fetches.get(number, 0) + 1
        self.patches.undo()  # of a fetch that raised
        if number is None or self.fetches[number] > MOST_FETCHES or self.looked.get(number, 0) > MOST:
            return None
        for name in DRAWS:
            self.patches.around(torch, name, self.watch.guard(PART, False)(self.draw(name)), None)
        return True

    def ends(self, token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """They are made."""
        self.patches.undo()

    def draw(self, name: str) -> Any:
        """A hook for a function that draws: while a sample is made, from which state?"""

        def before(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            generator = kwargs.get("generator")
            if isinstance(generator, torch.Generator) and generator.device.type == "cpu":
                self.note(name, generator)

        return before

    def note(self, name: str, generator: torch.Generator) -> None:
        loader = self.samples.loader
        number = loader.get("number")
        self.looked[number] = self.looked.get(number, 0) + 1
        frame = user_frame(sys._getframe(1))
        if self.looked[number] > MOST or frame is None or (sample := sample_at(frame)) is None:
            return
        state = hashlib.blake2b(bytes(generator.get_state().numpy().data), digest_size=8).digest()
        samples = self.held.setdefault((number, frame.f_code, frame.f_lineno, state), set())
        samples.add(sample)
        if len(samples) == LEAST_SAMPLES and self.recorder.once("redrawn", number):
            line = seeded_at(frame) or frame.f_lineno
            value = {**loader, "call": f"torch.{name}", "seed": generator.initial_seed(), "samples": len(samples), "names": []}
            self.recorder.fact("sample_seed", value, file=absolute(frame.f_code), line=line)


def sample_at(frame: FrameType | None) -> Any:
    """The number of the sample that is being made: what the fetcher of the loader, further out, goes through."""
    while frame is not None:
        if frame.f_code.co_filename.endswith("fetch.py") and "idx" in frame.f_locals:
            return frame.f_locals["idx"]
        frame = frame.f_back
    return None


def seeded_at(frame: FrameType) -> int | None:
    """The last line of the function, up to a draw, that seeds a generator."""
    lines = [n for n in range(frame.f_code.co_firstlineno, frame.f_lineno + 1) if re.search(r"\.manual_seed\(", getline(frame.f_code.co_filename, n))]
    return lines[-1] if lines else None


def install(watch: Watch) -> None:
    """Stand where samples are made."""
    if watch.recorder.wants("sample_seed"):
        redrawn = Redrawn(watch)
        watch.around(PART, torch_fetch._MapDatasetFetcher, "fetch", redrawn.begins, redrawn.ends)
        watch.at_undo(redrawn.patches.undo)
