"""Names of parameters: the dotted path in the model that holds a tensor, or what the person calls it."""

from __future__ import annotations

from typing import Any

from .lines import held_in, named
from .watch import Watch

MOST_MODULES = 400  # built modules that are searched for the owner of a tensor


class Names(dict[int, tuple[str | None, str]]):
    """By id of the tensor: (path of its module, its own path). `classes` gives the class of that module."""

    def __init__(self) -> None:
        super().__init__()
        self.classes: dict[int, str] = {}

    def take(self, root: Any, label: str | None = None) -> None:
        """Name all parameters of a tree; the first name of a shared one stands."""
        for path, module in root.named_modules():
            for name, tensor in module._parameters.items():
                if tensor is not None and id(tensor) not in self:
                    own = f"{path}.{name}" if path else name
                    self[id(tensor)] = (path or label, own)
                    self.classes[id(tensor)] = type(module).__name__


def parameter_names(watch: Watch, held: Any) -> Names:
    """Names of what an optimizer holds."""
    names, wanted = Names(), {id(p) for p in held.parameters}
    modules = watch.parts.get("modules")
    if modules is not None:
        roots = sorted(modules.roots.values(), key=lambda r: -len(r.paths))
        for root in roots:
            if (module := root.ref()) is not None:
                names.take(module, modules.label(module))
        if not wanted <= names.keys():
            for module in list(modules.built)[-MOST_MODULES:]:
                if any(id(p) in wanted and id(p) not in names for p in module._parameters.values()):
                    names.take(module, modules.label(module))
    for tensor in held.parameters if not wanted <= names.keys() else ():
        if id(tensor) not in names and (name := named(tensor)):
            names[id(tensor)] = (None, name)
        elif id(tensor) not in names and (held_at := held_in(tensor)):
            names[id(tensor)] = (None, held_at)
    return names
