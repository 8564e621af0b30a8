"""Loader: which rows of a dataset the last few batches hold, and what labels they bring, without keeping a batch alive."""

from __future__ import annotations

import sys
import weakref
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch.utils.data import dataloader as torch_loader

from ...capture import crash
from ...capture.provenance import stops_of
from .rows import values_of
from .watch import Watch

PART = "loader"
RECENT = 6  # batches whose indices are kept
MOST_ROWS = 65_536  # of a batch: a larger one's indices are not kept


class Batch:
    """The indices of one batch and weak references to its tensors."""

    __slots__ = ("iterator", "indices", "leaves", "rows", "number")

    def __init__(self, iterator: Any, indices: Any, leaves: list[Any], number: int) -> None:
        self.iterator, self.indices, self.number = weakref.ref(iterator), indices, number
        self.leaves = [weakref.ref(t) for t in leaves]
        self.rows = int(leaves[0].shape[0]) if leaves and leaves[0].dim() else 0

    @property
    def dataset(self) -> Any:
        iterator = self.iterator()
        return getattr(iterator, "_dataset", None) if iterator is not None else None

    @property
    def source(self) -> Any:
        """What an iterable dataset is being read through (a generator as a rule)."""
        fetcher = getattr(self.iterator(), "_dataset_fetcher", None)
        return getattr(fetcher, "dataset_iter", None)


class Loader:
    """A ring of the last batches of all loaders of the program."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.recent: deque[Batch] = deque(maxlen=RECENT)
        self.batch: Any = None  # the last batch, until the step that it is for is done
        self.queued: weakref.WeakKeyDictionary[Any, deque[Any]] = weakref.WeakKeyDictionary()

    def indexed(self, _: Any, index: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """An iterator took the indices of a batch from its sampler; workers are sent them ahead of time, batches come in that order."""
        kept = index if not isinstance(index, list) or len(index) <= MOST_ROWS else None
        queue = self.queued.get(args[0])
        if queue is None:
            queue = self.queued[args[0]] = deque(maxlen=1024)
        queue.append(kept)

    def given(self, _: Any, batch: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """An iterator hands out a batch."""
        queue = self.queued.get(args[0])
        indices = queue.popleft() if queue else None
        number = getattr(args[0], "_num_yielded", 0)
        if isinstance(indices, list) and indices and indices[0] is None:
            indices = None  # an iterable dataset
        held = Batch(args[0], indices, tensors(batch), number)
        self.batch = batch if self.watch.recorder.wants("nonfinite_step") else None
        self.recent.append(held)
        if self.batch is not None:
            self.watch.at_next("after_step", PART, self.stepped)
        self.watch.tell("on_batch", held, batch)

    def stepped(self, optimizer: Any) -> None:
        """The step is done: its batch is let go."""
        self.batch = None

    def of(self, values: list[Any], rows: int) -> Batch | None:
        """The batch that these values belong to: by identity, else by content (libraries fetch ahead), else the last one with as many rows."""
        known = {id(v) for v in values}
        for batch in reversed(self.recent):
            if any(id(t) in known for t in (r() for r in batch.leaves) if t is not None):
                return batch
        for batch in reversed(self.recent):
            if any(equal(t, v) for t in (r() for r in batch.leaves) if t is not None for v in values):
                return batch
        return next((b for b in reversed(self.recent) if b.rows == rows), None)

    def raised(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A worker caught an exception to send it to the main process: here its frames are still there."""
        info = kwargs.get("exc_info", args[1] if len(args) > 1 else None)
        error = (info or sys.exc_info())[1]
        if error is not None and not isinstance(error, KeyboardInterrupt):
            crash.tell(self.recorder, error, worker=True)

    def witness(self, error: BaseException, told: dict[str, Any]) -> dict[str, Any] | None:
        """Samples of different sizes that could not be put into one batch: their shapes, and which samples are the odd ones."""
        samples, indices = None, None
        for frame in stops_of(error.__traceback__):
            if frame.f_code.co_name in ("fetch", "_next_data"):
                indices = frame.f_locals.get("possibly_batched_index", indices)
            if frame.f_code.co_name.startswith("collate") and "batch" in frame.f_locals:
                samples = frame.f_locals["batch"]
        if not isinstance(samples, (list, tuple)) or not all(hasattr(s, "shape") for s in samples):
            return None
        shapes = [tuple(int(n) for n in s.shape) for s in samples]
        usual = max(set(shapes), key=shapes.count)
        odd = [k for k, s in enumerate(shapes) if s != usual]
        if not odd:
            return None
        listed = isinstance(indices, list) and len(indices) == len(shapes) and indices[0] is not None
        rows = [indices[k] for k in odd] if listed else []
        return {"ragged": {"usual": list(usual), "odd": [list(shapes[k]) for k in odd[:10]], "samples": rows[:50], "positions": odd[:50]}}


def equal(tensor: Any, value: Any) -> bool:
    """Does a plain tensor hold the same numbers, in whatever shape?"""
    kept = values_of(tensor)
    return kept is not None and isinstance(value, np.ndarray) and kept.size == value.size and np.array_equal(kept.reshape(-1), value.reshape(-1))


def tensors(batch: Any, depth: int = 3) -> list[Any]:
    """The tensors of a batch, through lists, tuples and dictionaries."""
    if torch.is_tensor(batch):
        return [batch]
    if depth and isinstance(batch, (list, tuple)):
        return [t for part in batch[:16] for t in tensors(part, depth - 1)]
    if depth and isinstance(batch, Mapping):  # a dictionary, or what a tokenizer makes
        return [t for part in list(batch.values())[:16] for t in tensors(part, depth - 1)]
    return []


def install(watch: Watch) -> None:
    """Watch what loaders hand out."""
    loader = Loader(watch)
    watch.parts[PART] = loader
    watch.recorder.at_crash.append(loader.witness)
    watch.around(PART, torch_loader._BaseDataLoaderIter, "_next_index", None, loader.indexed)
    watch.around(PART, torch_loader._BaseDataLoaderIter, "__next__", None, loader.given)
    watch.around(PART, torch._utils.ExceptionWrapper, "__init__", loader.raised, None)
