"""Partners: in the first sampled steps, whether the labels of a batch are those that stand beside its rows wherever the program holds them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...capture import rejoined
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
        self.tries = 0

    def forward(self, root: Any, inputs: Any, outputs: Any) -> None:
        """What the model was given."""
        first = next(iter(tensors_in(inputs)), None)
        fits = first is not None and is_plain(first) and not first.requires_grad and first.dim() > 1 and first.is_floating_point()
        self.inputs = first.detach() if fits and LEAST <= first.shape[0] <= MOST and first.numel() <= MOST_VALUES else None

    def loss_call(self, call: Any) -> None:
        """What it is compared with."""
        inputs, target = self.inputs, call.target
        if inputs is None or self.watch.evaluating or self.tries >= TRIES or not is_plain(target) or target.requires_grad:
            return
        self.inputs = None
        if target.numel() != inputs.shape[0] or target.element_size() == 2 or inputs.element_size() == 2:
            return
        self.tries += 1
        if rejoined.look(self.recorder, inputs.numpy(), np.asarray(target.detach().reshape(-1))):
            self.tries = TRIES

    def clear(self) -> None:
        self.inputs = None


def install(watch: Watch) -> None:
    """Hang on the calls of models and losses."""
    if not watch.recorder.wants("label_agreement"):
        return
    partners = Partners(watch)
    watch.hang("on_forward", PART, partners.forward)
    watch.hang("on_loss_call", PART, partners.loss_call)
    watch.hang("on_disarm", PART, partners.clear)
