"""pandas 3 gives text columns the type `str`: comparisons with `object` that were true for them before and are false now."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..capture.around import Patches
from ..capture.calling import caller
from ..capture.naming import tables_at_hand
from ..capture.origin import is_users, user_line
from ..capture.recorder import Recorder, guarded
from ..capture.summarise import columns_of

LIBRARIES = ("pandas",)
PROVIDES = ("text_type",)
OBJECTS = ("object", "O")
MOST = 40  # lines
ELEMENTWISE = "comp_method_OBJECT_ARRAY"  # pandas compares a table's `dtypes` one by one


class Comparisons:
    """Lines that compare the type of text columns with `object`, and those columns."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder, self.lines = recorder, {}
        recorder.at_exit(self.finish)

    def compared(self, token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """StringDtype.__eq__ returned."""
        other = args[1] if len(args) > 1 else None
        if result is not False or not (other is object or isinstance(other, str) and other in OBJECTS or getattr(other, "kind", "") == "O" and
                                       type(other).__module__.startswith("numpy")):  # fmt: skip
            return
        frame = caller()
        if frame is None:
            return
        if is_users(frame.f_code.co_filename):
            names = _named(frame)
        elif frame.f_code.co_name == ELEMENTWISE:
            names = _of_dtypes(frame)
        else:
            return
        line = user_line()
        if line in self.lines or len(self.lines) < MOST:
            self.lines.setdefault(line, {}).update(dict.fromkeys(names))

    def finish(self) -> None:
        """One fact a line."""
        for (file, line), names in self.lines.items():
            if names:
                self.recorder.fact("text_type", {"columns": list(names)[:60], "pandas": sys.modules["pandas"].__version__}, file=file or "", line=line)


def _named(frame: Any) -> list[str]:
    """The column whose type is compared: a name among the local variables that is a column of a table at hand."""
    known = {c for t in tables_at_hand() for c in columns_of(t)}
    return [v for v in frame.f_locals.values() if isinstance(v, str) and v in known][:3]


def _of_dtypes(frame: Any) -> list[str]:
    """The text columns of the `dtypes` that are compared."""
    while frame is not None and frame.f_code.co_name != "_cmp_method":
        frame = frame.f_back
    owner = frame.f_locals.get("self") if frame is not None else None
    if owner is None or not hasattr(owner, "index"):
        return []
    return [str(name) for name, dtype in zip(owner.index, owner.array) if type(dtype).__name__ == "StringDtype"][:60]


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook the comparison of text types."""
    patches, dtype = Patches(), getattr(sys.modules["pandas"], "StringDtype", None)
    major = str(getattr(sys.modules["pandas"], "__version__", "0")).partition(".")[0]
    if dtype is not None and major.isdigit() and int(major) >= 3 and recorder.wants("text_type"):
        patches.around(dtype, "__eq__", None, guarded("pandas_dtypes", recorder)(Comparisons(recorder).compared))
    return patches.undo
