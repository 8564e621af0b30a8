"""Run: all that a check can see of one run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from . import drawings, plots
from .curves import reduced
from .errors import UsageError
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

    # ---- for people who plot (needs the extra `sabueso[plot]`), and for notebooks

    def plot(self, name: str = "loss", log: bool | None = None) -> Any:
        """A Matplotlib figure of the series of a name: `loss` for train_loss, or any name or tag that the run has. Raises UsageError."""
        return plots.curves(self._named(name), name, log)

    def plot_layers(self, name: str = "gradient_norm") -> Any:
        """A Matplotlib figure of a series by layer and step: gradient_norm, update_ratio, output_std, units_dead, .. Raises UsageError."""
        return plots.layers(self._named({"gradient_norm": "weight_gradient"}.get(name, name)), name)

    def plot_distribution(self, column: str) -> Any:
        """A Matplotlib figure of a column as read, fitted on and judged with. Raises UsageError."""
        found = [p for held in self._profiles.values() for p in held if column in (p.value.get("name"), p.place.column)]
        if not found:
            known = sorted({str(p.value.get("name")) for held in self._profiles.values() for p in held})
            raise UsageError(f"no column {column!r} was seen; there are {', '.join(known[:20]) or 'none'}")
        return plots.distributions(found, column)

    def plot_learning_curves(self) -> Any:
        """A Matplotlib figure of the losses of training and of held-out rows. Raises UsageError."""
        held = [s for s in self.series("evaluation_error") if s.place.tensor == "loss"]
        return plots.curves([*self._named("train_loss"), *held], "learning curves")

    def _named(self, name: str) -> list[Series]:
        """The series of a name, an alias or a tag."""
        found = self.series(name) or self.series(f"train_{name}") or [s for held in self._series.values() for s in held if name == s.place.tensor]
        if not found:
            raise UsageError(f"the run has no series {name!r}; it has {', '.join(sorted(self._series)) or 'none'}")
        return found

    def __repr__(self) -> str:
        counts = [f"{sum(map(len, held.values()))} {word}" for held, word in ((self._facts, "facts"), (self._series, "series"), (self._profiles, "profiles"))]
        return f"<Run {self.meta.get('id', '')} {self.meta.get('outcome') or 'running'}: {', '.join(counts)}>"

    def _repr_html_(self) -> str:
        rows = [(k, self.meta.get(k)) for k in ("id", "command", "outcome", "seconds", "verdict") if self.meta.get(k) is not None]
        drawn = [drawings.line_chart(reduced(s.steps, s.values, 120), s.name) for n in ("train_loss", "evaluation_error") for s in self.series(n)[:1]]
        return drawings.table(rows) + "".join(f'<div style="max-width:560px">{d}</div>' for d in drawn)
