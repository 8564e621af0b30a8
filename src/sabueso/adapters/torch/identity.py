"""ByIdentity: values kept for objects by what they are, not by what they equal; an entry goes when its object does."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any


class ByIdentity:
    """A weak dictionary that never calls the keys' own __hash__ and __eq__ (modules of other libraries have them, and they may fail)."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[Any, Any]] = {}

    def __setitem__(self, key: Any, value: Any) -> None:
        number = id(key)
        held = self._held
        held[number] = (weakref.ref(key, lambda gone: held.pop(number, None) if held.get(number, (None,))[0] is gone else None), value)

    def get(self, key: Any, default: Any = None) -> Any:
        entry = self._held.get(id(key))
        return entry[1] if entry is not None and entry[0]() is key else default

    def setdefault(self, key: Any, default: Any) -> Any:
        """The value of a key, set to `default` where it has none."""
        known = self.get(key, self)
        if known is self:
            self[key] = known = default
        return known

    def add(self, key: Any) -> None:
        """As a set."""
        self[key] = True

    def __contains__(self, key: Any) -> bool:
        return self.get(key, self) is not self

    def __iter__(self) -> Iterator[Any]:
        for reference, _ in list(self._held.values()):
            key = reference()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return len(self._held)
