"""Shield: what a second run of a step could change is kept before it and put back after it."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from types import FrameType
from typing import Any

from ..capture.randomness import Streams

MOST_COPIED = 512 << 20  # bytes of parameters that are copied
MOST_OBJECTS = 4000
PLAIN = (list, dict, set, deque)


class Shield:
    """Made before the replay; `restore()` after it. What it cannot keep is told in `refused`."""

    def __init__(self, frame: FrameType, models: list[Any], torch: Any, streams: Streams) -> None:
        self.torch, self.streams = torch, streams
        self.random = streams.snapshot()
        self.cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
        self.generators: list[tuple[Any, Any]] = []
        self.contents: list[tuple[Any, Any]] = []
        self.dicts: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self.values: list[tuple[Any, Any, int]] = []
        self.seen: set[int] = set()
        self.budget = MOST_OBJECTS
        self.copied = 0
        self.keep_models(models)
        for value in list(frame.f_locals.values()):  # a statement may write into the batch
            if isinstance(value, torch.Tensor) and value.grad_fn is None and value.layout == torch.strided:
                self.keep_tensor(value)
        for value in self.reachable(frame):
            self.keep(value, 3)

    def reachable(self, frame: FrameType) -> Iterator[Any]:
        """What the frames of the step can reach: their locals and the globals of the person's module."""
        here: FrameType | None = frame
        for _ in range(4):
            if here is None:
                return
            yield from list(here.f_locals.values())
            here = here.f_back
        yield from (v for k, v in list(frame.f_globals.items()) if not k.startswith("__"))

    def keep(self, value: Any, depth: int) -> None:
        """Random generators, plain containers, and the dictionaries of the person's objects, a few levels deep."""
        self.budget -= 1
        if self.budget < 0 or id(value) in self.seen or isinstance(value, (str, bytes, int, float, type, FrameType)):
            return
        self.seen.add(id(value))
        state = state_of(value, self.torch)
        if state is not None:
            self.generators.append((value, state))
        elif type(value) in PLAIN and len(value) < 100_000:
            self.contents.append((value, value.copy()))
            for part in list(value.values() if isinstance(value, dict) else value)[:50] if depth else ():
                self.keep(part, depth - 1)
        elif depth and isinstance(getattr(value, "__dict__", None), dict) and type(value).__name__ not in ("module", "function", "method"):
            if type(value).__module__.partition(".")[0] in ("torch", "numpy", "pandas") and not isinstance(value, self.torch.nn.Module):
                return
            self.dicts.append((value.__dict__, dict(value.__dict__)))
            for part in list(value.__dict__.values())[:100]:
                self.keep(part, depth - 1)

    def keep_models(self, models: list[Any]) -> None:
        """Buffers by copy; parameters by copy where they are not too large: a forward may write into either."""
        for model in models:
            for tensor in [*model.buffers(), *model.parameters()]:
                self.keep_tensor(tensor)
            for module in model.modules():
                if id(module) not in self.seen:
                    self.seen.add(id(module))
                    self.dicts.append((module.__dict__, dict(module.__dict__)))
                    for value in list(module.__dict__.values()):
                        if type(value) in PLAIN:
                            self.contents.append((value, value.copy()))
                        elif isinstance(value, self.torch.Tensor) and value.grad_fn is None and value.layout == self.torch.strided:
                            self.keep_tensor(value)  # a count that is added to, as metrics keep them
                        elif state_of(value, self.torch) is not None:
                            self.generators.append((value, state_of(value, self.torch)))

    def keep_tensor(self, tensor: Any) -> None:
        """A tensor by copy, as long as there is room."""
        if id(tensor) in self.seen or isinstance(tensor, self.torch.nn.parameter.UninitializedTensorMixin):
            return
        self.seen.add(id(tensor))
        self.copied += tensor.numel() * tensor.element_size()
        copy = tensor.detach().clone() if self.copied < MOST_COPIED and not tensor.is_meta else None
        self.values.append((tensor, copy, tensor._version))

    def restore(self) -> None:
        """Everything as it was."""
        with self.torch.no_grad():
            for tensor, copy, version in self.values:
                if copy is not None and (tensor._version != version or not same(tensor, copy, self.torch)):
                    tensor.data.copy_(copy)  # batch norm writes its moments without a new version; the graph in waiting must not see one
                if tensor._version != version:
                    self.torch._C._autograd._unsafe_set_version_counter((tensor,), (version,))
        for held, kept in self.dicts:
            if held.keys() != kept.keys() or any(held[k] is not kept[k] for k in kept):
                held.clear()
                held.update(kept)
        for container, kept in self.contents:
            refill(container, kept)
        for generator, state in self.generators:
            put_back(generator, state)
        self.streams.restore(self.random)
        if self.cuda is not None:
            self.torch.cuda.set_rng_state_all(self.cuda)


def same(a: Any, b: Any, torch: Any) -> bool:
    """Equal to the last bit, NaN where NaN."""
    a = a.detach()
    return bool(torch.equal(a, b)) or (a.is_floating_point() and bool(((a == b) | (a.isnan() & b.isnan())).all()))


def state_of(value: Any, torch: Any) -> Any:
    """The state of a random generator of NumPy, torch or Python; None for anything else."""
    numpy = sys.modules.get("numpy")
    if isinstance(value, torch.Generator):
        return value.get_state()
    if numpy is not None and isinstance(value, numpy.random.Generator):
        return value.bit_generator.state
    if numpy is not None and isinstance(value, numpy.random.RandomState):
        return value.get_state()
    random = sys.modules.get("random")
    return value.getstate() if random is not None and type(value) is random.Random else None


def put_back(generator: Any, state: Any) -> None:
    if hasattr(generator, "bit_generator"):
        generator.bit_generator.state = state
    elif hasattr(generator, "setstate"):
        generator.setstate(state)
    else:
        generator.set_state(state)


def refill(container: Any, kept: Any) -> None:
    """The content of a plain container as it was, in the same object."""
    same = len(container) == len(kept)
    if same and isinstance(container, dict):
        same = all(k in container and container[k] is v for k, v in kept.items())
    elif same and not isinstance(container, set):
        same = all(a is b for a, b in zip(container, kept))
    elif same:
        same = container == kept
    if same:
        return
    container.clear()
    container.update(kept) if isinstance(container, (dict, set)) else container.extend(kept)
