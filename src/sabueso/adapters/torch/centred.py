"""Centred: windows over a series beside a smoothing of it, whose last values were reckoned from the very value that is to be predicted.

Rows and targets of the first sampled steps are kept (a few hundred). Where one window is another moved on by a step, the target of the first is
the last value of the second: so it is known which channel is the series. Another channel looks ahead where one of its values is an exact
weighted sum of values of the series if the target is among them, and none without it.
"""

from __future__ import annotations

import ast
import os
import sys
from typing import Any

import numpy as np

from ...capture.operands import parsed
from ...capture.origin import is_users
from .foretold import cut_at
from .trace import is_plain, tensors_in
from .watch import Watch

PART = "centred"
MOST_BATCHES, ENOUGH, MOST_ROWS = 8, 200, 600
LEAST_STEPS, MOST_STEPS, MOST_CHANNELS = 8, 512, 16
REACH = 16  # values on either side that a smoothing is looked for
EXACT, APART = 1e-4, 1e-3  # of the channel's spread, left over with the target and without: 32-bit values leave 1e-6
PAIRS = 3  # windows that follow each other
SMOOTHERS = frozenset({"savgol_filter", "filtfilt", "sosfiltfilt", "gaussian_filter1d", "uniform_filter1d", "convolve", "lowess", "wiener", "detrend"})


class Centred:
    """The inputs and targets of the first sampled steps."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.inputs: Any = None
        self.x: list[np.ndarray] = []
        self.y: list[np.ndarray] = []
        self.open = True

    def forward(self, root: Any, inputs: Any, outputs: Any) -> None:
        """What the model was given."""
        first = next(iter(tensors_in(inputs)), None) if self.open else None
        fits = first is not None and first.dim() == 3 and first.is_floating_point() and not first.requires_grad and is_plain(first)
        self.inputs = first.detach() if fits and first.element_size() >= 4 and min(first.shape[1:]) >= 2 and max(first.shape[1:]) <= MOST_STEPS else None

    def loss_call(self, call: Any) -> None:
        """What it should have answered; once there are rows enough, both are looked at."""
        inputs, self.inputs, target = self.inputs, None, call.target
        if inputs is None or self.watch.evaluating or not self.open or not is_plain(target) or not target.is_floating_point():
            return
        if target.numel() != inputs.shape[0] or self.x and self.x[0].shape[1:] != tuple(inputs.shape[1:]):
            return
        self.x.append(inputs.numpy()[:MOST_ROWS].copy())
        self.y.append(target.detach().reshape(-1)[:MOST_ROWS].double().numpy().copy())
        rows = sum(map(len, self.x))
        if rows >= ENOUGH or len(self.x) >= MOST_BATCHES:
            self.open = False
            self.look(np.concatenate(self.x), np.concatenate(self.y))
            self.x, self.y = [], []

    def look(self, x: np.ndarray, y: np.ndarray) -> None:
        """Steps may stand on either axis."""
        for held in (x, np.swapaxes(x, 1, 2)):
            if held.shape[1] < LEAST_STEPS or held.shape[2] > MOST_CHANNELS or held.shape[1] < held.shape[2]:
                continue
            for series in range(held.shape[2]):
                found = ahead(held, y, series) if continued(held[:, :, series], y) else None
                if found is not None:
                    self.tell(held, found)
                    return

    def tell(self, x: np.ndarray, found: tuple[int, int]) -> None:
        """The fact, at the line that smooths."""
        channel, position = found
        file, line = smoothed_at() or cut_at() or ("", None)
        value = {"how": "centred", "column": None, "channel": channel, "channels": x.shape[2], "position": position, "length": x.shape[1],
                 "ahead": x.shape[1] - position, "rows": len(x), "of": "the target", "share": 1.0}  # fmt: skip
        self.recorder.fact("window", value, stage="preprocess", file=file, line=line)

    def clear(self) -> None:
        self.inputs = None


def continued(windows: np.ndarray, y: np.ndarray) -> bool:
    """Is the target of each window the value that comes next, as windows one step further on show?"""
    later = {np.ascontiguousarray(w[:-1]).tobytes(): i for i, w in enumerate(windows)}
    pairs = [(i, j) for i, w in enumerate(windows) if (j := later.get(np.ascontiguousarray(w[1:]).tobytes())) is not None and np.ptp(w) > 0]
    if len(pairs) < PAIRS:
        return False
    first, second = map(list, zip(*pairs, strict=True))
    return bool(np.allclose(windows[second, -1], y[first], rtol=1e-5, atol=1e-6) and np.ptp(y[first]) > 0)


def ahead(x: np.ndarray, y: np.ndarray, series: int) -> tuple[int, int] | None:
    """(channel, position) of a value that is a weighted sum of the series and the target, but not of the series alone."""
    n, steps, channels = x.shape
    for channel in (c for c in range(channels) if c != series):
        for position in range(steps - 1, max(0, steps - REACH) - 1, -1):
            value = x[:, position, channel].astype(np.float64)
            known = np.column_stack([x[:, max(0, position - REACH) :, series].astype(np.float64), np.ones(n)])
            spread = float(value.std())
            if spread == 0 or n < 3 * known.shape[1] + 20:
                continue
            if left(known, value) > APART * spread and left(np.column_stack([known, y]), value) < EXACT * spread:
                return channel, position
    return None


def left(known: np.ndarray, value: np.ndarray) -> float:
    """What a weighted sum of some columns leaves of a value: the root of the mean square."""
    weights = np.linalg.lstsq(known, value, rcond=None)[0]
    return float(np.sqrt(np.mean((known @ weights - value) ** 2)))


def smoothed_at() -> tuple[str, int] | None:
    """The person's one line that smooths in both directions; None where there are several or none."""
    found = set()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        for node in ast.walk(parsed(file) or ast.Module(body=[], type_ignores=[])) if isinstance(file, str) and is_users(file) else ():
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", None))
                both = any(k.arg == "center" and getattr(k.value, "value", False) is True for k in node.keywords)
                if name in SMOOTHERS or both:
                    found.add((os.path.abspath(file), node.lineno))
    return found.pop() if len(found) == 1 else None


def install(watch: Watch) -> None:
    """Hang on the calls of models and losses."""
    if not watch.recorder.wants("window"):
        return
    centred = Centred(watch)
    watch.hang("on_forward", PART, centred.forward)
    watch.hang("on_loss_call", PART, centred.loss_call)
    watch.hang("on_disarm", PART, centred.clear)
