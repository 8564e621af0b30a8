"""Partners: in the first sampled steps, whether the labels of a batch are those that stand beside its rows wherever the program holds them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...capture import fed_tables, rejoined
from .trace import is_plain, tensors_in
from .watch import Watch

PART = "partners"
TRIES = 3  # batches that are looked for among the program's arrays
LEAST, MOST = 8, 4096  # rows of a batch
MOST_VALUES = 400_000


class Partners:
    """The input of the model and the target of the loss in one step."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.inputs: Any = None
        self.tries = self.windows = 0

    @property
    def waits(self) -> bool:
        """Were too few batches looked for so far, and none found?"""
        return self.tries < TRIES

    def forward(self, root: Any, inputs: Any, outputs: Any) -> None:
        """What the model was given."""
        first = next(iter(tensors_in(inputs)), None)
        self.inputs = first.detach() if first is not None and is_batch(first) else None

    def loss_call(self, call: Any) -> None:
        """What it is compared with."""
        if self.inputs is not None and not self.watch.evaluating and self.waits:
            inputs, self.inputs = self.inputs, None
            self.look(inputs, call.target)

    def given(self, tensors: list[Any]) -> None:
        """What a function of the person's own was given beside its parameters, in one step: rows first, and a number for each of them."""
        inputs = next((t for t in tensors if is_batch(t)), None)
        target = next((t for t in tensors if t is not inputs and t.dim() and inputs is not None and t.shape[0] == inputs.shape[0] == t.numel()), None)
        if inputs is not None and target is not None:
            self.look(inputs.detach(), target)

    def look(self, inputs: Any, target: Any) -> None:
        """Look for the arrays that the batch was cut from."""
        if inputs.dim() == 3 and inputs.element_size() > 2 and self.windows < TRIES:
            self.windows += 1
            fed_tables.series(self.recorder, inputs.numpy())
        if not is_plain(target) or target.requires_grad or target.numel() != inputs.shape[0] or 2 in (target.element_size(), inputs.element_size()):
            return
        self.tries += 1
        if rejoined.look(self.recorder, inputs.numpy(), np.asarray(target.detach().reshape(-1))):
            self.tries = TRIES

    def clear(self) -> None:
        self.inputs = None


def is_batch(tensor: Any) -> bool:
    """Rows of numbers, neither one nor very many."""
    fits = is_plain(tensor) and not tensor.requires_grad and tensor.dim() > 1 and tensor.is_floating_point()
    return fits and LEAST <= tensor.shape[0] <= MOST and tensor.numel() <= MOST_VALUES


def install(watch: Watch) -> None:
    """Hang on the calls of models and losses."""
    if not watch.recorder.wants("label_agreement"):
        return
    partners = watch.parts[PART] = Partners(watch)
    watch.hang("on_forward", PART, partners.forward)
    watch.hang("on_loss_call", PART, partners.loss_call)
    watch.hang("on_disarm", PART, partners.clear)
