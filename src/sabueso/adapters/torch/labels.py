"""Labels: which rows bring a label or an index that a loss or an embedding can't take, told when it raised."""

from __future__ import annotations

import ast
import os
import re
from types import FrameType
from typing import Any

import numpy as np

from ...capture import files
from ...capture.crash import origin_of
from ...capture.operands import at_instruction, operands
from ...capture.origin import is_users
from ...capture.provenance import Stops, made, stops_of
from .rows import FIRST, Held, Spot, base, held, values_of
from .sources import set_at
from .watch import Watch

PART = "labels"
RAISED = re.compile(
    r"Target (?P<value>-?\d+) is out of bounds|Class values must be (smaller than num_classes|non-negative)|index out of range in self"
    r"|index (?P<index>-?\d+) is out of bounds for (axis|dimension) \d+ with size (?P<size>\d+)|device-side assert"
    r"|all elements of (input|target) should be between 0 and 1|n_classes.*[Aa]ssert"
)
LOSSES = ("cross_entropy", "nll_loss", "_nll_loss_nd", "multi_margin_loss", "binary_cross_entropy")
EMBEDDINGS = ("embedding", "embedding_bag")


class Labels:
    """The witness; one a watch."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder

    def witness(self, error: BaseException, told: dict[str, Any]) -> dict[str, Any] | None:
        """What the crash fact gets: labels {what, limit, values, count, positions, name, spot}."""
        match = RAISED.search(str(told.get("message", "")))
        if match is None:
            return None
        stops = stops_of(origin_of(error).__traceback__)
        found = self.offenders(stops, match)
        if found is None:
            return None
        what, name, values, limit, bad = found
        if not bad.any():
            return None
        wrong = np.unique(values[bad])
        positions = np.unique(np.nonzero(bad)[0]) if values.ndim else np.array([0])
        result = {
            "what": what,
            "name": name,
            "limit": limit,
            "values": wrong[:20].tolist(),
            "count": int(bad.sum()),
            "positions": positions[:FIRST].tolist(),
        }
        spot = self.spot(values, bad, limit, stops)
        if spot is not None:
            result["spot"] = spot.as_dict()
        return {"labels": result}

    def offenders(self, stops: Stops, match: re.Match[str]) -> tuple[str, str | None, np.ndarray, int, np.ndarray] | None:
        """(label or index, the person's name for it, all values, how many classes or rows there are, which are out of range)."""
        for frame in reversed(list(stops)):
            code, scope = frame.f_code.co_name, frame.f_locals
            if code in LOSSES and not is_users(frame.f_code.co_filename):
                scores, target = scope.get("input"), values_of(scope.get("target"))
                if target is None or target.dtype.kind == "f" and code != "binary_cross_entropy":
                    return None
                limit = int(scores.shape[1] if scores.dim() > 1 else scores.shape[0])
                if code == "binary_cross_entropy":
                    return "label", self.named(scope.get("target"), stops), target, 1, (target < 0) | (target > 1)
                bad = ((target < 0) | (target >= limit)) & (target != scope.get("ignore_index", -100))
                return "label", self.named(scope.get("target"), stops), target, limit, bad
            if code in EMBEDDINGS and not is_users(frame.f_code.co_filename):
                ids, weight = values_of(scope.get("input")), scope.get("weight")
                if ids is not None and ids.dtype.kind == "f":
                    ids, weight = values_of(scope.get("weight")), scope.get("input")  # the old order of embedding_bag's arguments
                limit = int(weight.shape[0])
                return None if ids is None else ("index", self.named(scope.get("input"), stops), ids, limit, (ids < 0) | (ids >= limit))
        return self.indexed(stops, match)

    def indexed(self, stops: Stops, match: re.Match[str]) -> tuple[str, str | None, np.ndarray, int, np.ndarray] | None:
        """An index into an array or a one-hot code, by the operands of the person's own line."""
        frame = next((f for f in reversed(list(stops)) if is_users(f.f_code.co_filename)), None)
        node = at_instruction(frame, stops[frame][1]) if frame is not None else None
        if node is None:
            return None
        found = [(n, v) for n, x in operands(frame, node) if (v := values_of(x)) is not None and v.dtype.kind in "iu" and v.size > 1]
        limit = int(match["size"]) if match["size"] else None
        if limit is None:
            sizes = [v for _, v in operands(frame, node) if isinstance(v, int) and not isinstance(v, bool)]
            sizes += [k.value for k in ast.walk(node) if isinstance(k, ast.Constant) and type(k.value) is int]
            limit = next((s for s in sizes if s > 1), None)
        for name, values in found:
            if limit is not None and ((values >= limit) | (values < -limit)).any():
                return "index", name, values, limit, (values >= limit) | (values < -limit)
        return None

    def named(self, value: Any, stops: Stops) -> str | None:
        """What the person's innermost frame that holds it calls a tensor."""
        for frame in reversed(list(stops)):
            if is_users(frame.f_code.co_filename):
                for name, other in frame.f_locals.items():
                    if other is value:
                        return name
        return None

    def spot(self, values: np.ndarray, bad: np.ndarray, limit: int, stops: Stops) -> Spot | None:
        """All rows with such a label in the array or table that the batch's came from."""
        frames = [f for f in reversed(list(stops)) if is_users(f.f_code.co_filename)]
        loader = self.watch.parts.get("loader")
        batch = loader.of([values], len(values) if values.ndim else 1) if loader is not None else None
        others: list[tuple[str, Any]] = []
        rows: list[int] | None = None
        if batch is not None and batch.dataset is not None:
            inner, rows = base(batch.dataset, batch.indices) if isinstance(batch.indices, list) else (batch.dataset, None)
            others = [("self", inner), ("source", batch.source)]
        best: tuple[tuple[Any, ...], Held, np.ndarray] | None = None
        for order, array in enumerate(held(frames, others)):
            found = fits(array, values, bad, limit, rows)
            if found is not None:
                batch_itself = array.values.shape == values.shape and np.shares_memory(array.values, values)
                rank = (
                    not batch_itself,
                    found[0],
                    round(inside(array.values, limit), 2),
                    array.column is not None,
                    array.frame is not None,
                    len(array.values),
                    -order,
                )
                if best is None or rank > best[0]:
                    best = (rank, array, found[1])
        if best is None or not best[0][0]:
            stored = self.stored(values, bad, limit)
            if stored is not None:
                return stored
        if best is None:
            return None
        _, array, at = best
        name = array.name.removeprefix("self.").removeprefix("source.")
        spot = Spot(at[:FIRST].tolist(), name, column=array.column, count=len(at), held=array)
        self.line(spot, array, batch, stops)
        rowsof = self.watch.parts.get("rows")
        return rowsof.as_read(spot, [array], frames) if rowsof is not None else spot

    def stored(self, values: np.ndarray, bad: np.ndarray, limit: int) -> Spot | None:
        """The rows in a file of arrays that the program read: for streams that are gone when the exception has passed."""
        for part in files.of(self.recorder).stored():
            found = fits(Held(part.key, part.values), values, bad, limit, None)
            if found is not None and len(found[1]) <= max(FIRST, len(part.values) // 2):
                name = os.path.basename(part.path)
                return Spot(found[1][:FIRST].tolist(), part.key, name, part.key or None, part.file, part.line, "file", len(found[1]))
        return None

    def line(self, spot: Spot, array: Held, batch: Any, stops: Stops) -> None:
        """The line that made the array."""
        frame: FrameType | None = array.frame
        name = array.name
        source = getattr(batch, "source", None)
        if frame is None and getattr(source, "gi_frame", None) is not None and name in source.gi_frame.f_locals:
            frame = source.gi_frame
        if frame is None:  # an attribute of the person's data set: where its class sets it
            place = set_at(base(batch.dataset, [])[0], name.removeprefix("self.")) if batch is not None and name.startswith("self.") else None
            spot.file, spot.line = place or (spot.file, spot.line)
            return
        try:
            steps = made(frame, ast.parse(name, mode="eval").body, stops)
        except SyntaxError:
            return
        if steps:
            spot.file, spot.line = steps[-1].file, steps[-1].line


def fits(array: Held, values: np.ndarray, bad: np.ndarray, limit: int, rows: list[int] | None) -> tuple[int, np.ndarray] | None:
    """(how surely, rows) if the labels of the batch can have come from this array: by the loader's indices, or by its values."""
    known, wrong = array.values, np.unique(values[bad])
    if known.ndim != max(1, values.ndim) or (rows is None and array.frame is not None and values.ndim and len(known) < len(values)):
        return None
    if known.dtype.kind == "f" and values.dtype.kind != "f" and not (known == np.floor(known)).all():
        return None
    at = np.flatnonzero(np.isin(known, wrong).reshape(len(known), -1).any(axis=1))
    if not len(at):
        return None
    if rows is not None and max(rows) < len(known) and len(rows) == len(values):
        return (2, at) if np.array_equal(known[rows], values) else None
    if values.dtype.kind != "f" and inside(known, limit) < 0.5 and not np.array_equal(known, values):
        return None
    distinct = set(np.unique(values[~bad]).tolist())
    return (1, at) if not distinct or distinct <= set(np.unique(known).tolist()) else None


def inside(values: np.ndarray, limit: int) -> float:
    """The share of values that an index may have."""
    return float(((values >= 0) & (values < limit)).mean()) if values.size else 0.0


def install(watch: Watch) -> None:
    """Testify at a crash."""
    labels = Labels(watch)
    watch.recorder.at_crash.append(labels.witness)
