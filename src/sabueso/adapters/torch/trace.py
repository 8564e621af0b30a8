"""Trace: which operation made which tensor, from what, in which module and on which line, within one sampled step.

Kept are small records, never a tensor: a record knows its tensor by a weak reference. Reading starts at the loss: `Trace.of(loss)` and its
ancestors say what leads to it.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import torch

from .lines import Line, here
from .watch import Watch

MOST_OPERATIONS = 20_000  # in one sampled step; a longer one is seen up to here
SKIPPED = frozenset({"__get__", "__set__", "__delete__", "size", "dim", "numel", "stride", "is_floating_point", "__len__", "__hash__", "__repr__",
                     "is_contiguous", "storage_offset", "is_complex", "requires_grad_", "register_hook", "__format__", "__bool__", "__contains__",
                     "is_tensor", "ndimension", "element_size", "data_ptr", "is_pinned", "register_post_accumulate_grad_hook"})  # fmt: skip


LEAVES = frozenset({"numpy", "tolist", "array"})
SINGLE = frozenset({"item", "__float__", "__int__", "__bool__"})
RETURNS = frozenset({"tensor", "as_tensor", "from_numpy", "asarray", "Tensor", "FloatTensor"})
# what gives back the very tensor that it was given where nothing is to be converted
CONVERTS = frozenset({"to", "type", "type_as", "float", "double", "half", "bfloat16", "long", "int", "bool", "cpu", "cuda", "contiguous", "as_tensor",
                      "asarray"})  # fmt: skip


class Made:
    """One tensor's making."""

    __slots__ = ("op", "parents", "shape", "dtype", "line", "module", "grad", "lost", "cut", "ref", "dim", "number", "name", "extra", "no_grad")

    def __init__(self, op: str, parents: tuple[Made, ...], tensor: Any, line: Line | None, module: Any, number: int) -> None:
        self.op, self.parents, self.line, self.module, self.number = op, parents, line, module, number
        self.shape, self.dtype, self.grad = tuple(tensor.shape), tensor.dtype, tensor.requires_grad
        self.ref = weakref.ref(tensor)
        self.dim: Any = None
        self.name: str | None = None
        self.extra: Any = None
        self.no_grad: Any = not torch.is_grad_enabled()
        self.lost = not self.grad and any(p.grad or p.lost for p in parents)  # a gradient would have gone on to a parameter, but for this
        self.cut = self if self.lost and not any(p.lost for p in parents) else next((p.cut for p in parents if p.lost), None) if self.lost else None

    def ancestors(self, most: int = MOST_OPERATIONS) -> Iterator[Made]:
        """This record and all from which it was made, nearest first."""
        seen, queue = {id(self)}, [self]
        for made in queue:
            yield made
            for parent in made.parents:
                if id(parent) not in seen and len(seen) < most:
                    seen.add(id(parent))
                    queue.append(parent)


