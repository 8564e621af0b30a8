"""Serving: the rows that a network is given without gradients beside those that it was trained on; a device that was asked for in vain."""

from __future__ import annotations

import logging
from typing import Any

import torch

from ...capture.calling import caller
from ...capture.flow import Flow
from ...capture.origin import names_in, user_line
from .trace import is_plain, tensors_in
from .watch import Watch

PART = "serving"
MOST_COLUMNS = 200


class Serving:
    """Tells the flow of rows what networks are fed; remembers moves to a device that failed."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder, self.flow = watch, watch.recorder, Flow.of(watch.recorder)
        self.asked: list[dict[str, Any]] = []
        self.said = False
        self.ran: dict[str, Any] | None = None

    # ---- rows

    def whole(self, root: Any) -> bool:
        """Are its fit and its answers told as a whole already, as those of Keras are?"""
        model = self.flow.model(root, make=False)
        return model is not None and bool(model.columns) and not model.batches

    def trained(self, root: Any, inputs: Any, outputs: Any) -> None:
        """A sampled training step's batch."""
        rows = table_in(inputs) if not self.whole(root) else None
        if rows is not None and not any(torch.is_tensor(x) and x.requires_grad for x in tensors_in(inputs)):  # no data, but what another net makes of them
            self.flow.batch(root, rows)

    def evaluated(self, root: Any, inputs: Any, outputs: Any) -> None:
        """A call without gradients."""
        if self.asked and self.ran is None:
            device = next((p.device.type for p in root.parameters()), "cpu")
            self.ran = {"device": device, "model": type(root).__name__}
        rows = table_in(inputs) if not self.whole(root) else None
        if rows is None or not torch.is_tensor(outputs) or not is_plain(outputs):
            return
        at = self.flow.fed(root, "forward", rows)
        if at is not None:
            outputs = whole(outputs)
            self.flow.answered(root, "forward", outputs if outputs.dim() else outputs.reshape(1), at)

    def scored(self, output: Any, truth: Any) -> None:
        """An answer met its target in an evaluation pass."""
        if not is_plain(output) or not is_plain(truth):
            return
        answer = whole(output).numpy()
        found = self.flow.outputs.find(output, answer.reshape(len(answer), -1)[:, 0] if answer.ndim else answer)
        true = whole(truth).numpy().reshape(len(truth), -1)
        if found is not None and true.shape[1] == 1:
            self.flow.truth(found, true[:, 0])

    # ---- devices

    def moves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`module.to(device)` begins; the entry is taken out again if it returns."""
        device = kwargs.get("device", args[1] if len(args) > 1 else None)
        kind = device.type if isinstance(device, torch.device) else device.partition(":")[0] if isinstance(device, str) else ""
        if kind not in ("cuda", "mps", "xpu") or len(self.asked) > 20:
            return None
        file, line = user_line()
        frame = caller()
        words = [c for c in (frame.f_code.co_consts if frame is not None else ()) if isinstance(c, str) and "cpu" in c.lower() and len(c) > 5]
        entry = {"device": str(device), "model": type(args[0]).__name__, "file": file, "line": line, "announced": bool(words),
                 "owner": _owner(frame)}  # fmt: skip
        self.asked.append(entry)
        return entry

    def moved(self, entry: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if entry is not None:
            self.asked.remove(entry)
        if (rounding := self.watch.parts.get("rounding")) is not None:  # one function is wrapped once
            rounding.converted(None, result, args, kwargs)

    def logged(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A log record that names the CPU after a failed move tells of it."""
        if self.asked and not self.said:
            record = args[1] if len(args) > 1 else kwargs.get("record")
            self.said = "cpu" in f"{record.msg} {record.args}".lower()

    def last_words(self) -> None:
        """What was asked for, and what the model ran on."""
        if self.asked and self.ran is not None:
            first = self.asked[0]
            value = {**first, "ran_on": self.ran["device"], "said": self.said or first["announced"]}
            self.recorder.fact("device_asked", value, stage="deploy", module=first["owner"] or first["model"], file=first["file"] or "", line=first["line"])


def _owner(frame: Any) -> str | None:
    """The class whose method makes the call."""
    first = names_in(frame).get("self") if frame is not None else None
    return type(first).__name__ if first is not None else None


def whole(tensor: Any) -> Any:
    """Its values in a type that NumPy has."""
    return tensor.detach().float() if tensor.dtype == torch.bfloat16 else tensor.detach()


def table_in(inputs: Any) -> Any:
    """The first table of numbers among a call's inputs (rows, columns); one row where a vector is given."""
    args, kwargs = inputs if isinstance(inputs, tuple) and len(inputs) == 2 and isinstance(inputs[1], dict) else (inputs, {})
    for x in [*(args if isinstance(args, (tuple, list)) else [args]), *kwargs.values()]:
        if torch.is_tensor(x) and is_plain(x) and x.is_floating_point() and x.numel():
            if x.dim() == 1 and x.shape[0] <= MOST_COLUMNS:
                x = x.reshape(1, -1)
            return whole(x) if x.dim() == 2 and x.shape[1] <= MOST_COLUMNS else None
    return None


def install(watch: Watch) -> None:
    """Hang on evaluations and sampled steps; hook moves to a device."""
    serving = Serving(watch)
    if watch.recorder.wants("inputs"):
        watch.hang("on_forward", PART, serving.trained)
        watch.hang("on_evaluation", PART, serving.evaluated)
        if hasattr(watch, "on_scored"):
            watch.hang("on_scored", PART, serving.scored)
    if watch.recorder.wants("device_asked"):
        watch.around(PART, torch.nn.Module, "to", serving.moves, serving.moved)
        watch.around(PART, logging.Logger, "handle", serving.logged, None)
        watch.recorder.at_exit(serving.last_words)
