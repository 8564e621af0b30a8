"""Foretold: windows over one series that hold the very value which is to be predicted from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch.utils import data as torch_data

from ...capture import lineage
from ...capture.lineage import sight
from ...capture.lineage.fingerprints import array_of
from ...capture.origin import is_users
from .trace import is_plain, tensors_in
from .watch import Watch

PART = "foretold"
TRIES, SURE = 4, 2  # batches that are looked at, and that must show it
LEAST, MOST = 16, 8192  # rows of a batch
LEAST_WIDTH, MOST_VALUES = 4, 1_000_000
SAME = 1 - 1e-9  # correlation of a value that is the target, in another unit at most
STRETCH = 4  # values of a window that must follow each other in the series too


class Foretold:
    """The input of the model and the target of the loss in the first sampled steps."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.lineage = lineage.of(watch.recorder)
        self.inputs: Any = None
        self.tries = 0
        self.found: dict[tuple[int, int], int] = {}  # (position, channel): batches

    def forward(self, root: Any, inputs: Any, outputs: Any) -> None:
        """What the model was given."""
        first = next(iter(tensors_in(inputs)), None)
        fits = first is not None and is_plain(first) and not first.requires_grad and first.dim() in (2, 3) and first.is_floating_point()
        self.inputs = first.detach() if fits and LEAST <= first.shape[0] <= MOST and LEAST <= first.numel() <= MOST_VALUES else None

    def loss_call(self, call: Any) -> None:
        """What it is compared with: is it a value of its own window?"""
        inputs, target = self.inputs, call.target
        if inputs is None or self.watch.evaluating or self.tries >= TRIES or not is_plain(target) or not target.is_floating_point():
            return
        self.inputs = None
        if target.numel() != inputs.shape[0] or target.element_size() == 2 or inputs.element_size() == 2:
            return
        self.tries += 1
        x, y = inputs.numpy(), target.detach().reshape(-1).numpy().astype(np.float64)
        x = x[:, :, None] if x.ndim == 2 else x
        if len(np.unique(y)) < LEAST // 2:
            return
        for axis in (1, 2):
            held = x if axis == 1 else np.swapaxes(x, 1, 2)
            if held.shape[1] >= LEAST_WIDTH:
                self.look(held, y, inputs, axis)

    def look(self, x: np.ndarray, y: np.ndarray, inputs: Any, axis: int) -> None:
        """`x` is (rows, steps, channels)."""
        for at in map(tuple, np.argwhere(_same(x, y))):
            key = (axis, *map(int, at))
            self.found[key] = self.found.get(key, 0) + 1  # type: ignore[index, arg-type]
            if self.found[key] < SURE or not self.recorder.once("foretold"):  # type: ignore[index]
                continue
            name = _series(x[:2, :, at[1]])
            if name is not None:
                self.tell(int(at[0]), x.shape, name, inputs, len(y))

    def tell(self, position: int, shape: tuple[int, ...], series: tuple[str, str, int | None], inputs: Any, rows: int) -> None:
        """The fact, at the line that made the windows."""
        known = self.lineage.known_of(inputs)
        source = known.source if known is not None and known.source.line and known.source.rows > rows else None
        name, file, line = (source.name, source.file, source.line) if source is not None else (series[0], *(cut_at() or series[1:]))
        told = {"column": None, "position": position, "length": shape[1], "ahead": 0, "of": "the target", "share": 1.0, "rows": rows, "model": "the network",
                "name": name, "how": "own value", "series": series[0]}  # fmt: skip
        self.recorder.fact("window", told, stage="preprocess", tensor=name, file=file or "", line=line)

    def clear(self) -> None:
        self.inputs = None


def _same(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(steps, channels): is it the target, but for its unit, in all rows?"""
    y = y - y.mean()
    some = slice(0, LEAST)  # a few rows first
    few = np.abs(_correlation(x[some], y[some])) > 0.99
    if not few.any():
        return few
    found = np.zeros(few.shape, bool)
    found[few] = np.abs(_correlation(x[:, few][:, :, None], y))[:, 0] > SAME - 1e-7
    return found


def _correlation(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    x, y = x.astype(np.float64), y - y.mean()
    x = x - x.mean(axis=0)
    with np.errstate(all="ignore"):
        r = np.tensordot(y, x, axes=(0, 0)) / np.sqrt((x * x).sum(axis=0) * (y * y).sum())
    return np.nan_to_num(r)


def _series(rows: np.ndarray) -> tuple[str, str, int | None] | None:
    """The series in sight of which these rows are stretches, whatever its channels."""
    for frame in sight.user_frames():
        for name, value in sight.holdings(frame):
            array = array_of(value)
            if array is None or array.ndim > 2 or array.dtype.kind != "f" or len(array) < 2 * rows.shape[1] or array.size > MOST_VALUES:
                continue
            columns = array.reshape(len(array), -1).astype(np.float32)
            if columns.shape[1] <= 32 and any(all(_stretch(columns[:, c], row) for row in rows) for c in range(columns.shape[1])):
                return name, sight.absolute(frame.f_code), sight.assigned(frame, name)[0]
    return None


def cut_at() -> tuple[str, int] | None:
    """Where a data set of the person's own gives its items: the last line of its `__getitem__`."""
    for frame in sight.user_frames():
        for value in list(frame.f_locals.values())[: sight.MOST_NAMES]:
            data = getattr(value, "dataset", value) if isinstance(value, torch_data.DataLoader) else value
            code = getattr(getattr(type(data), "__getitem__", None), "__code__", None) if isinstance(data, torch_data.Dataset) else None
            if code is not None and is_users(code.co_filename):
                return sight.absolute(code), max(line for *_, line in code.co_lines() if line)
    return None


def _stretch(column: np.ndarray, row: np.ndarray) -> bool:
    row = row.astype(np.float32)
    starts = np.flatnonzero(column[: len(column) - len(row) + 1] == row[0])[:50]
    return len(np.unique(row)) >= STRETCH and any(np.array_equal(column[s : s + len(row)], row) for s in starts)


def install(watch: Watch) -> None:
    """Hang on the calls of models and losses."""
    if not watch.recorder.wants("window"):
        return
    foretold = Foretold(watch)
    watch.hang("on_forward", PART, foretold.forward)
    watch.hang("on_loss_call", PART, foretold.loss_call)
    watch.hang("on_disarm", PART, foretold.clear)
