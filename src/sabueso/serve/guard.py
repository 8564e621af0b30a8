"""Who may read the page: whoever has the token and asks for this very host. A page in a browser can name any host it likes."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.responses import PlainTextResponse, RedirectResponse, Response

Scope, Receive, Send = MutableMapping[str, Any], Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin", "cross-origin-opener-policy": "same-origin",
}  # fmt: skip


class Guard:
    """Lets a request through that names one of `hosts` and carries the token: in the address once, in a cookie from then on."""

    def __init__(self, app: Any, token: str, hosts: frozenset[str]) -> None:
        self.app, self.token, self.hosts = app, token, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = {k.decode("latin1"): v.decode("latin1") for k, v in scope["headers"]}
        answer = self._refusal(scope, headers)
        if answer is not None:
            await answer(scope, receive, _with_headers(send))
        else:
            await self.app(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> Response | None:
        """What to say instead, if anything."""
        if headers.get("host", "").lower() not in self.hosts:
            return PlainTextResponse("this host name is not served here", 421)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("nothing can be changed here", 405)
        query = parse_qsl(scope["query_string"].decode("latin1"), keep_blank_values=True)
        name = "sabueso_" + headers["host"].rpartition(":")[2]  # cookies know no ports
        if any(k == "token" and self._right(v) for k, v in query):
            rest = urlencode([(k, v) for k, v in query if k != "token"])
            path = "/" + scope["path"].lstrip("/")  # never `//elsewhere`
            answer = RedirectResponse(path + ("?" + rest if rest else ""), 303)
            answer.set_cookie(
                name, self.token, httponly=True, samesite="lax"
            )  # strict would refuse the first visit from a link in a chat or an editor; nothing can be changed here
            return answer
        if not self._right(_cookie(headers.get("cookie", ""), name)):
            return PlainTextResponse("open the address that `sabueso ui` printed: it carries the token\n", 403)
        return None

    def _right(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())


def _cookie(header: str, name: str) -> str:
    try:
        held = SimpleCookie(header)
    except CookieError:
        return ""
    return held[name].value if name in held else ""


def _with_headers(send: Send) -> Send:
    async def told(message: Any) -> None:
        if message["type"] == "http.response.start":
            kept = message.get("headers", [])
            cached = [] if any(k == b"cache-control" for k, _ in kept) else [(b"cache-control", b"no-store")]
            message["headers"] = [*kept, *((k.encode(), v.encode()) for k, v in HEADERS.items()), *cached]
        await send(message)

    return told


def hosts(host: str, port: int) -> frozenset[str]:
    """The names that a request may call this server by: those of the loopback, and the host that was asked for (all of this machine's for all addresses)."""
    names = {"127.0.0.1", "localhost", "[::1]"}
    if host in ("0.0.0.0", "::"):
        names |= {socket.gethostname(), socket.getfqdn(), *(_bracketed(str(a[4][0])) for a in _addresses())}
    else:
        names.add(_bracketed(host))
    return frozenset(f"{n}:{port}".lower() for n in names)


def _bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name else name


def _addresses() -> list[Any]:
    try:
        return list(socket.getaddrinfo(socket.gethostname(), None))
    except OSError:
        return []
