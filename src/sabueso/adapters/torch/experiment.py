"""Experiment: when a training came to harm, its first steps again on a copy, as they were and with one thing changed.

Kept are a copy of the model and its optimizer from before the first step, and the batches of the first sampled steps, within a limit of
bytes. At the end of the program, and only if the loss did not fall, some steps are run on copies of the copy: as they were (which must
give the losses that the program had), and with each intervention of `trials`. Nothing of the program takes part: it is over.
"""

from __future__ import annotations

import contextlib
import copy
import io
import math
import time
from typing import Any

import torch

from ...capture.randomness import Streams
from ...interventions import INTERVENTIONS
from .trace import Keyed, is_plain, tensors_in
from .trials import TRIALS, Kept, Steps
from .watch import Watch

PART = "experiment"
MOST_BYTES = 24_000_000  # of a model, and of the kept batches
FIRST = 5  # losses that the beginning is told by
BATCHES = 4
STEPS, LEAST = 20, 4
LONG, LOST = 200, 0.5  # steps where half precision swallows that share of what the weights are to move
MASTERS = "master weights"
SECONDS, SHARE = 2.0, 0.05  # at most the larger of the two: seconds, share of the run; of this thread, so that a busy machine decides nothing
FAITHFUL = 0.1  # how far the second loss of the replay may lie from the program's own (a device draws anew)
FELL = 0.7  # a loss that ended below this share of where it began needs no experiment
GAIN = 0.9  # with the change the loss ends below that part of what it ends at without, if both fall
FALLS = 0.99  # of where it began