class Keyed(tuple[Any, ...]):
    """The arguments of a call of which some were given by name: those, tensors alone and but for the labels, after those given by place."""

    @classmethod
    def of(cls, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """As they are where nothing was given by name. Labels, which the models of Transformers are given too, are no input."""
        named = [v for k, v in kwargs.items() if tensors_in(v) and not k.startswith("label")]
        return cls((*args, *named)) if named else args


class Trace:
    """The records of the step in progress."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.open = False
        self.made: dict[int, Made] = {}
        self.stack: list[Any] = []  # modules being called, outermost first
        self.count = 0
        self.order: list[Made] = []
        self.left: list[tuple[Made, Any]] = []  # tensors that left torch as an array or a list, with a few of their values
        self.exits: list[tuple[Made, Line | None]] = []  # all that left torch, with the line, single numbers too
        self.no_grad_line: Line | None = None  # where gradients were last turned off in this step

    def clear(self) -> None:
        """Forget the step."""
        self.made, self.order, self.left, self.exits, self.count = {}, [], [], [], 0
        self.stack.clear()

    # ---- modules

    def enter(self, module: Any, args: tuple[Any, ...]) -> None:
        """Global forward pre-hook."""
        if self.open:
            if not self.stack:
                self.watch.tell("on_root", module, args)
            self.stack.append(module)

    def leave(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """Global forward hook."""
        if not self.open or module not in self.stack:
            return
        args = Keyed.of(args, kwargs)
        while self.stack and self.stack.pop() is not module:
            pass
        for tensor in tensors_in(result):
            if self.of(tensor) is None:
                self.put(type(module).__name__, tensors_in(args), tensor, module)
        self.watch.tell("on_module", module, args, result)
        if not self.stack:
            if torch.is_grad_enabled() and not self.watch.evaluating:
                self.watch.tell("on_forward", module, args, result)
            else:
                self.watch.tell("on_evaluation", module, args, result)

    # ---- operations

    def see(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """One operation on tensors."""
        name = getattr(func, "__name__", "")
        if name == "__get__":
            name = getattr(getattr(func, "__self__", None), "__name__", "")
            if name not in ("data", "T", "mT", "H", "real"):
                return
        elif name in SKIPPED:
            return
        self.count += 1
        if self.count > MOST_OPERATIONS:
            self.open = False
            return
        name = name.strip("_") or name
        if name in ("backward", "zero"):
            return
        sources = tensors_in(args)
        if kwargs:
            sources += tensors_in(list(kwargs.values()))
        if name.endswith("_as"):  # the second operand lends its shape only
            sources = sources[:1]
        elif name.endswith("_like") or name.startswith("new_"):
            sources = []
        outputs = tensors_in(result)
        if name in LEAVES and sources:
            self.leaves(sources[0])
            self.exit(sources[0])
        elif getattr(func, "__name__", "") in SINGLE and sources:
            self.exit(sources[0])
        elif name in RETURNS and not sources and outputs and self.left:
            sources = self.returned(outputs[0])
        for tensor in outputs:
            if name in CONVERTS and self.unconverted(tensor, sources):
                continue
            made = self.put(name, sources, tensor, self.stack[-1] if self.stack else None)
            made.dim = kwargs.get("dim", args[1] if len(args) > 1 and isinstance(args[1], int) else None)
            if name == "einsum" and isinstance(args[0], str):
                made.extra = args[0]
        self.watch.tell("on_operation", name, func, args, kwargs, result, outputs)

    def unconverted(self, tensor: Any, sources: list[Any]) -> bool:
        """Is it a tensor with a record, or a parameter, that a conversion gave back as it was? Then it was not made here."""
        if not sources or tensor is not sources[0]:
            return False
        return self.of(tensor) is not None or isinstance(tensor, torch.nn.Parameter)

    def put(self, op: str, sources: list[Any], tensor: Any, module: Any) -> Made:
        """Record how a tensor was made."""
        parents = tuple(s if isinstance(s, Made) else self.of(s) or self.leaf(s) for s in sources)
        made = Made(op, parents, tensor, here(2), module, self.count)
        if made.no_grad and made.cut is made:
            made.no_grad = self.no_grad_line or True
        self.made[id(tensor)] = made
        self.order.append(made)
        return made

    def leaves(self, tensor: Any) -> None:
        """A tensor leaves torch: it is known again by its values."""
        made = self.of(tensor)
        if made is not None and (made.grad or made.lost) and len(self.left) < 32 and is_plain(tensor) and tensor.numel() > 1:
            self.left.append((made, few(tensor)))

    def exit(self, tensor: Any) -> None:
        """Its numbers go where no gradient follows."""
        made = self.of(tensor)
        if made is not None and (made.grad or made.lost) and len(self.exits) < 64:
            self.exits.append((made, here(2)))

    def returned(self, tensor: Any) -> list[Any]:
        """What a tensor made of an array or a list was before, if it left torch in this step."""
        if not is_plain(tensor) or tensor.numel() < 2:
            return []
        values = few(tensor)
        return [made for made, was in self.left if was == values][-1:]

    def leaf(self, tensor: Any) -> Made:
        """A tensor that no seen operation made: a parameter, data, a constant."""
        made = Made("parameter" if isinstance(tensor, torch.nn.Parameter) else "leaf", (), tensor, None, None, self.count)
        self.made[id(tensor)] = made
        return made

    def of(self, tensor: Any) -> Made | None:
        """The record of a tensor in this step."""
        made = self.made.get(id(tensor))
        return made if made is not None and made.ref() is tensor else None


def few(tensor: Any) -> tuple[int, list[float]]:
    """The number of elements and some of them, to know the same values again."""
    flat = tensor.detach().reshape(-1)
    return flat.numel(), flat[:: max(1, flat.numel() // 64)][:64].to(torch.float32).tolist()


def tensors_in(value: Any, depth: int = 3) -> list[Any]:
    """The tensors of a result or of arguments, lists and tuples and dictionaries included."""
    if torch.is_tensor(value):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if depth and isinstance(value, (list, tuple)):
        return [t for v in value[:200] for t in tensors_in(v, depth - 1)]
    return []


def is_plain(tensor: Any) -> bool:
    """Can its values be read at no cost: on the CPU, dense, no wrapper of functorch and no fake?"""
    return (
        tensor.device.type == "cpu"
        and tensor.layout == torch.strided
        and type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and not torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    )
