"""Questions whether a column is of dtype object, which columns of text no longer are (pandas 3)."""

from __future__ import annotations

import sys
from typing import Any

from ...capture import authorship, ordering, summarise
from ...capture.around import Patches
from ...capture.calling import caller
from ...capture.origin import absolute, is_users, names_in, user_frame
from ...capture.recorder import Recorder, guarded

KNOWS = ("is_string_dtype", "StringDtype", '"str"', "'str'", '"string"', "'string'")  # the program's author has thought of text dtypes


def install(recorder: Recorder, patches: Patches) -> None:
    """Watch comparisons of the text dtype with object, where text is no longer object."""
    pandas = sys.modules["pandas"]
    if int(pandas.__version__.partition(".")[0]) < 3 or not recorder.wants("text_overlooked"):
        return
    asked = guarded("pandas", recorder)(_asked(recorder))
    patches.around(pandas.StringDtype, "__eq__", after=asked)
    patches.around(pandas.api.types, "is_object_dtype", after=asked)


def _asked(recorder: Recorder) -> Any:
    def asked(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if result is not False or (len(args) > 1 and args[1] is not object and args[1] not in ("object", "O")):
            return
        frame = caller()
        if frame is not None and frame.f_code.co_name == "comp_method_OBJECT_ARRAY":  # a table's dtypes are compared one by one
            frame = user_frame(frame)
        if frame is None or not is_users(frame.f_code.co_filename) or not recorder.once("asked", frame.f_code.co_filename, frame.f_lineno):
            return
        columns: list[str] = []
        beside: list[str] = []
        around = frame.f_back if frame.f_back is not None and is_users(frame.f_back.f_code.co_filename) else frame  # a comprehension's own frame
        for thing in {id(v): v for v in [*names_in(frame).values(), *names_in(around).values(), *list(frame.f_globals.values())]}.values():
            if summarise.library(thing) == "pandas" and summarise.is_frame(thing):
                columns += ordering.text_columns(thing)
                beside += summarise.columns_of(thing)
        if columns and not authorship.mentions(KNOWS):
            told = {"columns": list(dict.fromkeys(columns))[:50], "beside": list(dict.fromkeys(beside))[:200], "version": sys.modules["pandas"].__version__}
            recorder.fact("text_overlooked", told, file=absolute(frame.f_code), line=frame.f_lineno)

    return asked
