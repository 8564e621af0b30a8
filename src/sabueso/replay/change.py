"""Change: in a program that runs a second time, one intervention put into its libraries as they are imported.

Unlike all else that is put there it changes what the program does. It is never in a run that a person started: `sabueso confirm` asks for it
through the environment, in a copy of the working directory.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..capture.origin import user_line
from ..interventions import factor
from . import change_estimators, change_forward, change_keras, change_loading, change_losses, change_steps, change_streams

SPLITS = "sklearn.model_selection._split"
SLICE = "rows"  # no intervention: a slice of what is read
NAME, FILE = "SABUESO_CHANGE", "applied.json"


class Change:
    """One intervention: its name, the place of the finding, and how often it took effect."""

    def __init__(self, folder: str | Path, asked: dict[str, Any]) -> None:
        self.name: str = asked.get("name", "")
        self.place: dict[str, Any] = asked.get("place", {})
        self.steps: int | None = asked.get("steps")
        self.rows: int = asked.get("rows", 0)
        self.folder, self.count = Path(folder), 0
        self.taken = 0
        self.at_end: Callable[[], None] = lambda: None
        self.libraries = {"torch": self.torch, "pandas": self.pandas, "numpy": self.numpy, "keras": self.keras, "sklearn.base": self.estimators,
                          SPLITS: self.splits}  # fmt: skip

    def applied(self) -> None:
        """It took effect; said at once, since the program may not end well."""
        self.count += 1
        if self.count & (self.count - 1) == 0:
            (self.folder / FILE).write_text(json.dumps({"name": self.name, "applied": self.count}))

    def here(self) -> bool:
        """Is the program at the line of the finding (or has the finding none)?"""
        file, line = user_line(sys._getframe(2))
        wanted = self.place.get("file")
        return not wanted or bool(file) and os.path.basename(str(file)) == os.path.basename(wanted) and line == self.place.get("line")

    def start(self) -> None:
        """What needs no library."""
        if self.name == "seeds set":
            random.seed(0)
            self.applied()
        elif self.name == "seeds varied":
            change_streams.of_python(self)

    def numpy(self, numpy: Any) -> None:
        if self.name == "seeds set":
            numpy.random.seed(0)
        elif self.name == "seeds varied":
            change_streams.of_numpy(self, numpy)

    def pandas(self, pandas: Any) -> None:
        if self.name in ("rows left out", "column left out"):
            change_loading.tables(self, pandas)
        elif self.name == "rows shuffled":
            change_loading.shuffled_tables(self, pandas)
        elif self.name == SLICE:
            change_loading.sliced_tables(self, pandas)

    def keras(self, keras: Any) -> None:
        change_keras.install(self)

    def estimators(self, base: Any) -> None:
        change_estimators.install(self, base)

    def splits(self, split: Any) -> None:
        if self.name == "rows shuffled":
            change_loading.shuffled_splits(self, split)

    def torch(self, torch: Any) -> None:
        """Put the intervention into torch."""
        name = self.name
        if name == SLICE:
            change_loading.sliced_loaders(self, torch)
        if name == "seeds set":
            torch.manual_seed(0)
        elif name == "seeds varied":
            change_streams.of_torch(self, torch)
        elif name == "sampler told the epoch":
            change_streams.told_the_epoch(self, torch)
        change_steps.budget(self, torch)
        if name.startswith("learning rate"):
            change_steps.scaled(self, torch, "lr", factor(name))
        elif name == "weight decay 0":
            change_steps.scaled(self, torch, "weight_decay", 0.0)
        elif name in change_steps.CHANGES:
            change_steps.CHANGES[name](self, torch)
        elif name in change_forward.CHANGES:
            change_forward.CHANGES[name](self, torch)
        elif name in change_losses.CHANGES:
            change_losses.CHANGES[name](self, torch)
        elif name in change_loading.CHANGES:
            change_loading.CHANGES[name](self, torch)


def asked(folder: str) -> Change | None:
    """The change that the environment asks for, if any."""
    text, rows = os.environ.get(NAME), os.environ.get("SABUESO_ROWS")
    if text:
        return Change(folder, json.loads(text))
    return Change(folder, {"name": SLICE, "rows": int(rows)}) if rows else None
