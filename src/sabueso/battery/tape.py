"""Tape: the operations of one forward pass in order, with their tensors, their module and the person's line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..capture.origin import user_line
from ..places import Place

MOST_OPERATIONS = 4_000
SKIPPED = frozenset({
    "__set__", "__delete__", "size", "dim", "numel", "stride", "is_floating_point", "__len__", "__hash__", "__repr__", "is_contiguous", "__bool__",
    "requires_grad_", "register_hook", "__format__", "__contains__", "is_tensor", "ndimension", "element_size", "data_ptr", "backward",
})  # fmt: skip


@dataclass(slots=True)
class Operation:
    """One operation: what went in, what came out, the parameters that its inputs depend on."""

    name: str
    inputs: list[Any]
    outputs: list[Any]
    place: Place
    parameters: frozenset[str]
    grad: bool  # were gradients on
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def output(self) -> Any:
        return self.outputs[0]

    @property
    def cuts(self) -> bool:
        """Did a gradient get lost here? Whole numbers and truth values (argmax, comparisons) are cuts too where something goes on from them."""
        return any(t.requires_grad for t in self.inputs) and not any(t.requires_grad for t in self.outputs)


class Tape:
    """Filled by `taped`. Holds the tensors: read it and let it go."""

    def __init__(self, torch: Any, model: Any) -> None:
        self.torch, self.operations = torch, []
        self.paths = {id(m): n for n, m in model.named_modules()}
        self.stack: list[str] = []
        self.known: dict[int, frozenset[str]] = {id(p): frozenset([n]) for n, p in model.named_parameters()}
        self.models: set[str] = set()

    def note(self, name: str, args: Any, kwargs: dict[str, Any], out: Any) -> None:
        """An operation returned."""
        outputs = tensors(out, self.torch)
        if not outputs or name in SKIPPED or len(self.operations) >= MOST_OPERATIONS:
            return
        inputs = tensors((args, list(kwargs.values())), self.torch)
        upstream = frozenset().union(*(self.known.get(id(t), frozenset()) for t in inputs))
        for t in outputs:
            self.known[id(t)] = upstream | self.known.get(id(t), frozenset())
        file, line = user_line(sys._getframe(2))
        place = Place(file=file, line=line, module=self.stack[-1] if self.stack and self.stack[-1] else None)
        plain = {k: v for k, v in kwargs.items() if isinstance(v, (int, float, bool, str))}
        plain.update({f"_{i}": v for i, v in enumerate(args) if isinstance(v, (int, float, bool))})
        self.operations.append(Operation(name, inputs, outputs, place, upstream, self.torch.is_grad_enabled(), plain))

    def enter(self, module: Any, _: Any) -> None:
        self.stack.append(self.paths.get(id(module), ""))

    def leave(self, module: Any, args: Any, out: Any) -> None:
        """A module returned: where the mode saw nothing of it (recurrent layers), it counts as one operation."""
        outputs = tensors(out, self.torch)
        leaf = not any(True for _ in module.children())
        if leaf and outputs and not any(outputs[0] is t for op in self.operations[-3:] for t in op.outputs):
            self.note(type(module).__name__, [args, list(module.parameters())], {}, out)
        if self.stack:
            self.stack.pop()

    def __iter__(self) -> Iterator[Operation]:
        return iter(self.operations)


@contextmanager
def taped(model: Any) -> Iterator[Tape]:
    """Operations on tensors within the block, those of the model's modules by their path."""
    torch: Any = sys.modules["torch"]
    tape = Tape(torch, model)

    class Mode(torch.overrides.TorchFunctionMode):  # type: ignore[name-defined, misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            tape.note(getattr(func, "__name__", str(func)), args, kwargs or {}, out)
            return out

    hooks = [h for m in model.modules() for h in (m.register_forward_pre_hook(tape.enter), m.register_forward_hook(tape.leave))]
    try:
        with Mode():
            yield tape
    finally:
        for hook in hooks:
            hook.remove()


def tensors(value: Any, torch: Any, depth: int = 4) -> list[Any]:
    """The tensors in nested lists, tuples, dictionaries and output records."""
    if torch.is_tensor(value):
        return [value]
    if depth and isinstance(value, dict):
        return [t for v in value.values() for t in tensors(v, torch, depth - 1)]
    if depth and isinstance(value, (list, tuple)):
        return [t for v in value for t in tensors(v, torch, depth - 1)]
    if depth and hasattr(value, "__dataclass_fields__"):
        return [t for n in value.__dataclass_fields__ for t in tensors(getattr(value, n, None), torch, depth - 1)]
    return []
