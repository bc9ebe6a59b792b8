"""The page over ASGI: its files under /ui, and the exchange of a link or a token for a session.

The files are the same for everybody and tell nothing of the bank: whatever the page shows it asks for under /v1, where
the session's cookie stands for the credentials.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from reasoningbank.core.errors import Unauthenticated
from reasoningbank_server.answer import SAFE, Receive, Scope, Send, send_json
from reasoningbank_server.idempotency import as_bytes
from reasoningbank_server.identity import Principal
from reasoningbank_server.limits import body_of, parse_json
from reasoningbank_server.problems import Problem
from reasoningbank_server.request import Request, check_schema
from reasoningbank_server.schemas import obj, text
from reasoningbank_server.ui.assets import INDEX, POLICY, Asset, assets
from reasoningbank_server.ui.entrance import Entrance

PATH = "/ui"
SESSION = "/ui/session"
_MOST_BYTES = 16 << 10
_WAIT_S = 10.0
_EXCHANGE = {**obj((), code=text(200, minLength=1), token=text(8_000, minLength=1)), "minProperties": 1}
_HEADERS = tuple((name, POLICY if name == b"content-security-policy" else value) for name, value in SAFE)

Check = Callable[[Request, Scope], Awaitable[Principal]]


class Page:
    def __init__(self, entrance: Entrance, check: Check) -> None:
        self._entrance = entrance
        self._check = check
        """Who sends these credentials, by the same rules and at the same price as at any other door."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request: Request = scope["reasoningbank"]
        request.route = PATH
        method = scope["method"]
        if scope["path"] == "/":
            await send({"type": "http.response.start", "status": 307, "headers": [*_HEADERS, (b"location", b"/ui/")]})
            await send({"type": "http.response.body", "body": b""})
        elif scope["path"] == SESSION:
            await self._session(method, request, scope, receive, send)
        elif method in ("GET", "HEAD"):
            await _send_file(send, scope)
        else:
            raise Problem(405, "method_not_allowed", "Use GET here.", ((b"allow", b"GET, HEAD"),))

    async def _session(self, method: str, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        if method == "DELETE":
            cookie = self._entrance.end(request.text(b"cookie"))
        elif method == "POST":
            cookie = await self._begin(request, scope, receive)
        else:
            raise Problem(405, "method_not_allowed", "Use POST or DELETE here.", ((b"allow", b"POST, DELETE"),))
        await send_json(send, 200, as_bytes({"session": method == "POST"}), [(b"set-cookie", cookie.encode())])

    async def _begin(self, request: Request, scope: Scope, receive: Receive) -> str:
        if request.media_type() != b"application/json":
            raise Problem(415, "unsupported_media_type", "Send the body as application/json.")
        data = await body_of(receive, request.fields.get(b"content-length"), _MOST_BYTES, _WAIT_S)
        value: Any = parse_json(data or b"{}", 4)
        check_schema(_EXCHANGE, value)
        if "code" in value:
            cookie = self._entrance.redeem(value["code"])
            if cookie is None:
                raise Unauthenticated(
                    "This link was opened before, or is too old: `reasoningbank ui` makes another one."
                )
            return cookie
        request.authorization = f"Bearer {value['token'].strip()}"
        principal = await self._check(request, scope)
        return self._entrance.begin(request.authorization, principal.until)


async def _send_file(send: Send, scope: Scope) -> None:
    asset, lasting = _find(scope["path"])
    accepts_gzip = any(name == b"accept-encoding" and b"gzip" in value for name, value in scope["headers"])
    body = asset.packed if accepts_gzip else asset.body
    headers = [
        *(header for header in _HEADERS if header[0] != b"cache-control"),
        (b"cache-control", b"public, max-age=31536000, immutable" if lasting else b"no-cache"),
        (b"content-type", asset.media_type),
        (b"content-length", str(len(body)).encode()),
        (b"vary", b"accept-encoding"),
        *([(b"content-encoding", b"gzip")] if accepts_gzip else []),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _find(path: str) -> tuple[Asset, bool]:
    """A file, and whether its address names its contents; every other address is one of the page's own."""
    parts = path.removeprefix(PATH).strip("/").split("/")
    if parts[0] != "files":
        return assets()[INDEX], False
    asset = assets().get("/".join(parts[2:]))
    if asset is None:
        raise Problem(404, "not_found", "The page has no such file.")
    return asset, True
