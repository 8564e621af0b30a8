"""The settings of the Transformers Trainer: the person's lines that give them, since the Trainer builds optimizer and loop of them elsewhere."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any

from ..capture.around import Patches
from ..capture.operands import at_instruction
from ..capture.origin import user_frame
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("transformers.training_args",)
PROVIDES: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """Settings (kept, so that their id stays theirs), the code and line that made them, and the line of each keyword there."""

    settings: Any
    code: CodeType
    line: int
    keywords: dict[str, int]


def install(recorder: Recorder) -> Callable[[], None]:
    """Note where TrainingArguments are made; found as `recorder.shared["settings"]`."""
    patches = Patches()
    known: dict[int, Given] = recorder.shared.setdefault("settings", {})

    def made(_: Any, __: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        frame = user_frame()
        if frame is None:
            return
        call = at_instruction(frame, frame.f_lasti)
        keywords = {k.arg: k.value.lineno for k in call.keywords if k.arg} if isinstance(call, ast.Call) else {}
        known[id(args[0])] = Given(args[0], frame.f_code, frame.f_lineno, keywords)

    arguments = getattr(sys.modules["transformers.training_args"], "TrainingArguments", None)
    if arguments is not None:
        patches.around(arguments, "__post_init__", None, guarded("transformers", recorder)(made))
    return patches.undo
