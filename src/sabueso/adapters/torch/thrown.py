"""Thrown away: what should have taken the answers out of an input returns a new tensor, which nothing uses, and the answers go in."""

from __future__ import annotations

import re
from linecache import getline
from typing import Any

import torch

from .trace import Made, Trace, is_plain, tensors_in
from .watch import Watch

PART = "thrown"
OPERATIONS = frozenset({"masked_fill", "index_fill", "masked_scatter", "scatter", "index_copy", "where"})
LEAST = 16  # rows judged: fewer agree by chance
MOST_COLUMNS = 2000


class Thrown:
    """Looks at sampled steps in which such a result was dropped, and there alone."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.trace: Trace = watch.parts["trace"]
        self.given: list[tuple[Any, list[Made]]] = []  # an input, until the step ends, and what the model made of it
        self.told = False

    def clear(self, *_: Any) -> None:
        self.given = []

    def dropped(self) -> Made | None:
        """An operation whose result is gone, and that was made of a tensor which went on as it was."""
        for made in self.trace.order:
            if made.op in OPERATIONS and made.ref() is None and made.parents and not any(made in m.parents for m in self.trace.order):
                if any(m.number > made.number and made.parents[0] in m.parents for m in self.trace.order):
                    return made
        return None

    def forward(self, root: Any, inputs: Any, outputs: Any) -> None:
        """A model was called: its tables, if something was thrown away on the way to them."""
        made = None if self.told else self.dropped()
        if made is None:
            return
        results = [m for m in map(self.trace.of, tensors_in(outputs)) if m is not None]
        for tensor in tensors_in(inputs)[:6]:
            source = self.trace.of(tensor)
            if source is not None and tensor.dim() == 2 and tensor.is_floating_point() and is_plain(tensor) and tensor.shape[1] <= MOST_COLUMNS:
                if made.parents[0] in source.ancestors(400):
                    self.given.append((tensor.detach(), results))

    def loss_call(self, call: Any) -> None:
        """Do the columns of such an input say the classes of the very rows that the loss asks for?"""
        source = call.source or self.trace.of(call.prediction)
        if self.told or not self.given or source is None or call.target.is_floating_point() or call.target.dim() != 1 or not is_plain(call.target):
            return
        made = self.dropped()
        for x, results in self.given if made is not None else ():
            chain = list(source.ancestors(60))
            if not any(m is r for r in results for m in chain):
                continue
            rows = self.rows(chain, results, len(x))
            found = columns(x if rows is None else x[rows], call.target)
            if found is not None:
                self.tell(made, found, len(call.target), x.shape[1])

    def rows(self, chain: list[Made], results: list[Made], count: int) -> Any:
        """The rows that were picked from the model's answer, None for all."""
        for made in chain:
            if made.op in ("getitem", "index_select") and any(p is r for r in results for p in made.parents):
                index = [t for p in made.parents if not any(p is r for r in results) and (t := p.ref()) is not None]
                if len(index) == 1 and index[0].dim() == 1 and (index[0].dtype == torch.int64 or index[0].dtype == torch.bool and len(index[0]) == count):
                    return index[0].detach()
        return None

    def tell(self, made: Any, found: list[int], rows: int, width: int) -> None:
        """The fact `tell`."""
        self.told = True
        text = getline(made.line.code.co_filename, made.line.line) if made.line else ""
        match = re.search(rf"torch\.{made.op}\(\s*(\w+)", text) or re.search(rf"([A-Za-z_][\w.]*)\.{made.op}\(", text)
        name = match.group(1) if match else f"columns {found[0]} to {found[-1]}"
        value = {"how": "left in", "column": name, "columns": found[:50], "operation": made.op, "agreement": 1.0, "rows": rows, "width": width}
        self.recorder.fact("tell", value, step=self.watch.step, stage="preprocess", column=name, **(made.line.place if made.line else {}))


def columns(x: Any, target: Any) -> list[int] | None:
    """The column of each class that is 1 in its rows and 0 in all others; None unless each has one and there are other columns too."""
    if len(x) != len(target) or len(x) < LEAST:
        return None
    found = []
    for level in torch.unique(target)[:200]:
        same = (x == (target == level).to(x.dtype)[:, None]).all(0).nonzero().flatten().tolist()
        if len(same) != 1:
            return None
        found.append(same[0])
    return found if 2 <= len(set(found)) == len(found) < x.shape[1] else None


def install(watch: Watch) -> None:
    """Hang on sampled steps."""
    if watch.recorder.wants("tell"):
        thrown = Thrown(watch)
        watch.hang("on_forward", PART, thrown.forward)
        watch.hang("on_loss_call", PART, thrown.loss_call)
        watch.hang("on_backward", PART, thrown.clear, sampled=True)
        watch.hang("on_arm", PART, thrown.clear)
