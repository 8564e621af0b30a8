"""Draws: numbers drawn from a distribution whose parameters are learnt, and given on to trained layers: no gradient comes back past a draw.

What a draw is scored by (log_prob, as REINFORCE has it) is another way to learn from one; where that is used at all nothing is said.
"""

from __future__ import annotations

from typing import Any

import torch

from .modules import Modules
from .paths import feeds
from .trace import Trace
from .watch import Watch

PART = "draws"
TIMES = 6
OPERATIONS = frozenset({"normal"})


class Draws:
    """One a watch."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.trace: Trace = watch.parts["trace"]
        self.modules: Modules = watch.parts["modules"]
        self.scored = False
        self.told = 0

    def log_prob(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A draw is scored."""
        self.scored = True

    def backward(self, tensors: tuple[Any, ...], _: Any) -> None:
        """Is there a draw between a loss and what its distribution was made from?"""
        if self.scored or self.told >= TIMES or not any(m.op in OPERATIONS for m in self.trace.order):
            return
        for made in [self.trace.of(t) for t in tensors if torch.is_tensor(t)]:
            leads = {id(m) for m in made.ancestors()} if made is not None else set()
            for m in self.trace.order:
                if m.op in OPERATIONS and id(m) in leads and any(p.grad for p in m.parents) and feeds(self.trace.order, m, leads):
                    source = next((p for p in m.ancestors(200) if p.op != "parameter" and p.module is not None and p.module is not m.module), m)
                    module = self.modules.label(source.module) if source.module is not None else None
                    self.told += 1
                    value = {"whole": False, "draw": True, "operation": m.op}
                    self.recorder.fact("graph_cut", value, step=self.watch.step, stage="train", module=module, **(m.line.place if m.line else {}))
                    return


def install(watch: Watch) -> None:
    """Hang on sampled steps."""
    if watch.recorder.wants("graph_cut"):
        draws = Draws(watch)
        watch.hang("on_backward", PART, draws.backward, sampled=True)
        watch.around(PART, torch.distributions.Normal, "log_prob", draws.log_prob)
