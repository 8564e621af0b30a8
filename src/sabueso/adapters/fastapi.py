"""FastAPI: a model called within an endpoint is deployed; the request's values as they were validated."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..capture import requests
from ..capture.around import Patches
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("fastapi.routing",)
PROVIDES = ("inputs",)


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook the call of endpoints; each runs in a context of its own, so what is set ends with it."""
    patches, guard = Patches(), guarded("fastapi", recorder)

    def begins(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        handler = getattr(getattr(kwargs.get("dependant"), "call", None), "__name__", "")
        requests.current.set({"raw": requests.fields(kwargs.get("values")), "handler": handler})

    patches.around(sys.modules["fastapi.routing"], "run_endpoint_function", guard(begins), None)
    return patches.undo
