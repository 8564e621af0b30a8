"""Augmentation: are the random numbers that samples are made with the same again and again? Looked at where a dataset is asked for samples."""

from __future__ import annotations

import hashlib
import linecache
import random
import re
import sys
from typing import Any

import numpy as np
import torch
from torch.utils.data import RandomSampler, get_worker_info
from torch.utils.data import dataloader as torch_loader
from torch.utils.data._utils import fetch as torch_fetch

from ...capture.operands import is_array, is_tensor
from ...capture.origin import absolute, user_frame
from .lines import here
from .watch import Watch

PART = "augmentation"
MOST_EPOCHS = 8  # of a loader whose workers are looked at
LEAST_SAMPLES = 20  # made with one seed before it is told


class Augmentation:
    """One a watch; a forked worker goes on with its copy."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.loader: dict[str, Any] = {}  # the loader that began an iteration last: number, epoch, shuffled, workers, where
        self.numbers: dict[int, int] = {}
        self.epochs: dict[int, int] = {}
        self.indices: Any = None  # what is being fetched
        self.done = 0  # calls that seed within this fetch
        self.first = True  # no fetch yet in this worker
        self.seeds: dict[tuple[Any, ...], set[int]] = {}
        self.told: set[tuple[Any, ...]] = set()

    # ---- hooks

    def begins(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A loader is iterated: its workers are forked within this call."""
        loader = args[1] if len(args) > 1 else kwargs.get("loader")
        number = self.numbers.setdefault(id(loader), len(self.numbers))
        self.epochs[number] = self.epochs.get(number, -1) + 1
        line, init = here(), loader.worker_init_fn
        code = getattr(init, "__code__", None)
        self.loader = {
            "number": number, "epoch": self.epochs[number], "workers": loader.num_workers, "dataset": type(loader.dataset).__name__,
            "shuffled": isinstance(getattr(loader, "sampler", None), RandomSampler), "line": line.told if line else None,
            "init": [absolute(code), code.co_firstlineno, init.__name__] if code is not None else None,
        }  # fmt: skip
        self.first = True

    def fetching(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A batch's samples are about to be made."""
        self.indices = args[1] if len(args) > 1 else None
        self.done = 0
        look = self.first and get_worker_info() is not None and self.loader.get("epoch", MOST_EPOCHS) < MOST_EPOCHS
        self.first = False
        return digests(getattr(args[0], "dataset", None)) if look else None

    def fetched(self, before: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """They are made: in a worker's first batch, which streams were drawn from, and from where to where."""
        self.indices = None
        if before is None or not self.loader.get("shuffled"):
            return
        dataset = getattr(args[0], "dataset", None)
        drawn = {k: [before[k], after] for k, after in digests(dataset).items() if after != before.get(k, after)}
        if drawn:
            own = {name: set_in(holder, name) for name, (holder, _) in own_generators(dataset).items() if name in drawn}
            value = {**self.loader, "own": own, "worker": get_worker_info().id, "drawn": drawn, "samples": len(args[1]) if isinstance(args[1], list) else 1}
            self.recorder.fact("worker_random", value)

    def seeded(self, name: str) -> Any:
        """A hook for a function that seeds: within a fetch, is it always the same seed?"""

        def before(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if self.indices is None or not self.loader:
                return
            given = args[0] if args else kwargs.get("seed")
            if isinstance(given, (bool, type(None))) or not isinstance(given, (int, np.integer, tuple, list)):
                return
            self.note(name, given if isinstance(given, (int, np.integer)) else tuple(given))

        return before

    def note(self, name: str, seed: Any) -> None:
        frame = user_frame(sys._getframe(1))
        if frame is None:
            return
        key = (name, seed, frame.f_code, frame.f_lineno, self.loader["number"])
        if len(self.seeds) > 200 and key not in self.seeds:
            return
        held = self.seeds.setdefault(key, set())
        self.done += 1
        indices = self.indices if isinstance(self.indices, list) else [self.indices]
        held.add(indices[min(self.done, len(indices)) - 1] if indices else 0)
        if len(held) >= LEAST_SAMPLES and key not in self.told:
            self.told.add(key)
            file, line = absolute(frame.f_code), frame.f_lineno
            names = [n for n, v in frame.f_locals.items() if is_tensor(v) or is_array(v)]
            value = {**self.loader, "call": name, "seed": seed, "samples": len(held), "names": names[:6]}
            self.recorder.fact("sample_seed", value, file=file, line=line)


def own_generators(dataset: Any) -> dict[str, tuple[Any, Any]]:
    """Random generators that a data set, the one that it is a part of, or their transforms keep: name to (holder, generator)."""
    found: dict[str, tuple[Any, Any]] = {}
    holders, depth = [dataset], 0
    while holders and depth < 8:
        holder, depth = holders.pop(0), depth + 1
        for name, value in list(getattr(holder, "__dict__", {}).items()):
            if isinstance(value, (np.random.Generator, np.random.RandomState, random.Random, torch.Generator)):
                found.setdefault(name, (holder, value))
            elif isinstance(value, torch.utils.data.Dataset) or "transform" in name or "augment" in name:
                holders.append(value)
    return found


def set_in(holder: Any, name: str) -> list[Any] | None:
    """[file, line] at which the holder's class sets an attribute in its __init__."""
    code = getattr(getattr(type(holder), "__init__", None), "__code__", None)
    for line in sorted({n for *_, n in code.co_lines() if n}) if code is not None else ():
        if re.search(rf"\.{re.escape(name)}\s*(:[^=]*)?=[^=]", linecache.getline(code.co_filename, line)):
            return [absolute(code), line]
    return None


def state_of(generator: Any) -> bytes:
    """What a generator stands at."""
    if isinstance(generator, torch.Generator):
        return bytes(generator.get_state().numpy().tobytes())
    if isinstance(generator, random.Random):
        return repr(generator.getstate()).encode()
    state = generator.bit_generator.state if isinstance(generator, np.random.Generator) else generator.get_state(legacy=False)
    return repr([v.tobytes() if isinstance(v, np.ndarray) else v for v in (*state["state"].values(), state.get("has_gauss"), state.get("gauss"))]).encode()


def digests(dataset: Any = None) -> dict[str, str]:
    """What the global streams of NumPy and Python stand at, and those that a data set keeps, by their names."""
    found = {name: hashlib.blake2b(state_of(g), digest_size=8).hexdigest() for name, (_, g) in own_generators(dataset).items()}
    state = np.random.get_state(legacy=False)["state"]
    numpy = state["key"].tobytes() + str(state["pos"]).encode() if "key" in state else repr(state).encode()
    streams = (("numpy", numpy), ("python", repr(random.getstate()).encode()))
    return found | {n: hashlib.blake2b(b, digest_size=8).hexdigest() for n, b in streams}


def install(watch: Watch) -> None:
    """Stand where samples are made."""
    if not watch.recorder.wants("worker_random", "sample_seed"):
        return
    augmentation = watch.parts[PART] = Augmentation(watch)
    watch.around(PART, torch_loader._BaseDataLoaderIter, "__init__", augmentation.begins, None)
    watch.around(PART, torch_fetch._MapDatasetFetcher, "fetch", augmentation.fetching, augmentation.fetched)
    for owner, name in ((np.random, "default_rng"), (np.random, "seed"), (random, "seed"), (torch, "manual_seed")):
        watch.around(PART, owner, name, augmentation.seeded(name), None)
