"""NumPy: which files of arrays are read, and where."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..capture import files
from ..capture.around import Patches
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("numpy",)
PROVIDES = ()


def install(recorder: Recorder) -> Callable[[], None]:
    """Note what `numpy.load` reads."""
    patches, read = Patches(), files.of(recorder)

    @guarded("numpy", recorder)
    def loaded(_: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        read.note(args[0] if args else kwargs.get("file"))

    patches.around(sys.modules["numpy"], "load", None, loaded)
    return patches.undo
