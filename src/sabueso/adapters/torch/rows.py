"""Rows: which rows, as they were read, stand at some places of a batch. Looked for only when there is trouble, in bounded time."""

from __future__ import annotations

import ast
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FrameType, GeneratorType
from typing import Any

import numpy as np
import torch

from ...capture import lineage
from ...capture.operands import MISSING, is_frame, is_series, rooted, value_of
from ...capture.origin import is_users
from ...capture.provenance import function_of, loops_at, made
from .watch import Watch

PART = "rows"
MOST_SECONDS = 2.0
MOST_OBJECTS = 3000
MOST_ITEMS = 60  # of a container
FIRST = 50  # rows that are told


@dataclass(slots=True)
class Held:
    """An array of the program that has rows: what the person calls it, its values, and the frame or object that holds it."""

    name: str
    values: np.ndarray
    column: str | None = None
    frame: FrameType | None = None
    owner: Any = None


@dataclass(slots=True)
class Spot:
    """Rows of an array or of a table as read."""

    rows: list[int]
    array: str | None = None
    table: str | None = None
    column: str | None = None
    file: str | None = None
    line: int | None = None
    how: str = "content"  # index (the loader's), lineage, content
    count: int = 0
    index: int | None = None  # of the first row in the innermost dataset
    held: Held | None = field(default=None, repr=False)

    def as_dict(self) -> dict[str, Any]:
        names = ("rows", "array", "table", "column", "file", "line", "how", "count")
        return {n: v for n in names if (v := getattr(self, n)) is not None}


def values_of(x: Any) -> np.ndarray | None:
    """The values as NumPy sees them, without a copy where that can be; None for what lies on a device or is no array."""
    if isinstance(x, np.ndarray):
        return x if x.dtype.kind in "fiub" else None
    if torch.is_tensor(x):
        if x.device.type != "cpu" or x.layout != torch.strided or type(x).__name__ in ("FakeTensor", "FunctionalTensor") or x.is_quantized:
            return None
        x = x.detach()
        return (x.float() if x.dtype in (torch.bfloat16,) else x).numpy() if not x.is_complex() else None
    return None


def frames_of(frame: FrameType | None) -> list[FrameType]:
    """The person's frames, innermost first."""
    found = []
    while frame is not None and len(found) < 12:
        if is_users(frame.f_code.co_filename):
            found.append(frame)
        frame = frame.f_back
    return found


def held(frames: Iterable[FrameType], others: Iterable[tuple[str, Any]] = ()) -> Iterator[Held]:
    """All arrays within reach: of datasets (`others`), of the frames' locals and globals, of what these hold."""
    seen: set[int] = set()
    budget = [MOST_OBJECTS, time.monotonic() + MOST_SECONDS]
    for name, value in others:
        yield from _walk(name, value, None, 4, seen, budget)
    done: set[int] = set()
    for frame in frames:
        for scope in (frame.f_locals, frame.f_globals):
            if id(scope) in done:
                continue
            done.add(id(scope))
            for name, value in list(scope.items()):
                if not name.startswith("__"):
                    yield from _walk(name, value, frame, 3, seen, budget)


def _walk(name: str, value: Any, frame: FrameType | None, depth: int, seen: set[int], budget: list[float]) -> Iterator[Held]:
    budget[0] -= 1
    if budget[0] < 0 or time.monotonic() > budget[1] or id(value) in seen or isinstance(value, (str, bytes, int, float, type, FrameType)):
        return
    array = values_of(value)
    if array is not None:
        seen.add(id(value))
        if array.ndim and len(array) > 1:
            yield Held(name, array, None, frame, value)
        return
    if is_series(value) or is_frame(value):
        seen.add(id(value))
        for column in list(value.columns)[:200] if is_frame(value) else [value.name]:
            part = value[column] if is_frame(value) else value
            if getattr(part, "ndim", 2) == 1 and getattr(part.dtype, "kind", "O") in "fiub":
                yield Held(name, np.asarray(part.array), None if column is None else str(column), frame, value)
        return
    if depth:
        seen.add(id(value))
        for inner, part in _parts(name, value, frame is None):
            yield from _walk(inner, part, frame, depth - 1, seen, budget)


def _parts(name: str, value: Any, of_dataset: bool) -> Iterator[tuple[str, Any]]:
    """What an object holds, under the names by which the person would reach it; within a dataset, objects of libraries too."""
    if isinstance(value, GeneratorType):
        if value.gi_frame is not None:
            yield from ((n, v) for n, v in value.gi_frame.f_locals.items())
    elif type(value) is dict:
        yield from ((f"{name}[{k!r}]", v) for k, v in list(value.items())[:MOST_ITEMS])
    elif type(value) in (list, tuple):
        yield from ((f"{name}[{k}]", v) for k, v in enumerate(value[:MOST_ITEMS]))
    elif isinstance(value, torch.nn.Module) or type(value).__name__ in ("module", "function", "method"):
        return
    elif isinstance(getattr(value, "__dict__", None), dict) and (of_dataset or is_own(type(value)) or is_dataset(value)):
        yield from ((f"{name}.{k}", v) for k, v in list(vars(value).items())[:MOST_ITEMS])


