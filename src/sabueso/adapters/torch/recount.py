"""Recount: our own figures of training and evaluation, from predictions and targets as the loss saw them.

Targets of sampled steps give the loss of the best constant prediction, which whoever learns anything beats. Evaluation passes are scored by
the loss that the program trains with (and by accuracy), whatever it prints itself: the target is what the prediction is compared with, or
the one array at hand that fits it.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch

from ...capture.origin import is_users
from ...places import Place
from .lines import Line, here
from .targets import Targets
from .trace import is_plain, tensors_in
from .watch import Watch

PART = "recount"
MOST_TERMS = 1_000_000  # of a loss by row that are averaged
COMPARE = frozenset({"eq", "ne", "sub", "rsub", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "cross_entropy", "nll_loss",
                     "binary_cross_entropy", "binary_cross_entropy_with_logits"})  # fmt: skip
AWAY = frozenset({"numpy", "tolist", "item", "cpu"})
NEAR = 12  # operations between a prediction and its comparison
MOST_VALUES = 400_000  # of one evaluated batch
MOST_SITES = 40  # lines of evaluation that are followed
ROWS = 64  # of a batch whose content is remembered, to know held-out rows from trained ones


class Call:
    """One evaluated batch that waits for its target."""

    def __init__(self, site: Site, made: Any, output: Any, inputs: Any) -> None:
        self.site, self.made, self.output, self.inputs = site, made, output, inputs


class Site:
    """One place of the program that evaluates: sums of the pass in progress, and its series."""

    def __init__(self, number: int, model: str | None, line: Line | None) -> None:
        self.number, self.model, self.line = number, model, line
        self.rows = self.calls = 0
        self.loss = self.right = 0.0
        self.hashed = self.seen = 0
        self.counts = False  # is there an accuracy?
        self.function = ""
        self.numbers: dict[str, int | None] = {}


class Recount:
    """Gathers targets in training and scores evaluation passes."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.targets: dict[Any, Targets] = {}
        self.calls: list[tuple[Targets, Any, float]] = []  # loss calls of this step: targets, record, value
        self.sites: dict[Any, Site] = {}
        self.waiting: Call | None = None
        self.dirty = False  # a pass of evaluation is under way
        self.trained: set[int] = set()  # hashes of rows that were trained on

    # ---- training

    def loss_call(self, call: Any) -> None:
        """A loss function was called in a sampled step: gather its targets."""
        if not is_plain(call.target) or not is_plain(call.prediction):
            return
        if self.watch.evaluating:
            self.evaluated_loss(call)
        if self.watch.evaluating or not call.value["grad"]:
            return
        key = call.function, call.made.line, tuple(call.prediction.shape[1:])
        targets = self.targets.setdefault(key, Targets(call.function, call.value, call.made.line))
        targets.add(call.prediction.detach(), call.target.detach())
        targets.built = self.watch.parts["modules"].line_of(call.made.module) or targets.built
        loss = call.made.ref()
        if loss is not None and (loss.numel() == 1 or targets.by_row and 0 < loss.numel() <= MOST_TERMS):
            value = float(loss.detach().double().mean()) if call.mean is None else call.mean
            self.calls.append((targets, call.made, value / max(1, targets.terms) if targets.summed else value))

    def backward(self, tensors: tuple[Any, ...], _: Any) -> None:
        """Which of the calls make up this loss, and how large a part of it they are."""
        if not self.watch.armed:
            return
        trace, line = self.watch.parts["trace"], here()
        for tensor in tensors:
            loss = trace.of(tensor) if torch.is_tensor(tensor) else None
            if loss is None or not is_plain(tensor) or tensor.numel() != 1:
                continue
            near = {id(m) for m in loss.ancestors(2000)}
            parts = [(t, v) for t, made, v in self.calls if id(made) in near]
            for targets, value in parts:
                targets.part(float(tensor.detach()), value, line, len(parts))
                targets.made_line = loss.line
        for targets, _, _ in self.calls:
            if targets.batches & (targets.batches - 1) == 0:
                self.tell(targets)
        self.calls = []

    def forward(self, root: Any, inputs: Any, outputs: Any) -> None:
        """Remember rows that are trained on."""
        for tensor in tensors_in(inputs)[:1]:
            if len(self.trained) < 20_000:
                self.trained.update(hashes(tensor))

    def tell(self, targets: Targets) -> None:
        place = targets.line.place if targets.line else {}
        self.recorder.fact("targets", targets.as_dict(), step=self.watch.step, stage="train", **place)

    # ---- evaluation

    def evaluated(self, root: Any, inputs: Any, outputs: Any) -> None:
        """A model was called for evaluation."""
        if self.watch.armed and torch.is_grad_enabled() and root.training:
            return
        out = next((t for t in tensors_in(outputs) if t.is_floating_point()), None)
        given = next(iter(tensors_in(inputs)), None)
        if out is None or not is_plain(out) or not out.dim() or not 0 < out.numel() <= MOST_VALUES or not self.targets:
            return
        key, line = called_at()
        site = self.sites.get(key)
        if site is None:
            if len(self.sites) >= MOST_SITES:
                return
            site = self.sites[key] = Site(len(self.sites), self.watch.parts["modules"].label(root), line)
        self.dirty = True
        self.watch.at_next("before_step", PART, self.flush)
        self.waiting = Call(site, self.watch.parts["trace"].of(out), out.detach(), given)

    def evaluated_loss(self, call: Any) -> None:
        """A loss of an evaluation tells the target that goes with the prediction; where no module made that, it is all that tells of the pass."""
        made, waiting = call.source or self.watch.parts["trace"].of(call.prediction), self.waiting
        if waiting is not None:
            if made is not None and any(m is waiting.made for m in made.ancestors(NEAR)):
                self.score(waiting, call.target)
            return
        if made is None or not (made.lost or made.grad) or any(m.module is not None for m in made.ancestors(300)) or not self.targets:
            return
        key, line = called_at()
        if key in self.sites or len(self.sites) < MOST_SITES:
            site = self.sites.setdefault(key, Site(len(self.sites), None, line))
            self.dirty = True
            self.watch.at_next("before_step", PART, self.flush)
            self.score(Call(site, made, call.prediction.detach(), None), call.target)

    def operation(self, name: str, func: Any, args: Any, kwargs: Any, result: Any, outputs: list[Any]) -> None:
        """Is the waiting prediction compared with something, or does it leave torch?"""
        call = self.waiting
        if call is None or not self.watch.evaluating or name not in COMPARE and name not in AWAY:
            return
        given = tensors_in(args)[:2]
        trace = self.watch.parts["trace"]
        own = [made is not None and any(m is call.made for m in made.ancestors(NEAR)) for made in map(trace.of, given)]
        if name in AWAY:
            if own[:1] == [True]:
                self.score(call, at_hand(call, [t for t in self.targets.values()]))
        elif len(given) == 2 and own[0] != own[1]:
            self.score(call, given[1] if own[0] else given[0])

    def score(self, call: Call, target: Any) -> None:
        """Add a batch to its pass."""
        self.waiting = None
        if target is None:
            return
        truth = target if torch.is_tensor(target) else torch.as_tensor(np.ascontiguousarray(target))
        for targets in self.targets.values():
            scored = targets.score(call.output, truth.detach()) if is_plain(truth) else None
            if scored is None:
                continue
            loss, right, rows = scored
            site = call.site
            site.function, site.counts = targets.function, right is not None
            site.rows, site.loss, site.right, site.calls = site.rows + rows, site.loss + loss * rows, site.right + (right or 0.0), site.calls + 1
            self.watch.tell("on_scored", call.output, truth)
            found = hashes(call.inputs) if torch.is_tensor(call.inputs) else set()
            site.hashed, site.seen = site.hashed + len(found), site.seen + len(found & self.trained)
            return

    def flush(self, *_: Any) -> None:
        """Training goes on: the passes are over."""
        if not self.dirty:
            return
        self.waiting, self.dirty = None, False
        for site in self.sites.values():
            if site.rows:
                self.end(site)

    def end(self, site: Site) -> None:
        """Write a pass."""
        known = site.seen / site.hashed if site.hashed else 0.0
        place = Place(stage="evaluate", module=site.model, estimator=f"evaluation {site.number}", **(site.line.place if site.line else {}))
        values = {"loss": site.loss / site.rows, "rows": float(site.rows), "trained": known}
        if site.counts:
            values["accuracy"] = site.right / site.rows
        for name in values:
            if name not in site.numbers:
                site.numbers[name] = self.recorder.series("evaluation_error", place.but(tensor=name))
        self.recorder.points(self.watch.step, [(n, v) for k, v in values.items() if (n := site.numbers[k]) is not None])
        site.rows = site.calls = site.hashed = site.seen = 0
        site.loss = site.right = 0.0

    def last_words(self) -> None:
        self.flush()
        for targets in self.targets.values():
            self.tell(targets)


