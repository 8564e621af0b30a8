"""http.server: a model called within a handler of Python's own server is deployed; what the handler parses of the body is the request."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..capture import requests
from ..capture.around import Patches
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("http.server",)
PROVIDES = ("inputs",)


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook the handling of one request."""
    patches, guard = Patches(), guarded("http_server", recorder)

    def begins(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return requests.current.set(requests.opened(type(args[0]).__name__))

    def ended(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if token is not None:
            requests.current.reset(token)

    patches.around(sys.modules["http.server"].BaseHTTPRequestHandler, "handle_one_request", guard(begins), guard(ended))
    return patches.undo
