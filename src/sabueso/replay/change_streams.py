"""Changes of where random numbers come from: a seed that is set at one line again and again, a sampler that is never told the epoch."""

from __future__ import annotations

import random
from typing import Any


def another(change: Any, seed: Any) -> Any:
    """A seed of its own for each call, made of the one that was given."""
    if isinstance(seed, bool) or not isinstance(seed, (int, tuple, list)) and not hasattr(seed, "__index__"):
        return seed
    change.applied()
    return (*seed, change.count) if isinstance(seed, (tuple, list)) else int(seed) + change.count


def varied(change: Any, owner: Any, names: tuple[str, ...]) -> None:
    """Functions that seed give another seed at each call from the line of the finding."""

    def make(call: Any) -> Any:
        return lambda *args, **kwargs: call(*([another(change, args[0]), *args[1:]] if args and change.here() else args), **kwargs)

    for name in names:
        setattr(owner, name, make(getattr(owner, name)))


def varied_class(change: Any, base: Any, method: str) -> Any:
    """A class in the place of `base`, whose instances count as its own, that takes another seed where that method is given one."""

    class Alike(type(base)):  # type: ignore[misc]
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, base)

    def seeded(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(base, method)(self, *([another(change, args[0]), *args[1:]] if args and change.here() else args), **kwargs)

    return Alike(base.__name__, (base,), {method: seeded})


def of_python(change: Any) -> None:
    varied(change, random, ("seed",))
    random.Random = varied_class(change, random.Random, "__init__")  # type: ignore[misc]


def of_numpy(change: Any, numpy: Any) -> None:
    varied(change, numpy.random, ("seed", "default_rng"))
    numpy.random.RandomState = varied_class(change, numpy.random.RandomState, "__init__")


def of_torch(change: Any, torch: Any) -> None:
    """torch's own generator, and those that are made from now on."""
    varied(change, torch, ("manual_seed",))
    torch.Generator = varied_class(change, torch.Generator, "manual_seed")


def told_the_epoch(change: Any, torch: Any) -> None:
    """Samplers that shuffle by the epoch are told which one begins."""
    loader = torch.utils.data.DataLoader
    begin, epochs = loader.__iter__, {}

    def iterate(self: Any) -> Any:
        sampler = next((s for s in (self.sampler, self.batch_sampler) if hasattr(s, "set_epoch")), None)
        if sampler is not None:
            epochs[id(self)] = epochs.get(id(self), -1) + 1
            sampler.set_epoch(epochs[id(self)])
            change.applied()
        return begin(self)

    loader.__iter__ = iterate
