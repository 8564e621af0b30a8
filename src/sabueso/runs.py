"""Run: all that a check can see of one run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from .events import Fact, Series, Summary


class Run:
    """Evidence of one run by name; `meta` says what ran (id, command, outcome, exit_status, seconds, stages, overhead, cwd).

    Ranks and workers of one run are one Run; `process` on each piece of evidence tells them apart.
    """

    def __init__(self, meta: dict[str, Any] | None = None, facts: Iterable[Fact] = (), series: Iterable[Series] = (), profiles: Iterable[Summary] = ()) -> None:
        self.meta = dict(meta or {})
        self._facts: dict[str, list[Fact]] = defaultdict(list)
        self._series: dict[str, list[Series]] = defaultdict(list)
        self._profiles: dict[str, list[Summary]] = defaultdict(list)
        for held, given in ((self._facts, facts), (self._series, series), (self._profiles, profiles)):
            for item in given:
                held[item.name].append(item)

    def facts(self, name: str) -> list[Fact]:
        """Facts of that name in the order in which they were recorded."""
        return self._facts.get(name, [])

    def series(self, name: str) -> list[Series]:
        """All series of that name, one a place."""
        return self._series.get(name, [])

    def profiles(self, name: str) -> list[Summary]:
        """Profiles of that name in the order in which they were recorded."""
        return self._profiles.get(name, [])

    def names(self) -> list[str]:
        """The names of all evidence that the run holds."""
        return sorted({*self._facts, *self._series, *self._profiles})

    @property
    def empty(self) -> bool:
        return not (self._facts or self._series or self._profiles)
