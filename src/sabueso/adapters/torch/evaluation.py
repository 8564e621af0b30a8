"""Evaluation: the first model calls of each place that evaluates, and how the model is switched in training and in evaluation.

A window opens where gradients are turned off, a model is put into eval mode, or a loader other than the one trained from is begun; it
closes after a few calls. Within a window the module hooks and the function mode are in, as in a sampled step.
"""

from __future__ import annotations

import math
import sys
import time
import weakref
from typing import Any

import torch

from ...capture.around import Patches
from ...capture.budget import Budget
from ...capture.origin import is_users
from .identity import ByIdentity
from .lines import Line, here
from .modules import Modules, sample
from .trace import SINGLE, Made, Trace, is_plain, tensors_in
from .watch import Watch

PART = "evaluation"
WINDOWS = 6  # windows of one line that are opened; then every power of two, and those that the budget pays for
WINDOW_COST, OPERATION_COST = 2e-4, 2e-5  # seconds, measured on one core
CALLS = 3  # model calls seen in a window
LONGEST = 0.5  # seconds that a window without a model call may stay open
MOST_WHOLE, WHOLE_SECONDS = 400, 1.0  # calls and seconds of a pass that is seen to its end
MOST_FACTS = 60
MOST_MET = 2000
MOST_READ, MOST_SUMMED = 64, 65_536  # values of a batch that are read to know it again, and that are summed
DROPS = frozenset({"dropout", "alpha_dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"})
METRICS = frozenset({"argmax", "eq", "ne", "round", "topk", "gt", "ge", "lt", "le", "max", "numpy", "tolist", "item"})


