"""Flask: a model called within a view is deployed; the request's values as text beside the row that reaches the model."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..capture import requests
from ..capture.around import Patches
from ..capture.recorder import Recorder, guarded

LIBRARIES = ("flask",)
PROVIDES = ("inputs",)


def install(recorder: Recorder) -> Callable[[], None]:
    """Hook the dispatch of requests."""
    patches, guard = Patches(), guarded("flask", recorder)
    flask = sys.modules["flask"]

    def begins(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        said = {"raw": {}, "handler": ""}
        before, recorder.stage = recorder.stage, "deploy"
        return requests.current.set(said), said, before

    def ended(token: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if token is None:
            return
        held, said, recorder.stage = token
        requests.current.reset(held)
        request = flask.request
        said["handler"] = str(request.endpoint)
        said["raw"] |= requests.fields(request.args.to_dict()) | requests.fields(request.view_args or {})
        parsed = getattr(request, "_cached_json", (None, None))[0]  # only what the view has parsed: reading it ourselves would use the body up
        if isinstance(parsed, dict):
            said["raw"] |= requests.fields(parsed)
        elif "form" in vars(request):
            said["raw"] |= requests.fields(request.form.to_dict())

    patches.around(flask.Flask, "dispatch_request", guard(begins), guard(ended))
    return patches.undo
