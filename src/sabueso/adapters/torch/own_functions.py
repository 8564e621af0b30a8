"""Own functions: a person's autograd.Function whose backward gives no gradient for an input that parameters lie behind.

Known by the node itself: while the loss of a sampled step goes backward, a hook on each such node sees what it returns.
"""

from __future__ import annotations

import dis
from inspect import unwrap
from typing import Any

from ...capture.origin import is_users
from .graph import behind, walked
from .lines import Line
from .modules import Modules
from .watch import Watch

PART = "own_functions"
MOST_FUNCTIONS, MOST_FACTS = 32, 8


class OwnFunctions:
    """The nodes of the backward in progress, and what they kept back."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.recorder = watch, watch.recorder
        self.modules: Modules = watch.parts["modules"]
        self.handles: list[Any] = []
        self.kept_back: list[tuple[type, int, list[Any]]] = []  # function, position of the input, parameters behind it
        self.told = 0

    def backward(self, tensors: tuple[Any, ...], _: Any) -> None:
        """Stand at each node of a function that the person wrote."""
        self.clear()
        if self.told >= MOST_FACTS or not self.watch.armed:
            return
        for node in own_nodes(tensors):
            self.handles.append(node.register_hook(self.reader(type(node)._forward_cls, [n for n, _ in node.next_functions])))

    def reader(self, function: type, inputs: list[Any]) -> Any:
        """A hook that sees what a node gives back and lets it pass."""

        def read(given: tuple[Any, ...], _: Any) -> None:
            for i, (gradient, node) in enumerate(zip(given, inputs)):
                if gradient is None and node is not None:
                    self.kept_back.append((function, i, behind([node])))

        return self.watch.guard(PART, arithmetic=False)(read)

    def step(self, optimizer: Any) -> None:
        """Did what lies behind get a gradient by another way?"""
        kept, self.kept_back = self.kept_back, []
        held = {id(p) for p in self.watch.optimizers[id(optimizer)].parameters} if kept else set()
        for function, position, leaves in kept:
            without = [p for p in leaves if id(p) in held and p.requires_grad]
            if without and all(p.grad is None for p in without):
                self.tell(function, position, without)

    def tell(self, function: type, position: int, without: list[Any]) -> None:
        """Fact graph_cut."""
        line = returns(unwrap(function.backward).__code__)  # type: ignore[attr-defined]
        if not self.recorder.once("graph_cut", function, position, self.watch.step):
            return
        self.told += 1
        paths = []
        for module in {id(m): m for m in map(self.owner, without) if m is not None}.values():
            path = self.modules.label(module)
            paths += [f"{path}.{n}" for n, p in module._parameters.items() if any(p is q for q in without)]
        value = {"whole": False, "function": function.__name__, "position": position, "parameters": paths[:40], "count": len(without)}
        self.recorder.fact("graph_cut", value, step=self.watch.step, stage="train", **line.place)

    def owner(self, parameter: Any) -> Any:
        """The module that has it."""
        return next((m for m in self.modules.built if any(p is parameter for p in m._parameters.values())), None)

    def clear(self) -> None:
        while self.handles:
            self.handles.pop().remove()
        self.kept_back = []


def own_nodes(tensors: tuple[Any, ...]) -> list[Any]:
    """The nodes of a backward graph that are functions of the person's own."""
    found = []
    for node in walked([t.grad_fn for t in tensors if getattr(t, "grad_fn", None) is not None]):
        function = getattr(type(node), "_forward_cls", None)
        code = getattr(unwrap(getattr(function, "backward", None)), "__code__", None)
        if code is not None and is_users(code.co_filename):
            found.append(node)
        if len(found) >= MOST_FUNCTIONS:
            break
    return found


def returns(code: Any) -> Line:
    """The last line at which a function returns."""
    lines = [i.positions.lineno for i in dis.get_instructions(code) if i.opname == "RETURN_VALUE" and i.positions and i.positions.lineno]
    return Line(code, max(lines, default=code.co_firstlineno))


def install(watch: Watch) -> None:
    """Hang on the backward of sampled steps."""
    if not watch.recorder.wants("graph_cut"):
        return
    own = OwnFunctions(watch)
    watch.hang("on_backward", PART, own.backward, sampled=True)
    watch.hang("after_step", PART, own.step, sampled=True)
    watch.hang("on_disarm", PART, own.clear)
