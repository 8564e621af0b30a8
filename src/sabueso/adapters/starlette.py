"""Starlette: a model called within an endpoint is deployed; the JSON that the endpoint reads is the request."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..capture import requests
from ..capture.around import Patches
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("starlette.routing",)
PROVIDES = ("inputs",)


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook the handling of a route; each request is a task with a context of its own, so what is set ends with it."""
    patches, guard = Patches(), guarded("starlette", recorder)

    def begins(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        requests.current.set(requests.opened(str(getattr(args[0], "name", ""))))

    patches.around(sys.modules["starlette.routing"].Route, "handle", guard(begins), None)
    return patches.undo
