"""Parameters that a model holds in plain lists, dictionaries and objects of its own, where `parameters()` does not see them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn

MOST_PARTS = 200


def outside(root: Any) -> dict[int, tuple[str, Any]]:
    """(path, the part of the list that holds it) by identity of the parameter."""
    found: dict[int, tuple[str, Any]] = {}
    for path, module in list(root.named_modules())[:MOST_PARTS]:
        for name, value in list(vars(module).items()):
            if name not in ("_parameters", "_modules", "_buffers"):
                for own, part in parts(value):
                    for inner, p in named(part):
                        found.setdefault(id(p), (".".join(n for n in (path, name, own, inner) if n), part))
    return found


def parts(value: Any) -> Iterator[tuple[str, Any]]:
    """(name, part) of a container; (empty name, value) of anything else."""
    if isinstance(value, dict):
        yield from ((str(k), v) for k, v in list(value.items())[:MOST_PARTS])
    elif isinstance(value, (list, tuple)):
        yield from ((str(i), v) for i, v in enumerate(value[:MOST_PARTS]))
    else:
        yield "", value


def named(part: Any) -> Iterator[tuple[str, Any]]:
    """Parameters of a module, or one parameter."""
    if isinstance(part, nn.Module):
        yield from part.named_parameters()
    elif isinstance(part, nn.Parameter):
        yield "", part
