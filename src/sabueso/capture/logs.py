"""What a person's own program logs elsewhere: its curves, settings and histograms, by the names that it gives them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from ..places import Place
from . import summarise
from .recorder import Recorder

MOST_CURVES, MOST_SETTINGS = 500, 300
MOST_VALUES = 100_000  # of a histogram that is looked at


class Logs:
    """One a recorder: see `of`."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._count: dict[Any, int] = defaultdict(int)
        self._runs: dict[Any, str | None] = {}
        self._settings = 0

    def scalar(self, tag: Any, value: Any, step: Any, run: Any = None) -> None:
        """A number by step; without a step its calls are counted. `run` is what the person's tool calls the run that it is of."""
        number, key = plain(value), (str(tag), run)
        if number is None or not self.recorder.wants("logged") or (key not in self._count and len(self._count) >= MOST_CURVES):
            return
        at = int(step) if isinstance(step, (int, float, np.integer)) else self._count[key]
        self._count[key] += 1
        self.recorder.point("logged", number, at, Place(tensor=str(tag), estimator=self._named(run)))

    def _named(self, run: Any) -> str | None:
        """The first run needs no name."""
        if run not in self._runs:
            self._runs[run] = f"run {len(self._runs) + 1}" if self._runs else None
        return self._runs[run]

    def setting(self, key: Any, value: Any) -> None:
        """A setting of the run."""
        self._settings += 1
        if self._settings <= MOST_SETTINGS:
            self.recorder.fact("logged_parameter", {"key": str(key), "value": str(value)[:500]})

    def histogram(self, tag: Any, values: Any, step: Any) -> None:
        """A distribution, at calls 1, 2, 4, 8, .. of a tag."""
        key = ("histogram", str(tag))
        count = self._count[key] = self._count[key] + 1
        if count & (count - 1) or not self.recorder.wants("logged_histogram"):
            return
        held = values.detach() if hasattr(values, "detach") else values
        held = held.cpu().float().numpy() if hasattr(held, "cpu") else np.asarray(held)
        if held.dtype.kind in "iufb" and 0 < held.size:
            flat = held.reshape(-1)
            made = summarise.profile(flat[summarise.spread(len(flat), MOST_VALUES)], str(tag))
            self.recorder.profile("logged_histogram", made.as_dict(), tensor=str(tag), step=int(step) if isinstance(step, (int, np.integer)) else count - 1)


def plain(value: Any) -> float | None:
    """A number of any library as a float; None for what is none."""
    if isinstance(value, str):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError):
        return None


def of(recorder: Recorder) -> Logs:
    """The logs of a recorder's run."""
    if "logs" not in recorder.shared:
        recorder.shared["logs"] = Logs(recorder)
    return recorder.shared["logs"]  # type: ignore[no-any-return]