class Evaluation:
    """Opens and closes windows; records modes and evaluations."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.modules: Modules = watch.parts["modules"]
        self.trace: Trace = watch.parts["trace"]
        self.opened: dict[Any, int] = {}
        self.calls = 0
        self.since = 0.0
        self.key: Any = None
        self.facts = 0
        self.whole: dict[Any, int] = {}  # windows that are to be seen to their end, and how many of them
        self.trained: dict[int, dict[str, Any]] = {}  # roots called with gradients in this step
        self.told: dict[Any, int] = {}
        self.batches: set[int] = set()  # fingerprints of the last sampled training step's inputs
        self.trained_from = ByIdentity()  # loaders that training reads
        self._loader: Any = None
        self.used: list[dict[str, Any]] = []
        self.inputs: dict[int, int] = {}
        self.met: dict[int, int] = {}  # how often the same rows were judged, over all windows
        self.only: tuple[Made, Line | None] | None = None  # what was chosen among one column, and where
        self.drops: Line | None = None  # where dropout by function was at work in this call of a model
        self.budget = Budget(watch.recorder.budget)

    # ---- windows

    @property
    def loader(self) -> Any:
        """The loader begun last, held weakly."""
        return self._loader() if self._loader is not None else None

    @loader.setter
    def loader(self, loader: Any) -> None:
        self._loader = weakref.ref(loader)
        self.watch.at_next("on_backward", PART, self.step)

    def open(self, why: str) -> None:
        """A window, unless this line has had its share or the program trains under compilation."""
        watch = self.watch
        if watch.evaluating or watch.compiled:
            return
        line = user_caller()
        if line is None:
            return
        key = (why, line)
        count = self.opened[key] = self.opened.get(key, 0) + 1
        if count > WINDOWS and count & (count - 1) and not self.budget.allows():
            return
        self.calls, self.since, self.key = 0, time.perf_counter(), key
        self.used, self.inputs = [], {}
        armed = watch.armed
        watch.evaluating = True
        watch.at_next("on_backward", PART, self.step)
        if not armed:
            watch.parts["arming"].put_in()

    def close(self) -> None:
        """The window ends; the hooks go out unless the step is sampled too."""
        if not self.watch.evaluating:
            return
        for value in self.used:
            self.tell(value)
        self.used = []
        if self.whole.get(self.key):
            self.whole[self.key] -= 1
        self.budget.spent(WINDOW_COST + OPERATION_COST * self.trace.count)
        self.watch.evaluating = False
        self.watch.parts["arming"].take_out()

    def no_grad(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """no_grad or inference_mode is entered."""
        if self.watch.armed:
            self.trace.no_grad_line = here()
        if not self.watch.evaluating:
            self.open("no_grad")

    def no_grad_ended(self, *_: Any) -> None:
        """The outermost has ended: printing a tensor enters and leaves one too."""
        if self.watch.evaluating and self.key is not None and self.key[0] == "no_grad" and torch.is_grad_enabled():
            self.close()

    def switch(self, module: Any, training: bool) -> None:
        """eval() opens a window, train() closes it."""
        if training:
            self.close()
        else:
            self.open("eval")

    def step(self, *_: Any) -> None:
        """Training goes on: what was called with gradients in a window was no evaluation."""
        if self.loader is not None:
            self.trained_from[self.loader] = True
        if self.watch.evaluating:
            self.used = [v for v in self.used if not v["grad"]]
            self.close()

    def begun(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A loader is begun: one that was not trained from is as a rule there to evaluate."""
        self.loader = args[0]
        if self.watch.backwards and args[0] not in self.trained_from:
            self.open("loader")

    # ---- evaluation

    def evaluated(self, root: Any, args: Any, result: Any) -> None:
        """A model was called within a window, or without gradients."""
        if not self.watch.evaluating:
            return
        outputs, inputs = tensors_in(result), tensors_in(args)
        self.calls += 1
        source = fingerprint(inputs[0]) if inputs else 0
        self.inputs[source] = self.inputs.get(source, 0) + 1
        self.met[source] = self.met.get(source, 0) + 1 if len(self.met) < MOST_MET else 1
        if self.facts < MOST_FACTS and outputs and self.calls <= 2 * CALLS:
            self.facts += 1
            line = here()
            flags = self.modules.flags(root)
            value = {"model": self.modules.label(root), "class": type(root).__name__, "why": self.key[0], "grad": torch.is_grad_enabled(), **flags,
                     "rows": inputs[0].shape[0] if inputs and inputs[0].dim() else None, "step": self.watch.step, "backwards": self.watch.backwards,
                     "training_batch": bool(source and source in self.batches), "metrics": [], "at": line.told if line else None,
                     "window": [*(self.key[1].told if self.key[1] else [])], "repeats": 0, "source": source,
                     "out": [id(self.trace.of(outputs[0]))], "drops": self.drops.told if self.drops and not flags["dropouts"] else None}  # fmt: skip
            self.used.append(value)
        self.drops = None
        if self.whole.get(self.key) and self.calls < MOST_WHOLE and time.perf_counter() - self.since < WHOLE_SECONDS:
            return
        if self.calls >= CALLS and not (self.used and not self.used[-1]["metrics"]):
            self.close()
        elif self.calls > 2 * CALLS:
            self.close()

    def operation(self, name: str, func: Any, args: Any, kwargs: Any, result: Any, outputs: list[Any]) -> None:
        """What becomes of a prediction: is it compared, counted, put into a loss?"""
        if self.watch.evaluating and name in DROPS and kwargs.get("training", True) and kwargs.get("p", 0.5) and self.trace.stack:
            self.drops = self.drops or here()
        if not self.watch.evaluating or not self.used:
            return
        if time.perf_counter() - self.since > (WHOLE_SECONDS if self.whole.get(self.key) else LONGEST) and not self.trace.stack:
            self.trace.open = False
        if name in METRICS or name.endswith("_loss") or "entropy" in name or getattr(func, "__name__", "") in SINGLE:
            made = next((self.trace.of(t) for t in tensors_in(args) if self.trace.of(t) is not None), None)
            if made is None:
                return
            own = {id(m) for m in made.ancestors(400)}
            for value in self.used:
                if value["out"][0] in own and name not in value["metrics"]:
                    value["metrics"].append(name)
            if name in ("argmax", "max"):
                self.chosen(args, kwargs, outputs)
            elif name in ("eq", "ne") and self.only is not None:
                self.compared(args, own)

    def chosen(self, args: Any, kwargs: Any, outputs: list[Any]) -> None:
        """A choice along an axis: of how many columns?"""
        x, dim = args[0], kwargs.get("dim", args[1] if len(args) > 1 else None)
        if torch.is_tensor(x) and outputs and isinstance(dim, int) and x.dim() > 1 and -x.dim() <= dim < x.dim() and dim % x.dim() and x.shape[0] > 1:
            made = self.trace.of(outputs[-1])
            self.only = (made, here()) if x.shape[dim] == 1 and made is not None else None

    def compared(self, args: Any, own: set[int]) -> None:
        """What was chosen among one column, and is 0 in every row, is compared with the truth."""
        made, line = self.only  # type: ignore[misc]
        for mine, other in (args[:2], args[1::-1]):
            given = self.trace.of(mine) if torch.is_tensor(mine) and torch.is_tensor(other) and is_plain(other) else None
            if given is None or not any(m is made for m in given.ancestors(8)):
                continue
            told = {"line": line.told if line else None, "others": round(float((other != 0).double().mean()), 4), "rows": other.numel()}
            for value in self.used if told["others"] else ():
                if value["out"][0] in own:
                    value.setdefault("one_column", told)

    def tell(self, value: dict[str, Any]) -> None:
        """The fact `evaluation`."""
        source = value.pop("source")
        value["repeats"], value["met"] = self.inputs.get(source, 1), self.met.get(source, 1)
        value.pop("out")
        at = value.pop("at")
        place = {"file": at[0], "line": at[1]} if at else {}
        self.recorder.fact("evaluation", value, stage="evaluate", step=value["step"], module=value["model"], **place)

    # ---- training

    def forward(self, root: Any, inputs: Any, outputs: Any) -> None:
        """A model was called with gradients in a sampled step."""
        root = self.modules.root_of(root) or root
        line = here()
        self.watch.at_next("on_backward", PART, self.backward)
        self.trained[id(root)] = {"model": self.modules.label(root), "class": type(root).__name__, **self.modules.flags(root),
                                  "at": line.told if line else None}  # fmt: skip
        self.batches = {fingerprint(t) for t in tensors_in(inputs)}

    def backward(self, tensors: Any, _: Any) -> None:
        """Its loss goes backward: this was training, in that mode."""
        for value in self.trained.values():
            key = (value["model"], value["training"], len(value["live"]), len(value["asleep"]))
            count = self.told[key] = self.told.get(key, 0) + 1
            if count <= 6 or count & (count - 1) == 0:
                at = value.get("at")
                self.recorder.fact("mode", {k: v for k, v in value.items() if k != "at"}, step=self.watch.step, module=value["model"],
                                   **({"file": at[0], "line": at[1]} if at else {}))  # fmt: skip
        self.trained = {}


