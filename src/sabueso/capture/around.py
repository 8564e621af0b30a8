"""Around: a function with something before and after it, without a frame of ours between the caller and the function.

`before(args, kwargs)` runs first and may return a token; `after(token, result, args, kwargs)` runs when the function returned. Neither can
change the call: their errors must be kept by `guarded`. When the native module is there the call adds no Python frame, so tracebacks and
the line of a warning are what they were; the fall-back adds one, which `traces.strip` takes out of what is printed.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

try:
    from .._native import Around as _Around  # type: ignore[import-not-found]
except ImportError:

    class _Around:  # type: ignore[no-redef]
        """The fall-back in Python; see the module."""

        def __init__(self, function: Callable[..., Any], before: Callable[..., Any] | None, after: Callable[..., Any] | None) -> None:
            self.__wrapped__, self._before, self._after = function, before, after
            functools.update_wrapper(self, function)

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            token = self._before(args, kwargs) if self._before is not None else None
            result = self.__wrapped__(*args, **kwargs)
            if self._after is not None:
                self._after(token, result, args, kwargs)
            return result

        def __get__(self, instance: object, owner: type | None = None) -> Any:
            return self if instance is None else types.MethodType(self, instance)

        def __reduce__(self) -> Any:
            return _itself, (self.__wrapped__,)


def _itself(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a pickled Around becomes: the plain function, so that nothing of ours travels to another process."""
    return function


Around = _Around


class Patches:
    """Attributes replaced by an adapter, and their undo."""

    def __init__(self) -> None:
        self._undo: list[tuple[Any, str, Any, bool]] = []

    def around(self, owner: Any, name: str, before: Callable[..., Any] | None = None, after: Callable[..., Any] | None = None) -> None:
        """Put `before` and `after` round `owner.name`; nothing if there is no such attribute or it is ours already."""
        own = name in vars(owner) if hasattr(owner, "__dict__") else False
        held = vars(owner).get(name) if own else getattr(owner, name, None)
        kind = type(held) if isinstance(held, (staticmethod, classmethod)) else None
        function = held.__func__ if kind else held
        if function is None or isinstance(function, Around) or not callable(function):
            return
        wrapped = Around(function, before, after)
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