def subscripts(frame: FrameType) -> list[ast.Subscript]:
    """The subscripts by a name in the innermost loop (or function) that a frame is in."""
    scope = function_of(frame)
    if scope is None:
        return []
    loops = loops_at(scope, frame.f_lineno)
    nodes = ast.walk(loops[-1] if loops else scope)
    return [n for n in nodes if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Name) and rooted(n.value)]


def called(values: np.ndarray, frames: Iterable[FrameType]) -> tuple[str, FrameType] | None:
    """What the person's frames call the array that lies at this memory, and the frame."""
    for frame in frames:
        for scope in (frame.f_locals, frame.f_globals):
            for name, value in list(scope.items()):
                other = values_of(value)
                if other is not None and other.shape == values.shape and other.ctypes.data == values.ctypes.data:
                    return name, frame
    return None


def made_at(array: Held) -> tuple[str, int] | None:
    """The line that made an array that the person has a name for."""
    if array.frame is None:
        return None
    try:
        steps = made(array.frame, ast.parse(array.name, mode="eval").body, {})
    except SyntaxError:
        return None
    return (steps[0].file, steps[0].line) if steps else None


def anew(array: Held) -> bool:
    """Is an array made anew in each turn of the loop, so that its rows mean nothing to the person?"""
    if array.frame is None or not array.name.isidentifier():
        return True
    return any(m.each_turn for m in made(array.frame, ast.Name(array.name, ast.Load()), {}))


def is_dataset(value: Any) -> bool:
    return isinstance(value, torch.utils.data.Dataset)


def is_own(kind: type) -> bool:
    """Is a class the person's own text?"""
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None)
    return kind.__module__ == "__main__" or (file is not None and is_users(file))


def base(dataset: Any, indices: list[int]) -> tuple[Any, list[int]]:
    """A dataset and indices with every Subset and ConcatDataset round it taken off."""
    for _ in range(8):
        inner = getattr(dataset, "dataset", None)
        if isinstance(dataset, torch.utils.data.Subset):
            indices = [int(dataset.indices[i]) for i in indices]
            dataset = inner
        elif isinstance(dataset, torch.utils.data.ConcatDataset) and indices:
            ends = dataset.cumulative_sizes
            part = int(np.searchsorted(ends, indices[0], side="right"))
            start = ends[part - 1] if part else 0
            if not all(start <= i < ends[part] for i in indices):
                return dataset, indices
            dataset, indices = dataset.datasets[part], [i - start for i in indices]
        else:
            break
    return dataset, indices


