"""Seeds: was torch's stream ever given a seed, and was it drawn from?"""

from __future__ import annotations

from typing import Any

import torch

from .watch import Watch

PART = "seeds"


class Seeds:
    """The stream as it was when torch was imported; its seed tells whether somebody set one since."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.seed, self.state = torch.initial_seed(), torch.default_generator.get_state()

    def stepped(self, _: Any) -> None:
        """At the first step, and at the end: weights have been drawn by then."""
        self.last_words()

    def last_words(self) -> None:
        seeded = torch.initial_seed() != self.seed
        drawn = not torch.equal(torch.default_generator.get_state(), self.state)
        self.watch.recorder.fact(
            "torch_seed", {"seeded": seeded, "drawn": drawn, "steps": self.watch.step, "seed": torch.initial_seed() if seeded else None}, file="", line=None
        )


def install(watch: Watch) -> None:
    if watch.recorder.wants("torch_seed"):
        seeds = Seeds(watch)
        watch.at_next("after_step", PART, seeds.stepped)
        watch.recorder.at_exit(seeds.last_words)
