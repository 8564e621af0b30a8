"""A linear model and a scaler that were stored apart: is the scaler the one that the model was fitted behind?

The coefficients of a fitted linear or logistic model balance its residuals against every input. A table on which they do so exactly, behind the
table's own means and spreads, is the table of the fit; where they do not behind the stored ones, those are of another table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import summarise
from .moments import MEANS, SPREADS
from .naming import tables_at_hand
from .origin import user_line
from .recorder import Recorder

WEIGHTS, BIASES = ("coef", "coefs", "coefficients", "weights", "beta", "coef_", "w"), ("bias", "intercept", "intercept_", "b", "b0")
BALANCED, OFF = 0.005, 0.05  # residual times input, on average: of a fit (regularised too), and of inputs that it was not fitted on
LEAST, MOST_COLUMNS, MOST_LABELS = 100, 100, 12


class Stored:
    """What was read from files so far. One a recorder: see `of`."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.names: list[list[str]] = []
        self.models: list[tuple[np.ndarray, float]] = []
        self.scales: list[tuple[np.ndarray, np.ndarray, str | None, int | None]] = []

    def keep(self, value: dict[str, Any]) -> None:
        """An object was loaded from a file."""
        before = len(self.models) + len(self.scales)
        held = {k: v for k, v in value.items() if isinstance(v, list) and 2 <= len(v) <= MOST_COLUMNS}
        self.names += [v for v in held.values() if all(isinstance(n, str) for n in v)]
        numbers = {k: np.array(v, dtype=np.float64) for k, v in held.items() if all(isinstance(n, (int, float)) for n in v)}
        weights, mean, spread = (next((numbers[k] for k in keys if k in numbers), None) for keys in (WEIGHTS, MEANS, SPREADS))
        bias = next((value[k] for k in BIASES if isinstance(value.get(k), (int, float))), None)
        if weights is not None and bias is not None:
            self.models.append((weights, float(bias)))
        if mean is not None and spread is not None and len(mean) == len(spread) and (spread > 0).all():
            self.scales.append((mean, spread, *user_line()))
        if len(self.models) + len(self.scales) > before and self.models and self.scales:
            for frame in tables_at_hand():
                self.met(frame)

    def met(self, frame: Any) -> None:
        """A table with the model's columns is at hand."""
        if not self.models or not self.scales or not LEAST <= summarise.height(frame) <= 500_000:
            return
        have = summarise.columns_of(frame)
        for names in self.names[:20]:
            if set(names) <= set(have):
                columns = [summarise.column(frame, n) for n in names]
                if all(c.dtype.kind in "iuf" for c in columns):
                    self._judge(frame, names, np.column_stack(columns).astype(np.float64), [c for c in have if c not in names])

    def _judge(self, frame: Any, names: list[str], x: np.ndarray, others: list[str]) -> None:
        own = x.mean(axis=0), x.std(axis=0)
        if not np.isfinite(x).all() or not (own[1] > 0).all():
            return
        labels = {c: v.astype(np.float64) for c in others[:MOST_LABELS] if (v := summarise.column(frame, c)).dtype.kind in "iufb"}
        for mean, spread, file, line in self.scales:
            for weights, bias in self.models:
                if not len(weights) == len(mean) == len(names):
                    continue
                for label, y in labels.items():
                    best, stored = (imbalance((x - m) / s, y, weights, bias) for m, s in (own, (mean, spread)))
                    if best < BALANCED and stored > OFF and self.recorder.once("scale_foreign", file, line):
                        far = np.abs(mean - own[0]) / own[1] + np.abs(np.log(spread / own[1]))
                        told = {"columns": [names[i] for i in np.argsort(-far) if far[i] > 0.2][:20], "label": label, "rows": len(x),
                                "balance": round(best, 5), "balance_stored": round(stored, 4), "column": names[int(far.argmax())],
                                "stored": [float(mean[far.argmax()]), float(spread[far.argmax()])],
                                "own": [float(own[0][far.argmax()]), float(own[1][far.argmax()])]}  # fmt: skip
                        self.recorder.fact("scale_foreign", told, file=file or "", line=line)


def imbalance(z: np.ndarray, y: np.ndarray, weights: np.ndarray, bias: float) -> float:
    """The largest mean of residual times input (or of the residual alone), in spreads of the label."""
    if not np.isfinite(y).all() or y.std() == 0:
        return np.inf
    said = z @ weights + bias
    if set(np.unique(y).tolist()) == {0.0, 1.0}:
        said = 1 / (1 + np.exp(-np.clip(said, -50, 50)))
    left = (y - said) / y.std()
    return float(max(abs(left.mean()), np.abs(left @ z / len(z)).max()))


def of(recorder: Recorder) -> Stored:
    """The one of this run."""
    if "stored_scales" not in recorder.shared:
        recorder.shared["stored_scales"] = Stored(recorder)
    return recorder.shared["stored_scales"]  # type: ignore[no-any-return]
