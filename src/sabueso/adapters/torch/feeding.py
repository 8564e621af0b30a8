"""Feeding: which loader the training steps are fed from, how many rows a step, and the threads that torch is told to use."""

from __future__ import annotations

import ast
import os
import sys
import weakref
from typing import Any

import torch

from ...capture.operands import parsed
from .lines import Line, built_at, here, named
from .watch import Watch

PART = "feeding"
MOST_SHAPES = 64  # batches whose shapes are compared


class Feeding:
    """The loader that was iterated last, until a backward shows that it feeds training."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.built: weakref.WeakKeyDictionary[Any, Line | None] = weakref.WeakKeyDictionary()
        self.now: dict[str, Any] | None = None
        self.used: dict[str, Any] | None = None  # the loader that training was fed from first
        self.pending: tuple[int, tuple[Any, ...]] | None = None

    def loader_built(self, _: Any, __: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.built[args[0]] = built_at(args[0])

    def iterated(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        loader, line = args[0], here()
        if self.used is not None:
            return
        try:
            rows = len(loader.dataset)
        except (TypeError, AttributeError):
            rows = None
        self.now = {"loader": named(loader), "rows": rows, "batch_size": loader.batch_size, "workers": loader.num_workers,
                    "line": self.built.get(loader) or line, "target": target_at(line), "shapes": set(), "batches": 0, "fed": 0}  # fmt: skip

    def on_batch(self, held: Any, batch: Any) -> None:
        if self.now is not None and self.now["batches"] < MOST_SHAPES:
            shapes = tuple(tuple(t.shape) for t in (r() for r in held.leaves) if t is not None)
            self.pending = (held.rows, shapes)
            self.watch.at_next("on_backward", PART, self.on_backward)

    def on_backward(self, *_: Any) -> None:
        if self.now is not None and self.pending is not None:
            self.used = self.now
            self.now["batches"] += 1
            self.now["fed"] += self.pending[0]
            self.now["shapes"].add(self.pending[1])
            self.pending = None

    def threads(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """torch.set_num_threads: how many, of how many processors."""
        number = args[0] if args else kwargs.get("nthreads")
        if isinstance(number, int) and self.recorder.once("threads", number):
            self.recorder.fact("threads_set", {"threads": number, "cores": cores(), "function": "torch.set_num_threads"})

    def last_words(self) -> None:
        if self.used is None:
            return
        used, line = self.used, self.used["line"]
        parameters = sum(p.numel() for h in self.watch.optimizers.values() for p in h.parameters)
        value = {k: used[k] for k in ("loader", "rows", "batch_size", "workers", "target")}
        value |= {"shapes": len(used["shapes"]), "rows_a_step": used["fed"] / max(1, used["batches"]), "steps": self.watch.step,
                  "backwards": self.watch.backwards, "parameters": parameters}  # fmt: skip
        self.recorder.fact("loader_use", value, **(line.place if line else {}))


def target_at(line: Line | None) -> str | None:
    """The first name that a loop over batches binds to data: `xb` in `for i, (xb, yb) in enumerate(loader)`."""
    tree = parsed(line.code.co_filename) if line is not None else None
    for node in ast.walk(tree) if tree is not None and line is not None else ():
        if isinstance(node, ast.For) and node.lineno <= line.line <= node.iter.lineno:
            target: ast.expr = node.target
            if isinstance(node.iter, ast.Call) and isinstance(node.iter.func, ast.Name) and node.iter.func.id == "enumerate":
                target = target.elts[-1] if isinstance(target, ast.Tuple) else target
            return next((n.id for n in ast.walk(target) if isinstance(n, ast.Name)), None)
    return None


def cores() -> int:
    """Processors that this process may use."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        with open("/sys/fs/cgroup/cpu.max") as f:
            quota, period = f.read().split()
        return max(1, min(count, round(int(quota) / int(period)))) if quota != "max" else count
    except (OSError, ValueError):
        return count


def install(watch: Watch) -> None:
    feeding = Feeding(watch)
    loader = sys.modules["torch.utils.data"].DataLoader
    if watch.recorder.wants("loader_use"):
        watch.around(PART, loader, "__init__", None, feeding.loader_built)
        watch.around(PART, loader, "__iter__", feeding.iterated, None)
        watch.hang("on_batch", PART, feeding.on_batch)
        watch.recorder.at_exit(feeding.last_words)
    if watch.recorder.wants("threads_set"):
        watch.around(PART, torch, "set_num_threads", feeding.threads, None)