def fingerprint(tensor: Any) -> int:
    """A batch told by its shape and some of its values, from every column in turn and of small ones all; 0 where they are not to be read at once."""
    values = sample(tensor)
    if not values:
        return 0
    flat = tensor.detach().reshape(-1)
    apart = max(1, flat.numel() // MOST_READ)
    width = tensor.shape[-1] if tensor.dim() else 1
    while apart > 1 and math.gcd(apart, width) > 1:  # columns that are always 0 (the rim of pictures) must not be all that is read
        apart += 1
    whole = float(flat.sum(dtype=torch.float64)) if flat.numel() <= MOST_SUMMED and not flat.is_complex() else 0.0
    return hash((tuple(tensor.shape), tuple(values), tuple(flat[::apart][:MOST_READ].tolist()), whole if math.isfinite(whole) else 0.0))


def user_caller() -> Line | None:
    """The person's line that turns gradients off: the innermost frame, if no library lies between (torch's own wrappers apart)."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if is_users(name):
            return Line(frame.f_code, frame.f_lineno)
        if "torch" not in name and "sabueso" not in name and "contextlib" not in name and "lightning" not in name:
            return None
        if f"torch{'/'}optim" in name or "clip_grad" in name:
            return None
        frame = frame.f_back  # type: ignore[assignment]
    return None


def install(watch: Watch) -> None:
    """Patch what turns gradients off, and hang on what ends a window."""
    evaluation = Evaluation(watch)
    watch.parts["evaluation"] = evaluation
    watch.recorder.at_exit(watch.guard(PART)(evaluation.close))
    for owner in (torch.no_grad, torch.inference_mode):
        watch.around(PART, owner, "__enter__", None, lambda token, result, args, kwargs: evaluation.no_grad(args, kwargs))
        watch.around(PART, owner, "__exit__", None, evaluation.no_grad_ended)
    patches = Patches()  # its own: other parts watch loaders too
    patches.around(torch.utils.data.DataLoader, "__iter__", watch.guard(PART)(evaluation.begun))
    watch.at_undo(patches.undo)
    watch.hang("on_switch", PART, evaluation.switch)
    watch.hang("on_evaluation", PART, evaluation.evaluated)
    watch.hang("on_operation", PART, evaluation.operation)
    watch.hang("on_forward", PART, evaluation.forward)
