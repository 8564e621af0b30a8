"""pandas' factorize: labels numbered in order of appearance, anew at each call."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any

from ..capture.around import Patches
from ..capture.calling import direct
from ..capture.origin import user_line
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("pandas",)
PROVIDES = ("label_codes",)
MOST = 200  # classes


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook the function and the method."""
    patches, guard, pandas = Patches(), guarded("factorized", recorder), sys.modules["pandas"]
    count = [1_000_000]  # numbers of their own, apart from those of estimators

    def numbered(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        flow = recorder.shared.get("flow")
        if flow is None or not direct() or not isinstance(result, tuple) or len(result) != 2 or len(result[1]) > MOST:
            return
        codes, names = result
        count[0] += 1
        file, line = user_line()
        flow.coded(weakref.ref(codes), codes, count[0], "factorize", file, line, [str(n) for n in names])

    if recorder.wants("label_codes"):
        patches.around(pandas, "factorize", None, guard(numbered))
        patches.around(pandas.Series, "factorize", None, guard(numbered))
    return patches.undo
