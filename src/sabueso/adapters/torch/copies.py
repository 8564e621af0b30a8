"""Copies: a model that answers in the end is a copy made before another one was trained, and has never been written since."""

from __future__ import annotations

from typing import Any

import torch

from ...capture import authorship
from .graph import Graph
from .lines import Line, here
from .modules import Modules, sample
from .watch import Watch

PART = "copies"
SETTLED = 30  # backwards before it counts: until then a copy may still wait for its first average
LOOKS = 4  # at one model
MATRICES = 2
MOST = 40


class Copies:
    """Models that answered without gradients and are still what the trained one was at its beginning."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.modules: Modules = watch.parts["modules"]
        self.looks: dict[int, int] = {}
        self.in_training: set[int] = set()
        self.held: dict[int, dict[str, Any]] = {}
        self.answered: dict[str, int] = {}  # by the label of a trained model: backwards at its last answer
        self.lines: dict[int, Line | None] = {}

    @property
    def graph(self) -> Graph:
        return self.watch.parts["graph"]

    def forward(self, root: Any, inputs: Any, outputs: Any) -> None:
        """Called in a sampled training step: a teacher, a target or a reference is meant to stay as it is."""
        self.in_training.add(id(root))

    def evaluated(self, root: Any, inputs: Any, outputs: Any) -> None:
        """A model answers without gradients."""
        if self.watch.backwards < SETTLED or torch.is_grad_enabled() or self.looks.get(id(root), 0) >= LOOKS or len(self.looks) > MOST:
            return
        self.looks[id(root)] = self.looks.get(id(root), 0) + 1
        if self.graph.trained_steps(root):
            self.answered[self.modules.label(root) or ""] = self.watch.backwards
        elif id(root) not in self.in_training:
            donor = self.donor(root)
            if donor is None:
                self.held.pop(id(root), None)
            else:
                told = self.held.setdefault(id(root), {"model": self.modules.label(root), "class": type(root).__name__, "of": donor, "looks": 0})
                told |= {"looks": told["looks"] + 1, "backwards": self.watch.backwards, "step": self.watch.step}
                self.lines.setdefault(id(root), here())
                evaluation = self.watch.parts["evaluation"]
                evaluation.whole.setdefault(evaluation.key, 1)  # does the trained model answer in the same window?

    def donor(self, root: Any) -> str | None:
        """The trained model whose initial values each matrix of this one still has."""
        matrices = [p for p in root.parameters() if p.dim() > 1]
        if len(matrices) < MATRICES or any(self.drawn(p) is not None for p in matrices):
            return None
        trained: dict[Any, Any] = {}  # what has moved, by its shape and its initial values
        for q in (q for held in self.watch.optimizers.values() for q in held.parameters if q.dim() > 1):
            first = self.drawn(q)
            if first is not None and any(first) and sample(q) != first:
                trained[q.shape, tuple(first)] = q
        found = [trained.get((p.shape, tuple(sample(p) or ()))) for p in matrices]
        if any(q is None for q in found):
            return None
        owner = next((r.ref() for r in self.modules.roots.values() if r.ref() is not None and any(q is found[0] for q in r.ref().parameters())), None)
        return self.modules.label(owner) if owner is not None else None

    def drawn(self, p: Any) -> Any:
        """The values that an initialiser gave to this very parameter."""
        known = self.graph.initialised.get(id(p))
        return known[2] if known is not None and known[0]() is p else None

    def last_words(self) -> None:
        """The fact `copy_unwritten` of each that nothing else explains."""
        for key, told in self.held.items():
            if key in self.in_training or self.answered.get(told["of"] or "", -1) >= told["backwards"]:
                continue
            line = self.lines.get(key)
            written = authorship.rebound((line.told[0],) if line else ())
            place = {"file": written[0], "line": written[1]} if written else line.place if line else {}
            self.recorder.fact("copy_unwritten", {**told, "rebound": bool(written)}, stage="train", step=told["step"], module=told["model"], **place)


def install(watch: Watch) -> None:
    """Hang on evaluations and sampled steps."""
    if watch.recorder.wants("copy_unwritten"):
        copies = Copies(watch)
        watch.hang("on_forward", PART, copies.forward)
        watch.hang("on_evaluation", PART, copies.evaluated)
        watch.recorder.at_exit(copies.last_words)
