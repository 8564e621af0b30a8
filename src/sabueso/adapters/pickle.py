"""pickle: what the person's code dumps, and what it loads again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..capture.around import Patches
from ..capture.calling import direct
from ..capture.recorder import Recorder, guarded
from ..capture.storing import Stored, name_of

LIBRARIES = ("pickle",)
PROVIDES = ("stored",)
MOST = 50_000_000  # bytes of a pickle that are told apart by their hash


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook dump, dumps, load and loads; calls within libraries (process pools, caches) are not looked at."""
    patches, guard, pickle = Patches(), guarded("pickle", recorder), sys.modules["pickle"]

    def dumped(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if direct() and len(args) > 1:
            path = name_of(args[1])
            Stored.of(recorder).dumped(args[0], path, path)

    def dumped_text(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if direct() and isinstance(result, bytes) and len(result) < MOST:
            Stored.of(recorder).dumped(args[0], hash(result), "")

    def loaded(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if direct():
            path = name_of(args[0])
            Stored.of(recorder).loaded(result, path, path)

    def loaded_text(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if direct() and isinstance(args[0], bytes) and len(args[0]) < MOST:
            Stored.of(recorder).loaded(result, hash(args[0]), "bytes")

    for name, hook in (("dump", dumped), ("dumps", dumped_text), ("load", loaded), ("loads", loaded_text)):
        patches.around(pickle, name, None, guard(hook))
    return patches.undo