def hashes(tensor: Any) -> set[int]:
    """Hashes of up to 64 rows of a batch."""
    if not is_plain(tensor) or tensor.dim() < 2 or not tensor.numel() or str(tensor.dtype) == "torch.bfloat16":
        return set()
    rows = tensor.detach()[:: max(1, tensor.shape[0] // ROWS)].reshape(-1, tensor.numel() // tensor.shape[0])[:ROWS, :512]
    return {hash(r.tobytes()) for r in rows.numpy()}


def called_at() -> tuple[Any, Line | None]:
    """The place of a call, down to the instruction, in up to three of the person's frames; and the line of the innermost one."""
    frame, key, line = sys._getframe(1), [], None
    while frame is not None and len(key) < 6:
        if is_users(frame.f_code.co_filename):
            key += [frame.f_code, frame.f_lasti]
            line = line or Line(frame.f_code, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    return tuple(key), line


def at_hand(call: Call, known: list[Targets]) -> Any:
    """The one array in the person's frames that can be the target of a prediction, else None."""
    frame, depth = sys._getframe(1), 0
    while frame is not None and depth < 2:
        if is_users(frame.f_code.co_filename):
            depth += 1
            found: dict[int, Any] = {}
            for value in list(frame.f_locals.values()):
                array = getattr(value, "to_numpy", lambda v=value: v)() if type(value).__name__ == "Series" else value
                if array is not call.inputs and any(t.fits(call.output, array) for t in known):
                    found[id(array)] = array
            if len(found) == 1:
                return next(iter(found.values()))
        frame = frame.f_back  # type: ignore[assignment]
    return None


def install(watch: Watch) -> None:
    """Hang on loss calls, backwards, evaluations and what is done with their predictions."""
    recount = Recount(watch)
    watch.parts[PART] = recount
    watch.hang("on_loss_call", PART, recount.loss_call)
    watch.hang("on_backward", PART, recount.backward, sampled=True)
    watch.hang("on_forward", PART, recount.forward)
    watch.hang("on_evaluation", PART, recount.evaluated)
    watch.hang("on_operation", PART, recount.operation)
    watch.recorder.at_exit(recount.last_words)
