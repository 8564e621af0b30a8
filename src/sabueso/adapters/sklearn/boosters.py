"""Rows behind the data sets of boosting libraries' own interfaces: what is trained on, watched and judged."""

from __future__ import annotations

import weakref
from typing import Any

from ...capture import lineage
from ...capture.calling import direct
from ...capture.lineage import sight, uses
from ...capture.recorder import Recorder
from . import chosen, copies, overlaps, pairing
from .estimators import Call

MOST = 500  # data sets remembered


class Boosters:
    """What each data set was made of, and the fits and judgements with them."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.lineage = lineage.of(recorder)
        self.uses = uses.of(recorder, self.lineage)
        self.sets: dict[int, tuple[Any, Call, Any]] = {}  # with the name of the labels

    def built(self, made: Any, data: Any, label: Any) -> None:
        """A data set was made of rows."""
        known = self.lineage.known_of(data) if data is not None and not isinstance(data, (str, bytes)) else None
        if known is None:
            return
        if len(self.sets) > MOST:
            self.sets = {k: v for k, v in self.sets.items() if v[0]() is not None}
        call = Call(None, None, None, known, sight.origin())
        call.y = pairing.label_codes(label, known.rows)
        self.sets[id(made)] = (weakref.ref(made), call, getattr(label, "name", None))

    def of(self, made: Any) -> Call | None:
        """What is known of a data set."""
        held = self.sets.get(id(made))
        return held[1] if held is not None and held[0]() is made else None

    def trained(self, booster: Any, data: Any, watched: list[Any], stops: bool) -> None:
        """A booster was trained on one data set while others were watched."""
        call = self.of(data)
        if call is None or booster is None or not direct():
            return
        origin = sight.origin()
        fit = self.uses.fitted(booster, type(booster).__name__, call.known, origin, y=call.y, supervised=call.y is not None)
        fit.eval_sets += [(other.known, stops) for w in watched if w is not data and (other := self.of(w)) is not None]
        fit.extra["label"] = self.sets[id(data)][2]
        pairing.inputs_tell(self, fit, call)

    def judged(self, booster: Any, data: Any) -> None:
        """A booster answers for rows: of a data set, or of an array."""
        fit = self.uses.fit_of(booster) if direct() else None
        if fit is None or not fit.supervised:
            return
        call = self.of(data)
        known = call.known if call is not None else self.lineage.known_of(data) if hasattr(data, "shape") else None
        if known is None:
            return
        x = None if call is not None else data
        judged = Call(booster, x, call.y if call is not None else None, known, sight.origin())
        if self.uses.evaluated(fit, known, x, judged.origin, "predict", scored=False) is not None:
            pairing.target_means(self, fit, judged)
            chosen.look(self, fit, judged)
            copies.look(self, fit, judged, pairing.labels_in_sight)
            overlaps.look(self, fit, judged)
