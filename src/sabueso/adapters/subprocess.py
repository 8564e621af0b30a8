"""subprocess: a process of the person's that failed, and why it says so."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

from ..capture.around import Patches
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("subprocess",)
PROVIDES = ("process_failed",)
MISSING = re.compile(r"(?:ModuleNotFoundError|ImportError): No module named '([^']+)'|Can't get attribute '([^']+)' on <module '([^']+)'")


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook the end of a process whose output was caught."""
    patches, guard = Patches(), guarded("subprocess", recorder)

    def ended(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        process = args[0]
        if not process.returncode or not isinstance(result, tuple):
            return
        said = "".join(t.decode(errors="replace") if isinstance(t, bytes) else t for t in result if t)[-4000:]
        found = MISSING.findall(said)
        missing = (found[-1][0] or found[-1][2]) if found else None
        recorder.fact("process_failed", {"command": [str(a) for a in process.args][:8] if isinstance(process.args, (list, tuple)) else str(process.args)[:300],
                                         "status": process.returncode, "missing": missing, "attribute": found[-1][1] if found else None,
                                         "last": said.strip().splitlines()[-3:]}, stage="deploy")  # fmt: skip

    if recorder.wants("process_failed"):
        patches.around(sys.modules["subprocess"].Popen, "communicate", None, guard(ended))
    return patches.undo
