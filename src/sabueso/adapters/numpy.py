"""NumPy: which files of arrays are read, and where; moments of columns that they hold."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..capture import files, moments
from ..capture.around import Patches
from ..capture.calling import direct
from ..capture.recorder import Recorder, guarded
from ..capture.storing import name_of

LIBRARIES = ("numpy",)
PROVIDES = ("moments",)
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

    patches.around(sys.modules["numpy"], "load", None, loaded)
    return patches.undo
