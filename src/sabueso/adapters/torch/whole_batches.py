"""Whole batches: networks trained on all their rows in every step, without a loader, and the rows that they are then given to judge."""

from __future__ import annotations

from typing import Any

from ...capture import lineage
from ...capture.lineage import sight, uses
from ...capture.lineage.known import Known
from ...capture.lineage.registry import shape_of
from .trace import tensors_in
from .watch import Watch

PART = "whole_batches"
LEAST, MOST_CELLS = 20, 2_000_000
STEPS, JUDGED = 4, 8  # calls that are looked at
NUMBER = 20_000  # of the first such fit, apart from those by loaders


class WholeBatches:
    """What the first sampled steps learnt from: told only where each had the very same rows."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.lineage = lineage.of(watch.recorder)
        self.uses = uses.of(watch.recorder, self.lineage)
        self.trained: Known | None = None
        self.origin: sight.Origin = []
        self.same = self.calls = 0
        self.judged: list[tuple[Known, sight.Origin]] = []
        self.recorder.at_exit(self.tell)

    def forward(self, root: Any, inputs: Any, outputs: Any) -> None:
        """A training step's call of the model."""
        if self.watch.evaluating or self.calls >= STEPS:
            return
        x = self._rows(inputs)
        known = self.lineage.known_of(x) if x is not None else None
        self.calls += 1
        if known is None or self.trained is not None and uses.unique(known).tolist() != uses.unique(self.trained).tolist():
            self.calls, self.same = STEPS, 0  # parts of the rows, or others each time: which ones is not known
            return
        self.trained, self.same = known, self.same + 1
        self.origin = sight.origin()

    def on_evaluation(self, root: Any, inputs: Any, outputs: Any) -> None:
        """Rows given to a model that learns nothing from them."""
        if self.trained is None or len(self.judged) >= JUDGED:
            return
        x = self._rows(inputs)
        known = self.lineage.known_of(x) if x is not None else None
        if known is not None and (known.ids >= 0).mean() > 0.95:
            self.judged.append((known, sight.origin()))

    @staticmethod
    def _rows(inputs: Any) -> Any:
        x = next(iter(tensors_in(inputs)), None)
        shape = shape_of(x) if x is not None else None
        return x.detach() if shape is not None and len(shape) == 2 and shape[0] >= LEAST and shape[0] * shape[1] <= MOST_CELLS else None

    def tell(self) -> None:
        """The pairs of training and judged rows."""
        if self.trained is None or self.same < 2:
            return
        fit = uses.Fit(NUMBER, "the network", self.trained, uses.unique(self.trained), self.origin, True)
        for known, origin in self.judged:
            if len(uses.unique(known)) and known.source is self.trained.source:
                self.uses.evaluated(fit, known, None, origin, "forward", scored=False)


def install(watch: Watch) -> None:
    """Hang on the calls of models."""
    if not watch.recorder.wants("row_use"):
        return
    seen = WholeBatches(watch)
    watch.hang("on_forward", PART, seen.forward)
    watch.hang("on_evaluation", PART, seen.on_evaluation)
