"""The server itself: a socket on the loopback, and an end when nobody looks any more."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

import uvicorn

from .guard import Guard, hosts

EVERY = 5.0  # seconds between two looks at whether anybody still looks


def bound(host: str, port: int, exact: bool) -> socket.socket:
    """A socket at that port, or at any free one where it is taken and was not asked for. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    held = socket.socket(family, socket.SOCK_STREAM)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        held.bind((host, port))
    except OSError:
        if exact:
            held.close()
            raise
        held.bind((host, 0))
    held.listen(64)
    return held


def serve(app: Any, held: socket.socket, token: str, host: str, idle: float | None = None) -> None:
    """Serve until interrupted, or until nothing was asked for `idle` seconds."""
    guarded = Guard(app, token, hosts(host, held.getsockname()[1]))
    last = [time.monotonic()]

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        last[0] = time.monotonic()
        await guarded(scope, receive, send)

    server = uvicorn.Server(uvicorn.Config(noting, log_level="warning", access_log=False, lifespan="off", server_header=False, proxy_headers=False))
    if idle is not None:
        threading.Thread(target=_end_when_idle, args=(server, last, idle), daemon=True).start()
    server.run(sockets=[held])


def _end_when_idle(server: uvicorn.Server, last: list[float], idle: float) -> None:
    while time.monotonic() - last[0] < idle:
        time.sleep(min(EVERY, idle))
    server.should_exit = True