class Rows:
    """Finds rows; one a watch."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder

    def locate(self, tensors: dict[str, Any], positions: list[int], frames: list[FrameType]) -> Spot | None:
        """The rows, as read, at some positions of the batch that these tensors (name -> tensor, first axis the batch) belong to."""
        sizes = {int(t.shape[0]) for t in tensors.values() if t.dim()}
        if not positions or not sizes:
            return None
        loader = self.watch.parts.get("loader")
        batch = loader.of(list(tensors.values()), max(sizes)) if loader is not None else None
        if batch is not None and isinstance(batch.indices, list) and len(batch.indices) > max(positions) and batch.dataset is not None:
            return self.by_index(batch.dataset, [batch.indices[p] for p in positions], frames)
        others = [("dataset", batch.dataset), ("source", batch.source)] if batch is not None else []
        return self.by_content(tensors, positions, frames, others)

    def by_index(self, dataset: Any, indices: list[Any], frames: list[FrameType]) -> Spot | None:
        """Rows by the loader's indices, taken back to the arrays of the innermost dataset and, where they are known, to the table read."""
        if not all(isinstance(i, (int, np.integer)) for i in indices):
            return None
        dataset, rows = base(dataset, [int(i) for i in indices])
        try:
            size = len(dataset)
        except TypeError:  # keras gives its datasets a length that raises
            size = None
        arrays = [h for h in held((), [("self", dataset)]) if len(h.values) == size or (size is None and len(h.values) > max(rows))]
        name = type(dataset).__name__
        if arrays:
            name = arrays[0].name.removeprefix("self.").partition("[")[0]
            known = called(arrays[0].values, frames)
            if known is not None:
                name, arrays[0].frame = known
                arrays[0].name = name
        spot = Spot(rows[:FIRST], name, how="index", count=len(rows), index=rows[0], held=arrays[0] if arrays else None)
        return self.as_read(spot, arrays, frames)

    def by_content(self, tensors: dict[str, Any], positions: list[int], frames: list[FrameType], others: Sequence[tuple[str, Any]] = ()) -> Spot | None:
        """Rows whose values equal the batch's, in the largest array that holds them all."""
        best: Spot | None = None
        wide = sorted(((n, v) for n, t in tensors.items() if (v := values_of(t)) is not None and v.ndim), key=lambda p: -p[1][0].size)
        for _, batch in wide[:2]:
            for array in held(frames, others):
                if array.values.shape[1:] != batch.shape[1:] or len(array.values) <= len(batch) or array.values.dtype != batch.dtype:
                    continue
                rows = [equal(array.values, batch[p]) for p in positions[:FIRST]]
                if all(len(r) for r in rows) and (batch[0].size > 1 or all(len(r) == 1 for r in rows)):
                    if best is None or len(array.values) > len(best.held.values):  # type: ignore[union-attr]
                        flat = list(dict.fromkeys(int(k) for r in rows for k in r[:4]))
                        best = Spot(flat[:FIRST], array.name, column=array.column, count=len(flat), held=array)
            if best is not None:
                return self.as_read(best, [best.held], frames)  # type: ignore[list-item]
        return None

    def by_subscript(self, size: int, positions: list[int], frames: list[FrameType]) -> Spot | None:
        """Rows by the numbers with which the step sliced an array, as in `ids[rows]`; of measurements rather than of labels."""
        for frame in frames[:3]:
            for node in sorted(subscripts(frame), key=lambda n: getattr(values_of(value_of(frame, n.value)), "dtype", np.dtype(int)).kind != "f"):
                picked, whole = value_of(frame, node.slice), value_of(frame, node.value)
                numbers = picked if isinstance(picked, list) else values_of(picked)
                if whole is MISSING or numbers is None or len(numbers) != size or not hasattr(whole, "__len__") or len(whole) <= size:
                    continue
                rows = np.asarray(numbers)
                values = values_of(whole)
                if rows.ndim == 1 and rows.dtype.kind in "iu" and values is not None and len(values) > max(rows.max(), 1):
                    found = [int(rows[p]) for p in positions if p < size]
                    name = ast.unparse(node.value)
                    spot = Spot(found[:FIRST], name, how="subscript", count=len(found), held=Held(name, values, None, frame, whole))
                    return self.as_read(spot, [spot.held], frames)  # type: ignore[list-item]
        return None

    def by_pick(self, picked: list[tuple[Any, Any]], positions: list[int], frames: list[FrameType]) -> Spot | None:
        """Rows by the numbers with which the step, run again, was seen to choose them of an array that has a name."""
        for source, index in picked:
            values = values_of(source)
            known = called(values, frames) if values is not None else None
            if known is not None and max(positions) < len(index):
                numbers = index.tolist()
                found = [int(numbers[p]) for p in positions]
                spot = Spot(found[:FIRST], known[0], how="subscript", count=len(found), held=Held(known[0], values, None, known[1], source))
                return self.as_read(spot, [spot.held], frames)  # type: ignore[list-item]
        return None

    def as_read(self, spot: Spot, arrays: list[Held], frames: list[FrameType]) -> Spot:
        """The same rows in the table or file that the array was made of, where its lineage is known."""
        registry = lineage.of(self.recorder)
        for array in arrays[:4]:
            try:
                known = registry.known_of(array.owner, create=False)
            except Exception:
                known = None
            if known is None or len(known.ids) != len(array.values):
                continue
            ids = known.ids[np.asarray(spot.rows, dtype=np.int64)]
            found = registry.rows_as_read(ids) if (ids >= 0).all() else {}
            for source, rows in found.items():
                if source.as_read and len(found) == 1:
                    spot.rows, spot.table, spot.how = [int(r) for r in rows], source.name, "lineage"
                    spot.file, spot.line = source.file, source.line
                    return spot
        return spot


def equal(array: np.ndarray, row: np.ndarray) -> np.ndarray:
    """The rows of an array that equal one row, NaN counting as equal to NaN; looked for column by column."""
    flat, want = array.reshape(len(array), -1), row.reshape(-1)
    columns = np.unique(np.linspace(0, flat.shape[1] - 1, min(8, flat.shape[1])).astype(int))
    rows = np.arange(len(flat))
    for j in columns:
        column = flat[rows, j]
        rows = rows[(column == want[j]) | ((column != column) & (want[j] != want[j]))]
        if not len(rows):
            return rows
    part = flat[rows]
    same = (part == want) | ((part != part) & (want != want))
    return rows[same.all(axis=1)]


def install(watch: Watch) -> None:
    """Nothing is put in: rows are looked for on demand."""
    watch.parts[PART] = Rows(watch)