class Experiment:
    """Keeps the beginning of the first optimizer's training."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.began = time.thread_time()
        self.copy: tuple[Any, Any] | None = None
        self.over = False  # no more is kept
        self.kept: list[Kept] = []
        self.root: Any = None
        self.state: Any = None  # of torch's stream as the model was called
        self.given: tuple[Any, Any] | None = None  # arguments and output of the model in this step
        self.calls: list[Any] = []
        self.bytes = 0
        self.clears = True  # gradients were cleared between the first two steps
        self.first: list[float] = []
        self.settings: dict[str, Any] = {}

    # ---- kept

    def begins(self, root: Any, args: Any) -> None:
        """A model is called: what it will drop out follows from the state of the stream."""
        if not self.over and self.watch.armed and self.given is None:
            self.state = torch.get_rng_state()

    def forward(self, root: Any, inputs: Any, outputs: Any) -> None:
        """A model was called in a sampled step; a second call in one step, or a second model, is too much for this."""
        if self.over or not self.watch.armed:
            return
        out = next(iter(tensors_in(outputs)), None)
        if out is None or not sum(1 for _ in root.parameters()):
            return
        if self.given is not None or self.root is not None and self.root is not root or isinstance(inputs, Keyed):
            self.over = True
            return
        self.root, self.given = root, (inputs, out)

    def loss_call(self, call: Any) -> None:
        if not self.over and not self.watch.evaluating:
            self.calls.append(call)

    def backward(self, tensors: tuple[Any, ...], _: Any) -> None:
        """Keep the batch where loss, prediction and target belong together."""
        value = self.watch.loss
        if value is not None and not self.over:
            if len(tensors) == 1:
                self.keep(value)
            self.given, self.calls = None, []

    def begin(self, *_: Any) -> None:
        """The losses of the first backward passes."""
        if self.watch.loss is not None:
            self.first.append(self.watch.loss)
        if len(self.first) < FIRST:
            self.watch.at_next("on_backward", PART, self.begin)

    def keep(self, value: float) -> None:
        if self.given is None or len(self.calls) != 1 or len(self.kept) >= BATCHES or self.watch.step != len(self.kept):
            self.over = True
            return
        if self.watch.step == 1:
            self.clears = not any(p.grad is not None and bool(p.grad.any()) for p in self.root.parameters())
        call, (inputs, output) = self.calls[0], self.given
        made, prediction, target = call.made.ref(), call.prediction, call.target
        widened = output.element_size() == 2 and prediction.element_size() > 2  # half precision, made into more before the loss
        same = prediction.numel() == output.numel() and prediction.is_contiguous() and output.is_contiguous()
        same = same and (bool((prediction.view(-1) == output.view(-1)).all()) if widened else prediction.data_ptr() == output.data_ptr())
        fits = made is not None and made.numel() == 1 and float(made.detach()) == value and not call.value["weights"] and call.value["reduction"] == "mean"
        given = tensors_in(inputs)
        if not (same and fits and is_plain(target) and all(is_plain(t) for t in given)):
            self.over = True
            return
        self.bytes += sum(t.numel() * t.element_size() for t in (*given, target))
        if self.bytes > MOST_BYTES:
            self.over = True
            return
        settings = {k: v for k in ("label_smoothing", "ignore_index", "beta", "delta") if (v := call.value.get(k)) is not None}
        args = copied(inputs)
        self.kept.append(Kept(args, self.state, call.function, tuple(prediction.shape), target.detach().clone(), settings, value,
                              prediction.dtype if widened else None))  # fmt: skip

    def before_step(self, optimizer: Any) -> None:
        """Before the very first step: copy model and optimizer together."""
        if self.over or self.copy is not None or self.root is None:
            return
        held = self.watch.optimizers[id(optimizer)]
        own = {id(p) for p in self.root.parameters()}
        size = sum(p.numel() * p.element_size() for p in self.root.parameters())
        if held.number or held.steps or not self.kept or size > MOST_BYTES or not {id(p) for p in held.parameters} <= own or self.watch.closure:
            self.over = True
            return
        self.settings = {k: v for k, v in optimizer.param_groups[0].items() if k != "params"}
        self.copy = copy.deepcopy((self.root, optimizer))

    def after_step(self, optimizer: Any) -> None:
        if len(self.kept) >= BATCHES:
            self.over, self.root = True, None

    # ---- tried

    def last_words(self) -> None:
        """Was it in vain? Then try."""
        self.root = None
        if self.copy is None or len(self.kept) < 2 or len(self.first) < 3 or not self.recorder.wants("experiment"):
            return
        last = self.watch.parts["steps"].recent
        end, begin = sum(last) / len(last), self.first[0]
        fell, rounding = math.isfinite(end) and end < FELL * begin, self.watch.parts.get("rounding")
        rounded = rounding is not None and rounding.most_lost() >= LOST
        if fell and not rounded:
            return
        streams = Streams()
        state = streams.snapshot()
        try:
            with torch.enable_grad(), contextlib.redirect_stdout(io.StringIO()):  # what the model prints was printed when it was the program's
                if rounded:
                    self.compare({MASTERS: TRIALS[MASTERS]}, LONG)
                if not fell:
                    self.compare({k: v for k, v in TRIALS.items() if k != MASTERS}, STEPS)
        finally:
            streams.restore(state)

    def compare(self, trials: dict[str, Any], most: int) -> None:
        """As it was, then with each change; told only where the first repeats what the program did."""
        began = time.thread_time()
        until = began + max(SECONDS, SHARE * (began - self.began))
        was = Steps(self.copy, self.kept, self.clears).taken(most, lambda step: late(step, until if most == STEPS else (began + until) / 2))  # type: ignore[arg-type]
        if not close(was["second"], self.kept[1].loss):
            return
        rate = self.settings.get("lr")
        for change, apply in trials.items():
            steps = Steps(self.copy, self.kept, self.clears) if time.thread_time() < until else None  # type: ignore[arg-type]
            if steps is None or change.startswith("learning rate") and not isinstance(rate, (int, float)) or not apply(steps):
                continue
            now = steps.taken(was["steps"], lambda step: late(step, until))
            if now["steps"] < was["steps"]:
                continue
            how = f"the first {was['steps']} steps again on a copy, {len(self.kept)} batches: {change}"
            value = {"change": change, "steps": was["steps"], "before": was["loss"], "after": now["loss"], "began": was["first"],
                     "helps": helps(was, now, INTERVENTIONS[change].rescales), "how": how,
                     "rate": float(rate) if isinstance(rate, (int, float)) else None}  # fmt: skip
            self.recorder.fact("experiment", value, stage="train", file="", line=None)


def late(step: int, until: float) -> bool:
    """Is the time over, with enough steps to tell anything?"""
    return time.thread_time() > until and step >= LEAST


def helps(was: dict[str, Any], now: dict[str, Any], rescales: bool) -> bool:
    """Does the loss fall with the change, and did it not without, or not as far? Measured by where it began if the change gives it another scale."""
    began = now["first"] if rescales else was["first"]
    if not math.isfinite(now["loss"]) or not now["loss"] < FALLS * began:
        return False
    mine, theirs = (now["loss"] / now["first"], was["loss"] / was["first"]) if rescales else (now["loss"], was["loss"])
    return not was["loss"] < was["first"] or mine < GAIN * theirs


def copied(inputs: Any) -> Any:
    """Arguments of a call with every tensor cloned."""
    if torch.is_tensor(inputs):
        return inputs.detach().clone()
    if isinstance(inputs, dict):
        return {k: copied(v) for k, v in inputs.items()}
    return type(inputs)(copied(v) for v in inputs) if type(inputs) in (list, tuple) else inputs


def close(a: float, b: float) -> bool:
    """Did the replay do what the program did?"""
    return not math.isfinite(b) and not math.isfinite(a) or abs(a - b) <= FAITHFUL * max(abs(b), 1e-12)


def install(watch: Watch) -> None:
    """Keep the beginning; try at the end."""
    if not watch.recorder.wants("experiment"):
        return
    experiment = Experiment(watch)
    watch.parts[PART] = experiment
    moments = {"on_root": experiment.begins, "on_forward": experiment.forward, "on_loss_call": experiment.loss_call, "on_backward": experiment.backward,
               "before_step": experiment.before_step, "after_step": experiment.after_step}  # fmt: skip
    for moment, call in moments.items():
        watch.hang(moment, PART, call, sampled=True)
    watch.at_next("on_backward", PART, experiment.begin)
    watch.recorder.at_exit(watch.guard(PART)(experiment.last_words))
