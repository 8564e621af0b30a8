"""Means of NumPy, where they are the last line of a metric made by hand: of errors, of hits, of the values of batches."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

from ..capture import authorship
from ..capture.around import Patches
from ..capture.calling import caller
from ..capture.origin import is_users, user_line
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("numpy",)
PROVIDES = ("hand_metric", "hand_broadcast", "labels_compared")
MOST_LINES = 200  # lines whose means are looked at; each with so many values
SEEN = ("recall", "precision", "f1", "confusion", "balanced", "auc", "roc", "sensitivity", "specificity", "missed", "caught", "false")
MOST_SQUARES = 12
TRIES, LEAST_ROWS, MOST_ROWS, FEW_EQUAL = 3, 30, 100_000, 0.6  # looks a line at labels that are compared, and how many of them may be equal
MOST_TRIES = 400
THROUGH = ("numpy/_core/fromnumeric.py", "numpy/_core/_methods.py", "numpy/lib/_function_base_impl.py", "numpy/_core/_internal.py")


class Reductions:
    """The hooks of one installation."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder, self.lines = recorder, {}
        self.outer: Any = None
        self.squares: dict[Any, int] = {}
        self.asked: dict[Any, int] = {}
        recorder.shared["reductions"] = self
        recorder.at_exit(self.finish)

    def mean(self, token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """numpy's own mean returned, called by np.mean or by a method."""
        x = args[0] if args else None
        if type(x).__name__ != "ndarray" or x.size < 4 or not isinstance(result, float) and getattr(result, "ndim", 1):
            return
        if x.dtype.kind == "b" and x.ndim == 1:
            self.compared(x, caller(), float(result))
        flow = self.recorder.shared.get("flow")
        if x.ndim != 2 and (flow is None or len(x) not in flow.outputs.lengths):
            return
        frame = caller()
        while frame is not None and frame.f_code.co_filename.endswith(THROUGH):
            frame = frame.f_back
        if frame is None or not is_users(frame.f_code.co_filename):
            return
        self.load()
        if x.ndim == 2 and x.shape[0] == x.shape[1] and x.dtype.kind in "iufb":
            self.square(x, frame, float(result))
        elif x.ndim == 1 or x.ndim == 2 and x.shape[1] == 1:
            self.vector(x.reshape(-1), frame, float(result))

    def compared(self, equal: Any, frame: Any, share: float) -> None:
        """A vector of yes and no is averaged and hardly ever yes: are two vectors of labels compared, which differ by their numbering?"""
        while frame is not None and frame.f_code.co_filename.endswith(THROUGH):
            frame = frame.f_back
        if frame is None or share > FEW_EQUAL or not LEAST_ROWS <= len(equal) <= MOST_ROWS or not is_users(frame.f_code.co_filename):
            return
        here = (frame.f_code, frame.f_lineno)
        self.asked[here] = self.asked.get(here, 0) + 1
        if self.asked[here] > TRIES or len(self.asked) > MOST_LINES or not self.recorder.wants("labels_compared"):
            return
        self.load()
        found = self.outer.labels_of(equal, frame)
        if found is not None:
            clusters = any(name in sys.modules for name in ("sklearn.cluster", "sklearn.mixture"))
            self.recorder.fact("labels_compared", {**found, "rows": len(equal), "equal": share, "clusters": clusters}, stage="evaluate")

    def of_series(self, x: Any, frame: Any, result: float) -> None:
        """The same for the mean of a Series of pandas."""
        self.load()
        self.vector(x, frame, result)

    def load(self) -> None:
        """NumPy may have been loaded from within our own imports: only now are they surely done."""
        if self.outer is None:
            self.outer = importlib.import_module("sabueso.capture.outer")

    def square(self, x: Any, frame: Any, result: float) -> None:
        """A square table is averaged: is it all pairs of a row vector and a column vector that stand at hand?"""
        here = (frame.f_code, frame.f_lineno)
        self.squares[here] = self.squares.get(here, 0) + 1
        found = self.outer.outer_of(x, frame) if self.squares[here] <= MOST_SQUARES and len(self.squares) <= MOST_LINES else None
        if found is not None:
            self.recorder.fact("hand_broadcast", {**found, "shape": list(x.shape), "value": result}, stage="evaluate")

    def vector(self, x: Any, frame: Any, result: float) -> None:
        """A vector is averaged that has the rows of a model's last answer: is it the difference of that answer and a truth?"""
        flow = self.recorder.shared.get("flow")
        output = flow.outputs.last(len(x)) if flow is not None else None
        if output is None or x.dtype.kind not in "iufb":
            return
        file, line = user_line()
        site = self.lines.setdefault((file, line), {"values": [], "sizes": [], "tries": 0})
        site["tries"] += 1
        if len(self.lines) > MOST_LINES or site["tries"] > MOST_TRIES or site["tries"] > 20 and not site["values"]:
            return
        answer = output.values if output.values.ndim == 1 else output.values[:, -1]
        more = [("answer", answer.astype(float))] if answer.dtype.kind in "iufb" else []
        found = self.outer.pair_of(x, frame, more)
        if found is None:
            return
        a_name, a, b_name, b, form = found
        if a_name != "answer" and flow.outputs.find(a, a) is None and flow.outputs.find(b, b) is not None:
            a_name, a, b_name, b = b_name, b, a_name, a
        site["values"].append(result)
        site["sizes"].append(len(x))
        site |= {"form": form, "answer": a_name, "truth": b_name, "model": output.model}
        if form == "equal":
            site["confusion"] = self.outer.counted(b, a)
            site["one_column"] = site.get("one_column") or self.outer.one_column(b, a, output) or self.outer.one_column(a, b, output)
            site["named"] = site["named"] if "named" in site else authorship.mentions(SEEN)
        if a_name == "answer" or flow.outputs.find(a, a) is not None or output.stream is not None:
            if a_name == "answer":
                flow.truth(output, b)
            elif output.stream is not None and not output.stream.model.quantile:
                output.stream.truth.add(output.start, b, a, output.method)

    def finish(self) -> None:
        """One fact a line."""
        for (file, line), site in list(self.lines.items())[:MOST_LINES]:
            if site["values"]:
                self.recorder.fact("hand_metric", {**site, "values": site["values"][:300], "sizes": site["sizes"][:300]}, stage="evaluate",
                                   file=file or "", line=line)  # fmt: skip


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook numpy's mean, which both np.mean and the method of arrays go through."""
    patches = Patches()
    methods = sys.modules.get("numpy._core._methods")
    if methods is None or not recorder.wants(*PROVIDES):
        return patches.undo
    hooks = Reductions(recorder)
    patches.around(methods, "_mean", None, guarded("reductions", recorder)(hooks.mean))
    return patches.undo
