"""json: what the person's code stores beside a model, and moments that it reads from a file."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

from ..capture import requests
from ..capture.around import Patches
from ..capture.calling import direct
from ..capture.numbering import renumbered
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("json",)
PROVIDES = ("label_codes", "moments", "scale_foreign")
MOST = 500  # calls looked at


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook dump and dumps."""
    patches, guard, json = Patches(), guarded("json", recorder), sys.modules["json"]
    calls = [0, 0]

    def dumped(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        calls[0] += 1
        if calls[0] > MOST or not args or not isinstance(args[0], (dict, list)) or not direct():
            return
        found = renumbered(args[0])
        if found is not None:
            recorder.fact("label_codes", {**found, "how": "stored"}, stage="deploy")

    def loaded(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        calls[1] += 1
        if requests.current.get() is not None and isinstance(result, dict):
            requests.parsed(result)
        elif calls[1] <= MOST and isinstance(result, dict) and direct():
            # NumPy is loaded by then or has no part in the program: moments of columns without it are no business of ours
            if "numpy" in sys.modules:
                importlib.import_module("sabueso.capture.moments").keep(recorder, result)
                importlib.import_module("sabueso.capture.stored_scales").of(recorder).keep(result)

    if recorder.wants("moments", "inputs"):
        patches.around(json, "load", None, guard(loaded))
        patches.around(json, "loads", None, guard(loaded))
    if recorder.wants("label_codes"):
        patches.around(json, "dump", guard(dumped), None)
        patches.around(json, "dumps", guard(dumped), None)
    return patches.undo
