"""joblib: what is dumped, and what is loaded again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..capture.around import Patches
from ..capture.calling import direct
from ..capture.recorder import Recorder, guarded
from ..capture.storing import Stored, name_of

LIBRARIES = ("joblib",)
PROVIDES = ("stored",)


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook dump and load."""
    patches, guard, stored = Patches(), guarded("joblib", recorder), Stored.of(recorder)

    def dumped(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if direct():
            path = name_of(args[1] if len(args) > 1 else kwargs.get("filename"))
            stored.dumped(args[0] if args else kwargs.get("value"), path, path)

    def loaded(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if direct():
            path = name_of(args[0] if args else kwargs.get("filename"))
            stored.loaded(result, path, path)

    patches.around(sys.modules["joblib"], "dump", None, guard(dumped))
    patches.around(sys.modules["joblib"], "load", None, guard(loaded))
    return patches.undo
