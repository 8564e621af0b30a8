"""NumPy: which files of arrays are read, and where; moments of columns that they hold; small integers that are stored
or subtracted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..capture import files, moments, unsigned, wrapped
from ..capture.around import Patches
from ..capture.calling import direct
from ..capture.recorder import Recorder, guarded
from ..capture.storing import name_of

LIBRARIES = ("numpy",)
PROVIDES = ("moments", "integers_wrapped", "unsigned_difference")
MOST = 60  # arrays of a file


def install(recorder: Recorder) -> Callable[[], None]:
    """Note what `numpy.load` reads."""
    patches, read = Patches(), files.of(recorder)

    @guarded("numpy", recorder)
    def loaded(_: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        read.note(args[0] if args else kwargs.get("file"))
        names = getattr(result, "files", None)
        if recorder.wants("moments") and isinstance(names, list) and len(names) < MOST and direct():
            path = name_of(args[0] if args else kwargs.get("file"))
            if path:
                moments.keep_arrays(recorder, path, names)

    @guarded("numpy", recorder)
    def saves(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        wrapped.look(recorder, {**{f"arr_{i}": x for i, x in enumerate(args[1:])}, **kwargs})

    if recorder.wants("unsigned_difference"):
        unsigned.Unsigned(recorder)
    patches.around(sys.modules["numpy"], "load", None, loaded)
    for name in ("save", "savez", "savez_compressed") if recorder.wants("integers_wrapped") else ():
        patches.around(sys.modules["numpy"], name, saves)
    return patches.undo
