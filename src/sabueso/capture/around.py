"""Around: a function with something before and after it, without a frame of ours between the caller and the function.

`before(args, kwargs)` runs first and may return a token; `after(token, result, args, kwargs)` runs when the function returned. Neither can
change the call: their errors must be kept by `guarded`. When the native module is there the call adds no Python frame, so tracebacks and
the line of a warning are what they were; the fall-back adds one, which `traces.strip` takes out of what is printed.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any


class PlainAround:
    """The fall-back in Python; see the module. All that is asked of it, but for the above, is answered by the function."""

    __slots__ = ("_function", "_before", "_after", "__weakref__")

    def __init__(self, function: Callable[..., Any], before: Callable[..., Any] | None = None, after: Callable[..., Any] | None = None) -> None:
        for name, value in (("_function", function), ("_before", before), ("_after", after)):
            object.__setattr__(self, name, value)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        function, before, after = (object.__getattribute__(self, n) for n in ("_function", "_before", "_after"))
        token = _dropping(before, args, dict(kwargs)) if before is not None else None
        result = function(*args, **kwargs)
        if after is not None:
            _dropping(after, token, result, args, kwargs)
        return result

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        binds = hasattr(type(object.__getattribute__(self, "_function")), "__get__")
        return self if instance is None or not binds else types.MethodType(self, instance)

    def __getattribute__(self, name: str) -> Any:
        function = object.__getattribute__(self, "_function")
        if name == "__wrapped__":
            return function
        return object.__getattribute__(self, name) if name in ("__reduce__", "__reduce_ex__", "__get__", "__call__") else getattr(function, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__wrapped__, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__wrapped__, name)

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __eq__(self, other: object) -> bool:
        return bool(self.__wrapped__ == (other.__wrapped__ if type(other) is PlainAround else other))

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce__(self) -> Any:
        """By name where the name leads here, as functions are pickled; else the function itself travels."""
        home = sys.modules.get(getattr(self, "__module__", None) or "")
        name = getattr(self, "__qualname__", "")
        return name if getattr(home, name, None) is self else (_itself, (self.__wrapped__,))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()


def _dropping(hook: Callable[..., Any], *args: Any) -> Any:
    try:
        return hook(*args)
    except Exception:  # kept in the run by `guarded`; never the program's
        return None


def _itself(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a pickled Around becomes: the plain function, so that nothing of ours travels to another process."""
    return function


try:
    from .._native import Around
except ImportError:
    Around = PlainAround  # type: ignore[assignment, misc]


class Patches:
    """Attributes replaced by an adapter, and their undo."""

    def __init__(self) -> None:
        self._undo: list[tuple[Any, str, Any, bool]] = []
        self._made: list[Any] = []

    def around(self, owner: Any, name: str, before: Callable[..., Any] | None = None, after: Callable[..., Any] | None = None, again: bool = False) -> None:
        """Put `before` and `after` round `owner.name`; nothing if there is no such attribute or these patches have it already.

        What another adapter put there stays within: several may watch one function. `again`: so may several parts of one adapter, of what is
        the owner's own.
        """
        own = name in vars(owner) if hasattr(owner, "__dict__") else False
        held = vars(owner).get(name) if own else getattr(owner, name, None)
        kind = type(held) if isinstance(held, (staticmethod, classmethod)) else None
        function = held.__func__ if kind else held
        if function is None or not (again and own) and any(function is m for m in self._made) or isinstance(function, type) or not callable(function):
            return
        wrapped = Around(function, before, after)
        self._made.append(wrapped)
        self.put(owner, name, kind(wrapped) if kind else wrapped)

    def put(self, owner: Any, name: str, value: Any) -> None:
        """Replace an attribute; the undo restores it, or deletes it where it was inherited."""
        own = name in getattr(owner, "__dict__", {})
        self._undo.append((owner, name, vars(owner)[name] if own else None, own))
        setattr(owner, name, value)

    def undo(self) -> None:
        """Put back all that was replaced, last first."""
        while self._undo:
            owner, name, value, own = self._undo.pop()
            if own:
                setattr(owner, name, value)
            else:
                delattr(owner, name)
        self._made.clear()
