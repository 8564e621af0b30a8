"""torchmetrics: values of single batches that a loop collects, or gives to a trainer to average, beside the value of all rows of the pass.

A pass ends when the metric is reset, another mode begins or the program ends. What all rows give is reckoned by a copy of the metric.
"""

from __future__ import annotations

import copy
import sys
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from ..capture.around import Patches
from ..capture.gathering import gathered
from ..capture.origin import is_users, user_line
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("torchmetrics",)
PROVIDES = ("batch_metric",)
MOST_PASSES, MOST_NUMBERS, MOST_CALLS = 60, 2_000_000, 3000
LEAST, OFTEN = 4, 12  # batches of a pass; up to how many each is looked at, then those that are powers of two
OFF = 0.02  # between the mean of batches, weighted by their rows, and the value of all rows; a share of that value where it is above 1
ALIVE = 0.9  # of the values that a pass gave: they are being collected


class Pass:
    """The calls of one metric since it was reset."""

    def __init__(self, metric: Any, step: int | None) -> None:
        self.metric, self.step, self.place = metric, step, user_line()
        self.given: list[tuple[Any, ...]] = []
        self.refs: list[Any] = []
        self.values: list[float] = []
        self.sizes: list[int] = []
        self.numbers = 0
        self.how = self.name = ""
        self.spoilt = False

    def see(self, args: tuple[Any, ...], result: Any) -> None:
        """One batch."""
        self.numbers += sum(a.numel() for a in args)
        if self.numbers > MOST_NUMBERS or len(self.given) >= MOST_CALLS:
            self.spoilt, self.given = True, []
            return
        self.given.append(tuple(a.detach().clone() for a in args))
        self.refs.append(weakref.ref(result))
        self.values.append(float(result))
        self.sizes.append(len(args[-1]))
        count = len(self.values)
        if not self.name and count >= LEAST and (count <= OFTEN or not count & (count - 1)):
            self.look()

    def look(self) -> None:
        """Are the values collected by the code that called?"""
        frame = sys._getframe(1)
        while frame is not None and not is_users(frame.f_code.co_filename):
            frame = frame.f_back  # type: ignore[assignment]
        found = gathered(frame, self.values, self.sizes) if frame is not None else None
        if found is not None:
            self.how, self.name = found.how, found.name
        elif sum(r() is not None for r in self.refs) >= ALIVE * len(self.refs):
            self.how, self.name = "list", "a list"


class Torchmetrics:
    """The hooks of one installation."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.passes: dict[int, Pass] = {}
        self.inside: list[Any] = []
        self.told: dict[Any, int] = {}
        recorder.shared["averaged_tensor"] = self.averaged
        recorder.at_exit(self.finish)

    def begins(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        self.inside.append(args[0])
        return True

    def called(self, token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """forward(prediction, target) gave the value of a batch."""
        self.inside.pop()
        torch, metric, given = sys.modules["torch"], args[0], args[1:]
        if torch.is_grad_enabled() or kwargs or len(given) != 2 or not all(on_cpu(a) for a in (*given, result)) or shared(torch):
            return
        if result.numel() != 1 or not all(a.dim() and len(a) == len(given[0]) > 0 for a in given) or next(metric.parameters(), None) is not None:
            return  # a metric that holds a network takes as long again for all rows
        now = self.passes.get(id(metric))
        if now is None or now.metric() is not metric or now.step != self.recorder.step:
            self.over(id(metric))
            if len(self.told) >= MOST_PASSES:
                return
            now = self.passes[id(metric)] = Pass(weakref.ref(metric), self.recorder.step)
        if not now.spoilt:
            now.see(given, result)

    def asked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """compute() by the person or a trainer: the value of all rows is what is reported."""
        now = self.passes.get(id(args[0]))
        if now is not None and not any(m is args[0] for m in self.inside):
            now.spoilt = True

    def reset(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not any(m is args[0] for m in self.inside):
            self.over(id(args[0]))

    def averaged(self, name: str, value: Any) -> None:
        """A trainer is given a batch's value to average over an epoch."""
        for now in self.passes.values():
            if now.refs and now.refs[-1]() is value:
                now.how, now.name = "list", name

    def over(self, key: int) -> None:
        """A pass has ended."""
        now = self.passes.pop(key, None)
        metric = now.metric() if now is not None else None
        if now is None or metric is None or now.spoilt or not now.name or len(now.values) < LEAST or self.told.get(now.place, 0) >= 3:
            return
        whole = self.whole(metric, now.given)
        finite = [(v, n) for v, n in zip(now.values, now.sizes) if v == v]
        if whole is None or whole != whole or not finite:
            return
        weighted = sum(v * n for v, n in finite) / sum(n for _, n in finite)
        if abs(weighted - whole) >= OFF * max(1.0, abs(whole)):
            self.tell(now, type(metric).__name__, whole, weighted, sum(v for v, _ in finite) / len(finite))

    def whole(self, metric: Any, given: list[tuple[Any, ...]]) -> float | None:
        """The value of all rows together."""
        torch = sys.modules["torch"]
        try:
            with warnings.catch_warnings(), torch.no_grad(), torch.random.fork_rng(devices=[]):
                warnings.simplefilter("ignore")
                other = copy.deepcopy(metric)
                other.reset()
                for batch in given:
                    other.update(*batch)
                return float(other.compute())
        except Exception:  # a metric of the person's own, that can't be copied
            return None

    def tell(self, now: Pass, name: str, whole: float, weighted: float, mean: float) -> None:
        """The fact `batch_metric`."""
        self.told[now.place] = self.told.get(now.place, 0) + 1
        found = {"how": now.how, "name": now.name, "calls": len(now.values), "rows": sum(now.sizes), "batch": now.sizes[0], "mean": mean,
                 "weighted_mean": weighted, "zeros": sum(v == 0 for v in now.values), "even": now.sizes[-1] == now.sizes[0], "whole": whole,
                 "one_class": sum(b[-1].numel() > 0 and bool((b[-1] == b[-1].reshape(-1)[0]).all()) for b in now.given)}  # fmt: skip
        file, line = now.place
        self.recorder.fact("batch_metric", {"metric": name, "via": "call", "gathered": [found]}, stage="evaluate", estimator=name, file=file or "", line=line)

    def finish(self) -> None:
        """Passes that nothing has ended."""
        for key in list(self.passes):
            self.over(key)


def on_cpu(x: Any) -> bool:
    """A tensor whose values are there: nothing is to wait for a device."""
    return sys.modules["torch"].is_tensor(x) and x.device.type == "cpu"


def shared(torch: Any) -> bool:
    """Do several processes judge the rows together? A value of all would be asked of the others, who know nothing of it."""
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook forward, compute and reset of the metrics."""
    patches, module = Patches(), sys.modules.get("torchmetrics.metric")
    if module is None or not recorder.wants("batch_metric"):
        return patches.undo
    hooks, guard = Torchmetrics(recorder), guarded("torchmetrics", recorder)
    patches.around(module.Metric, "forward", guard(hooks.begins), guard(hooks.called))
    patches.around(module.Metric, "sync_context", guard(hooks.asked))
    patches.around(module.Metric, "reset", guard(hooks.reset))
    return patches.undo
