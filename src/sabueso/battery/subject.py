"""Subject: a model with its loss, batch and optimizer, of which every question gets a copy of its own."""

from __future__ import annotations

import copy
import math
import sys
import time
from dataclasses import dataclass
from typing import Any

from .tape import tensors

MOST_ROWS = 7  # for questions on single rows: odd, so that it is not taken for a width


@dataclass(slots=True)
class Copy:
    """A model, loss and optimizer that may be trained and broken."""

    model: Any
    loss: Any
    optimizer: Any


class Several:
    """Optimizers that take their steps together, as one."""

    def __init__(self, optimizers: Any) -> None:
        self.optimizers = list(optimizers)

    @property
    def param_groups(self) -> list[Any]:
        return [g for o in self.optimizers for g in o.param_groups]

    def zero_grad(self, set_to_none: bool = True) -> None:
        for o in self.optimizers:
            o.zero_grad(set_to_none=set_to_none)

    def step(self) -> None:
        for o in self.optimizers:
            o.step()


class Subject:
    """What is examined. `inputs` is a tuple of arguments or a dictionary of them; `target` whatever the loss takes beside the output."""

    def __init__(self, model: Any, loss: Any, batch: Any, optimizer: Any, seconds: float) -> None:
        self.torch: Any = sys.modules["torch"]
        self.given, self.seconds = Copy(model, loss, optimizer), seconds
        self.began = time.process_time()
        self.inputs, self.target = parted(batch, self.torch)
        self.pristine = copy.deepcopy((model, loss, optimizer))
        if any(isinstance(p, self.torch.nn.parameter.UninitializedTensorMixin) for p in self.pristine[0].parameters()):
            self.answers(self.pristine[0])  # lazy layers learn their shapes from the batch
        self.memory: dict[str, Any] = {}  # what one question found and another asks for

    # ---- copies and calls

    def fresh(self) -> Copy:
        """A copy as it was given."""
        part = Copy(*copy.deepcopy(self.pristine))
        if type(part.optimizer).__name__ == "LBFGS":  # whose copies lack what it made of its parameters
            part.optimizer._params, part.optimizer._numel_cache = part.optimizer.param_groups[0]["params"], None
        return part

    def left(self) -> float:
        """CPU seconds that may still be spent."""
        return self.seconds - (time.process_time() - self.began)

    def call(self, model: Any, inputs: Any = None) -> Any:
        """The model's output for inputs (those of the batch); they are given as copies, since a model may write into them."""
        inputs = self.inputs if inputs is None else inputs
        given = self.cloned(inputs)
        return model(**given) if isinstance(given, dict) else model(*given)

    def loss_of(self, part: Copy, output: Any, target: Any = None) -> Any:
        """The loss of an output."""
        target = self.target if target is None else target
        if part.loss is None:
            return output.loss if hasattr(output, "loss") else output
        return part.loss(output, target)

    def cloned(self, value: Any) -> Any:
        """Nested tensors copied."""
        return mapped(value, lambda t: t.detach().clone(), self.torch)

    def predict(self, model: Any, inputs: Any = None, train: bool = False, seed: int = 0) -> Any:
        """The first tensor of the output without gradients; dropout draws the same each time."""
        model.train(train)
        self.torch.manual_seed(seed)
        with self.torch.no_grad():
            return first(self.call(model, inputs), self.torch).detach().clone()

    def answers(self, model: Any, inputs: Any = None) -> Any:
        """All that it answers in evaluation, as one vector."""
        model.eval()
        self.torch.manual_seed(0)
        with self.torch.no_grad():
            held = [t.detach().float().reshape(-1) for t in tensors(self.call(model, inputs), self.torch) if t.numel()]
        return self.torch.cat(held)

    # ---- the batch

    @property
    def first_input(self) -> Any:
        """The first tensor among the inputs."""
        return first(self.inputs, self.torch)

    @property
    def rows(self) -> int:
        """Rows of the batch."""
        held = self.first_input
        return int(held.shape[0]) if held is not None and held.dim() else 0

    def taken(self, value: Any, index: Any) -> Any:
        """Those rows of all that has as many rows as the batch."""
        rows = self.rows
        return mapped(value, lambda t: t[index] if t.dim() and t.shape[0] == rows else t, self.torch)

    def with_tensors(self, base: Any, call: Any) -> Any:
        """Nested inputs with each tensor replaced by what `call` makes of it."""
        return mapped(base, call, self.torch)

    # ---- training

    def train(self, part: Copy, optimizer: Any, steps: int, inputs: Any = None, target: Any = None, enough: float = -math.inf) -> list[float]:
        """Losses of steps on one batch in training mode; ends early at a loss that is low enough or not finite, or when time is up."""
        inputs, target = (self.inputs, self.target) if inputs is None else (inputs, target)
        losses: list[float] = []
        for _ in range(steps):
            part.model.train()
            optimizer.zero_grad(set_to_none=True)
            loss = self.loss_of(part, self.call(part.model, inputs), target)
            losses.append(float(loss.detach()))
            if not math.isfinite(losses[-1]) or losses[-1] < enough or self.left() < 0.1:
                break
            loss.backward()
            optimizer.step(lambda: again(self, part, optimizer, inputs, target)) if type(optimizer).__name__ == "LBFGS" else optimizer.step()
        return losses

    def adam(self, part: Copy, rate: float) -> Any:
        """An optimizer of ours for all that can be trained, the loss's own parameters too."""
        held = [p for owner in (part.model, part.loss) if hasattr(owner, "parameters") for p in owner.parameters() if p.requires_grad]
        return self.torch.optim.Adam(held, lr=rate)

    def loss_without(self, model: Any, loss: Any, inputs: Any = None, target: Any = None, train: bool = False) -> float:
        """The loss of a batch as it stands."""
        model.train(train)
        self.torch.manual_seed(0)
        with self.torch.no_grad():
            value = self.loss_of(Copy(model, loss, None), self.call(model, inputs), target)
        return float(value)


def again(subject: Subject, part: Copy, optimizer: Any, inputs: Any, target: Any) -> Any:
    """The closure of an optimizer that asks for the loss itself."""
    optimizer.zero_grad()
    loss = subject.loss_of(part, subject.call(part.model, inputs), target)
    loss.backward()
    return loss


def parted(batch: Any, torch: Any) -> tuple[Any, Any]:
    """(inputs, target) of a batch: the last of a tuple is the target; a lone tensor is both."""
    if torch.is_tensor(batch):
        return (batch,), batch
    if isinstance(batch, dict):
        return {k: v for k, v in batch.items() if k not in ("labels", "target", "targets")}, next(
            (batch[k] for k in ("labels", "target", "targets") if k in batch), None
        )
    *inputs, target = batch
    if len(inputs) == 1 and isinstance(inputs[0], dict):
        return inputs[0], target
    if len(inputs) == 1 and isinstance(inputs[0], (tuple, list)):
        return tuple(inputs[0]), target
    return tuple(inputs), target


def mapped(value: Any, call: Any, torch: Any) -> Any:
    """Nested tensors, each replaced."""
    if torch.is_tensor(value):
        return call(value)
    if isinstance(value, dict):
        return {k: mapped(v, call, torch) for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(mapped(v, call, torch) for v in value)
    return value


def first(value: Any, torch: Any) -> Any:
    """The first tensor in a nested value; None without any."""
    return next(iter(tensors(value, torch)), None)
