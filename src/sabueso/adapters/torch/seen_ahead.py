"""Seen ahead: does a network that learns to tell the next of a sequence see that next one among its inputs?

Tried at the end of the program, on the copy of the model that `experiment` keeps: where the targets are the inputs one place later, the input at
one place is exchanged, and the answer at the place before must stay. What has no axis of places (a code of the whole sequence, as an
autoencoder has) is kept as it was, so that only a path from place to place counts.
"""

from __future__ import annotations

import contextlib
import copy
import io
import warnings
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ...capture.randomness import Streams
from .experiment import copied
from .lines import Line, here
from .trace import tensors_in
from .trials import Kept
from .watch import Watch

PART = "seen_ahead"
ROWS, PLACES = 4, (4, 2048)  # rows that are tried, places of a sequence
MOST_ROWS = 8192  # of the batch that is looked at
FEWEST, EQUAL, LEVELS = 16, 0.99, 3  # targets compared, share of them that the next input is, distinct values
MOVED = 1e-4  # of the spread of the answers


class Pass(TorchFunctionMode):
    """One pass of the copy: keeps what has no axis of places, or puts it back and looks for the first result that moved."""

    def __init__(self, rows: int, places: int, at: int, before: Pass | None = None) -> None:
        super().__init__()
        self.rows, self.places, self.at, self.before = rows, places, at, before
        self.seen: list[tuple[str, Any, Any]] = []  # operation, what it gave without places, or what it gave at one of them
        self.stack: list[str] = []
        self.first: tuple[str | None, Line | None] | None = None  # module and line at which it began to move

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        if not torch.is_tensor(result) and not (isinstance(result, tuple) and result and torch.is_tensor(result[0])):
            return result
        many = isinstance(result, tuple)
        parts = [self.look(name, r) if torch.is_tensor(r) else r for r in (result if many else (result,))]
        return result if all(a is b for a, b in zip(parts, result if many else (result,))) else tuple(parts) if many else parts[0]

    def look(self, name: str, value: Any) -> Any:
        """One result: the same, or what it was in the pass before."""
        number, timeless = len(self.seen), not self.by_place(tuple(value.shape))
        kept = value.detach().clone() if timeless else self.here(value)
        self.seen.append((name, timeless, kept))
        was = self.before.seen[number] if self.before is not None and number < len(self.before.seen) else None
        if was is None or was[:2] != (name, timeless):
            return value
        if timeless:
            return was[2] if was[2].shape == value.shape and value.is_floating_point() else value
        if self.first is None and kept is not None and was[2] is not None and moved(was[2], kept):
            self.first = (self.stack[-1] or None) if self.stack else None, here(2)
        return value

    def by_place(self, shape: tuple[int, ...]) -> bool:
        """Has it an axis of places: as many, or as many as with padding, or one of rows and places together?"""
        padded = max(4, self.places // 4)
        near = len(shape) > 2 and shape[0] == self.rows and any(abs(n - self.places) <= padded for n in shape[1:])
        return near or any(n == self.places or n % (self.rows * self.places) == 0 for n in shape)

    def left(self) -> None:
        """A module returned."""
        if self.stack:
            self.stack.pop()

    def here(self, value: Any) -> Any:
        """What it holds at the place that is asked about."""
        if value.dim() < 3 or not value.is_floating_point():
            return None
        if value.shape[:2] == (self.rows, self.places):
            return value[:, self.at].detach().clone()
        return value[self.at].detach().clone() if value.shape[:2] == (self.places, self.rows) else None


def moved(was: Any, now: Any) -> bool:
    """Is it another by more than rounding?"""
    return was.shape == now.shape and bool(torch.isfinite(now).all()) and float((now - was).abs().max()) > MOVED * float(was.std() + 1e-12)


class SeenAhead:
    """Tries it, once a program."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder

    def last_words(self) -> None:
        """Is there a model whose targets are its inputs, one place on?"""
        experiment = self.watch.parts.get("experiment")
        if experiment is None or experiment.copy is None or not experiment.kept:
            return
        kept = experiment.kept[-1]
        number, axis, asked = shifted(kept)
        if number is None:
            return
        streams = Streams()
        state = streams.snapshot()
        try:
            with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.tried(copy.deepcopy(experiment.copy[0]).eval(), kept, number, axis, asked)
        finally:
            streams.restore(state)

    def tried(self, model: Any, kept: Kept, number: int, axis: int, asked: Any) -> None:
        """Exchange one input in some rows, and see whether the answers before it stay."""
        args = shortened(kept.args, tensors_in(kept.args)[number], axis)
        given, asked = tensors_in(args)[number], asked.transpose(0, 1) if axis == 0 else asked
        rows, places = given.shape[1 - axis], given.shape[axis]
        asked = asked[:rows]
        by_row = given if axis == 1 else given.transpose(0, 1)
        for at in (places // 2, places // 4, places * 3 // 4):
            others = by_row.roll(1, 0)[:, at]
            differs = (others != by_row[:, at]).reshape(rows, -1).any(1) & asked[:, at - 1] & asked.roll(1, 0)[:, at - 1]
            if at < 1 or int(differs.sum()) < 2:
                continue
            before = self.passed(model, args, kept, Pass(rows, places, at - 1))
            again = self.passed(model, args, kept, Pass(rows, places, at - 1))
            by_row[differs, at] = others[differs]
            look = Pass(rows, places, at - 1, before[1])
            after = self.passed(model, args, kept, look)
            was, same, now = (answers(out, rows, places, axis) for out in (before[0], again[0], after[0]))
            if was is None or same is None or now is None or not torch.equal(was, same):
                return
            change = (now - was)[differs, at - 1].flatten(1).abs().amax(1) > MOVED * float(was.std())
            if bool(torch.isfinite(now).all()) and float(change.double().mean()) >= 0.5:  # where nothing is seen ahead none moves
                self.tell(look, number, at, int(change.sum()), int(differs.sum()), kept)
            return

    def passed(self, model: Any, args: Any, kept: Kept, look: Pass) -> tuple[Any, Pass]:
        """One pass under a watcher, with the same random numbers."""
        if kept.state is not None:
            torch.set_rng_state(kept.state)
        handles = []
        for path, module in model.named_modules():
            module._forward_hooks.clear()
            module._forward_pre_hooks.clear()
            handles.append(module.register_forward_pre_hook(lambda m, a, path=path: look.stack.append(path)))
            handles.append(module.register_forward_hook(lambda m, a, r: look.left()))
        with look:
            out = next(iter(tensors_in(model(*args))), None)
        for handle in handles:
            handle.remove()
        return out, look

    def tell(self, look: Pass, number: int, at: int, rows: int, exchanged: int, kept: Kept) -> None:
        """Fact future_seen."""
        module, line = look.first or (None, None)
        value = {"argument": number, "at": at, "rows": rows, "exchanged": exchanged, "function": kept.function, "places": look.places, "module": module}
        self.recorder.fact("future_seen", value, step=0, stage="train", module=module, **(line.place if line else {}))


def shifted(kept: Kept) -> tuple[int | None, int, Any]:
    """Which tensor given is the target one place earlier, along which axis, and at which places a target is asked for."""
    for number, given in enumerate(tensors_in(kept.args)):
        if given.dim() < 2 or given.numel() != kept.target.numel() or given.shape[0] * given.shape[1] > MOST_ROWS * 8:
            continue
        target = kept.target.reshape(given.shape)
        for axis in (1, 0):
            places = given.shape[axis]
            if not PLACES[0] <= places <= PLACES[1] or given.shape[1 - axis] < 2:
                continue
            asked = target != kept.settings.get("ignore_index", -100)
            following, now, counts = (t.narrow(axis, i, places - 1) for t, i in ((given, 1), (target, 0), (asked, 0)))
            values = now[counts]
            if len(values) >= FEWEST and float((following[counts] == values).double().mean()) >= EQUAL and len(values[:4096].unique()) >= LEVELS:
                return number, axis, asked.reshape(*given.shape[:2], -1).all(-1)
    return None, 1, None


def shortened(args: Any, given: Any, axis: int) -> Any:
    """The arguments with a few of their rows, cloned."""
    rows, places = given.shape[1 - axis], given.shape[axis]

    def cut(value: Any) -> Any:
        if torch.is_tensor(value):
            along = 1 - axis if value.dim() > 1 and value.shape[1 - axis] == rows else 0 if value.dim() and value.shape[0] == rows else None
            return (value.narrow(along, 0, ROWS) if along is not None and rows > ROWS and rows != places else value).clone()
        return type(value)(cut(v) for v in value) if type(value) in (list, tuple) else copied(value)

    return cut(args)


def answers(out: Any, rows: int, places: int, axis: int) -> Any:
    """Answers by row and place; None where there is not one for each."""
    if out is None or out.numel() % (rows * places) or not out.is_floating_point():
        return None
    return out.reshape(rows, places, -1) if axis == 1 else out.reshape(places, rows, -1).transpose(0, 1)


def install(watch: Watch) -> None:
    """Try at the end."""
    if watch.recorder.wants("future_seen"):
        watch.recorder.at_exit(watch.guard(PART)(SeenAhead(watch).last_words))
