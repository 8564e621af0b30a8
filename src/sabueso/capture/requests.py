"""The request that a web handler is answering: which handler, and the values as they came."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

MOST_FIELDS = 60

# what is set here is seen by the handler and by threads that it is handed to, and by no other request
current: ContextVar[dict[str, Any] | None] = ContextVar("sabueso_request", default=None)


def opened(handler: str) -> dict[str, Any]:
    """A request of which nothing is known yet: the first JSON that is parsed meanwhile is its body."""
    return {"raw": {}, "handler": handler, "open": True}


def parsed(values: dict[str, Any]) -> None:
    """JSON was read: by the handler of an open request?"""
    request = current.get()
    if request is not None and request.get("open") and not request["raw"]:
        request["raw"] |= fields(values)


def fields(values: Any) -> dict[str, Any]:
    """Named plain values of a request, one level of nesting taken out; lists and objects are left out."""
    found: dict[str, Any] = {}
    if hasattr(values, "model_dump"):
        values = vars(values)
    if not isinstance(values, dict):
        return found
    for name, value in list(values.items())[:MOST_FIELDS]:
        if isinstance(value, (str, int, float, bool)) or value is None:
            found[str(name)] = value
        elif isinstance(value, dict) or hasattr(value, "model_dump"):
            found |= fields(value)
    return found
