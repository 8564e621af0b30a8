"""A tracking server of MLflow, read over its REST interface with nothing but the standard library; nothing is written to it.

Who asks is taken from what MLflow's own client reads: MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and _PASSWORD, or the address itself.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.parse import unquote, urlencode, urlparse
from urllib.request import HTTPRedirectHandler, Request, build_opener

from ..errors import UsageError

PATIENCE = 30  # seconds for one answer
MOST_EXPERIMENTS, EACH, MOST_PAGES = 1000, 25_000, 400


def runs(uri: str, most: int, only: str | None) -> Iterator[dict[str, Any]]:
    """The newest runs, or the one of that id, as the server tells them. Raises UsageError."""
    if only:
        yield _asked(uri, "runs/get", {"run_id": only})["run"]
        return
    experiments = _asked(uri, "experiments/search", post={"max_results": MOST_EXPERIMENTS}).get("experiments") or []
    if experiments:
        post = {"experiment_ids": [e["experiment_id"] for e in experiments], "max_results": most, "order_by": ["attributes.start_time DESC"]}
        yield from _asked(uri, "runs/search", post=post).get("runs") or []


def history(uri: str, run: str, key: str) -> Iterator[tuple[int, float]]:
    """Every (step, value) of one metric, page by page."""
    page: dict[str, str] = {}
    for _ in range(MOST_PAGES):
        told = _asked(uri, "metrics/get-history", {"run_id": run, "metric_key": key, "max_results": str(EACH), **page})
        yield from ((int(m.get("step") or 0), float(m["value"])) for m in told.get("metrics") or [])  # NaN comes as a text
        if not told.get("next_page_token"):
            return
        page = {"page_token": told["next_page_token"]}


def _asked(uri: str, what: str, query: dict[str, str] | None = None, post: dict[str, Any] | None = None) -> dict[str, Any]:
    """One answer of the server."""
    parts = urlparse(uri)
    base = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
    address = f"{base}/api/2.0/mlflow/{what}" + (f"?{urlencode(query)}" if query else "")
    body = json.dumps(post).encode() if post is not None else None
    try:
        with build_opener(Straight).open(Request(address, body, {"content-type": "application/json", **_who(parts)}), timeout=PATIENCE) as answer:
            told = json.load(answer)
    except HTTPError as error:
        hint = "; set MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD" if error.code in (401, 403) else ""
        raise UsageError(f"{base} answers {what} with {error.code} {error.reason}{hint}") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"{base} is no tracking server of MLflow that answers ({getattr(error, 'reason', error)})") from error
    if not isinstance(told, dict):
        raise UsageError(f"{base} is no tracking server of MLflow: {what} is answered with {type(told).__name__}")
    return told


class Straight(HTTPRedirectHandler):
    """A server that sends us elsewhere is not followed: what says who asks is for it alone."""

    def redirect_request(self, *_: Any) -> None:
        """None: the answer is told as it is."""
        return None


def _who(parts: Any) -> dict[str, str]:
    """The header by which the server knows who asks."""
    if token := os.environ.get("MLFLOW_TRACKING_TOKEN"):
        return {"authorization": f"Bearer {token}"}
    name = os.environ.get("MLFLOW_TRACKING_USERNAME") or unquote(parts.username or "")
    word = os.environ.get("MLFLOW_TRACKING_PASSWORD") or unquote(parts.password or "")
    return {"authorization": "Basic " + base64.b64encode(f"{name}:{word}".encode()).decode()} if name else {}
