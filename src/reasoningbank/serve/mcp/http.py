"""MCP over streamable HTTP, as an ASGI application to be mounted behind a door that knows who is asking.

Every request is served from the bank of its own principal, and a session of the 2025 revisions belongs to the principal
that opened it. Host, Origin, size and form of a message are checked here whatever stands in front.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, MutableMapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from reasoningbank.core.errors import BankError
from reasoningbank.core.settings import DEFAULTS, SearchSettings
from reasoningbank.serve.allowed_hosts import LOOPBACK, AllowedHosts, hosts_named
from reasoningbank.serve.mcp.caller import Caller
from reasoningbank.serve.mcp.frames import INVALID_REQUEST, MOST_BYTES, FrameRefused, read_message
from reasoningbank.serve.mcp.greeting import instructions_for
from reasoningbank.serve.mcp.project import Projects
from reasoningbank.serve.mcp.server import Context, InLane, build

if TYPE_CHECKING:
    from reasoningbank.bank.bank import Bank

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

MOST_SESSIONS = 10_000
MOST_SESSIONS_EACH = 100
"""Most sessions of one principal; the oldest gives way, so that nobody can use up what all share."""
SESSION_IDLE_S = 30 * 60.0
_CALLER = "reasoningbank.caller"


class McpApp:
    """Serve it alone, or mount it and enter `running()` in the lifespan of the app around it."""

    def __init__(
        self,
        manager: StreamableHTTPSessionManager,
        principal_of: Callable[[Scope], Caller],
        hosts: AllowedHosts | None,
        talking: StreamableHTTPSessionManager | None = None,
    ) -> None:
        """`talking` serves the sessions of clients that can be asked for their roots: it answers in streams."""
        self._manager = manager
        self._talking = talking
        self._talks: dict[str, None] = {}
        self._principal_of = principal_of
        self._hosts = hosts
        self._sessions: dict[tuple[str, str], deque[str]] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for manager in filter(None, (self._manager, self._talking)):
                await stack.enter_async_context(manager.run())
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await receive()
            async with self.running():
                await send({"type": "lifespan.startup.complete"})
                await receive()
            await send({"type": "lifespan.shutdown.complete"})
        elif scope["type"] == "http":
            # Blanks around a value are no part of it; not every HTTP parser takes them off.
            headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
            await self._serve({**scope, "headers": headers}, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        if self._hosts is not None:
            # Two of them is a trick: whoever stands in front may have read the other.
            hosts = headers.get("host", ())
            if len(hosts) != 1 or not self._hosts.has_host(hosts[0].encode("latin-1")):
                await _refuse(send, 421, "This server does not go by that name.")
                return
            if not all(self._hosts.has_origin(origin.encode("latin-1")) for origin in headers.get("origin", ())):
                await _refuse(send, 403, "Requests from that origin are not taken.")
                return
        try:
            caller = self._principal_of(scope)
        except BankError as error:
            await _refuse(send, 401, str(error))
            return
        if scope["method"] == "GET":
            # There is nothing that the server would say unasked.
            await _refuse(send, 405, "There is no stream to listen to: send messages by POST.", allow="POST, DELETE")
            return
        body = b""
        if scope["method"] == "POST":
            data = await _body(headers, receive)
            if data is None:
                await _refuse(send, 413, f"The message is larger than {MOST_BYTES:,} bytes.")
                return
            body = data
            fault = _find_fault(headers, body)
            if fault is not None:
                await _refuse(send, 400, fault.message, code=fault.code, request_id=fault.id)
                return
            receive = _replay(body, receive)
        # As the SDK wants it, to bind a session to whoever opened it.
        token = AccessToken(token="", client_id=caller.name, subject=caller.tenant, scopes=sorted(caller.scopes))
        inner = {**scope, _CALLER: caller, "user": AuthenticatedUser(token)}
        await self._hand_on(inner, receive, send, self._manager_of(headers, body))

    async def _hand_on(self, scope: Scope, receive: Receive, send: Send, manager: StreamableHTTPSessionManager) -> None:
        """Let the SDK answer, and note the sessions that it opens."""
        sessions: list[str] = []

        def note(session: str) -> None:
            sessions.append(session)
            if manager is self._talking:
                self._talks[session] = None

        may_open = "mcp-session-id" not in _headers(scope)
        await manager.asgi_app(scope, receive, _watch(send, note) if may_open else send)
        for session in sessions:
            await self._make_room(scope[_CALLER], scope, session)

    def _manager_of(self, headers: dict[str, list[str]], body: bytes) -> StreamableHTTPSessionManager:
        session = headers.get("mcp-session-id", [""])[0]
        talks = session in self._talks or (not session and _tells_roots(body))
        return self._talking if talks and self._talking is not None else self._manager

    async def _make_room(self, caller: Caller, scope: Scope, session: str) -> None:
        """Note a session that was opened, and end the principal's oldest when it is one too many."""
        sessions = self._sessions.setdefault((caller.tenant, caller.name), deque())
        sessions.append(session)
        if len(sessions) > MOST_SESSIONS_EACH:
            oldest = sessions.popleft()
            ending = [(b"mcp-session-id", oldest.encode("ascii"))]
            host_headers = [pair for pair in scope["headers"] if pair[0] == b"host"]
            manager = self._manager_of({"mcp-session-id": [oldest]}, b"")
            self._talks.pop(oldest, None)
            # The SDK ends a session by a request of its owner; this is one. It may have ended by itself meanwhile.
            await manager.asgi_app({**scope, "method": "DELETE", "headers": host_headers + ending}, _nothing, _nowhere)


def mcp_asgi_app(
    bank_for: Callable[[Caller], Bank],
    principal_of: Callable[[Scope], Caller],
    *,
    allowed_hosts: Collection[str] | None = LOOPBACK,
    search: SearchSettings = DEFAULTS.search,
    distiller: str = "",
    names_project: bool = True,
) -> McpApp:
    """The ASGI application. `principal_of` says who sent a request, or raises a BankError; `bank_for` gives the bank
    as that one may see it.

    `search` is what the settings of the bank say of searching, `distiller` who distils there. `allowed_hosts` are the
    names this server goes by; None leaves Host and Origin to the application around this one. `names_project` says that
    the bank's namespace was chosen for whoever comes; without it the project is the client's, and where that is not
    known it has to be named.
    """
    project_of = None if names_project else Projects().project_of
    server = build(bank_for, _caller_of, search, _lane_of, instructions_for(distiller), project_of)
    # The SDK checks neither header unless it is given settings, so it is always told in so many words.
    names = list(allowed_hosts or ())
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=allowed_hosts is not None,
        allowed_hosts=[pattern for name in names for pattern in (name, f"{name}:*")],
        allowed_origins=[
            f"{scheme}://{name}{port}" for name in names for scheme in ("http", "https") for port in ("", ":*")
        ],
    )

    def manager(*, talks: bool) -> StreamableHTTPSessionManager:
        return StreamableHTTPSessionManager(
            app=server,
            json_response=not talks,
            security_settings=security,
            session_idle_timeout=SESSION_IDLE_S,
            max_request_body_size=MOST_BYTES,
            max_sessions=MOST_SESSIONS,
        )

    hosts = None if allowed_hosts is None else hosts_named(allowed_hosts)
    return McpApp(manager(talks=False), principal_of, hosts, None if names_project else manager(talks=True))


def _caller_of(ctx: Context) -> Caller:
    # Of the very request, not of the session: a session id is no authority.
    assert ctx.request is not None
    caller: Caller = ctx.request.scope[_CALLER]
    return caller


def _lane_of(ctx: Context) -> InLane | None:
    assert ctx.request is not None
    in_lane: InLane | None = ctx.request.scope.get("state", {}).get("in_lane")
    return in_lane


# ---------------------------------------------------------------- the request


def _headers(scope: Scope) -> dict[str, list[str]]:
    headers: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return headers


async def _body(headers: dict[str, list[str]], receive: Receive) -> bytes | None:
    """The body of a request; None when it is too large, which the declared length may tell before it is read."""
    length = headers.get("content-length", ["0"])[0]
    if not re.fullmatch(r"[0-9]{1,12}", length) or int(length) > MOST_BYTES:
        return None
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return bytes(body)
        body += message.get("body", b"")
        if len(body) > MOST_BYTES:
            return None
        if not message.get("more_body", False):
            return bytes(body)


def _find_fault(headers: dict[str, list[str]], body: bytes) -> FrameRefused | None:
    if not headers.get("content-type", [""])[0].lower().startswith("application/json"):
        # The SDK answers that in its own words.
        return None
    message = read_message(body)
    return message if isinstance(message, FrameRefused) else None


def _replay(body: bytes, receive: Receive) -> Receive:
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


def _tells_roots(body: bytes) -> bool:
    """True if a message opens a session of a client that can be asked for its roots."""
    if b'"roots"' not in body:
        return False
    message = read_message(body)
    params = message.get("params") if isinstance(message, dict) and message.get("method") == "initialize" else None
    capabilities = params.get("capabilities") if isinstance(params, dict) else None
    return isinstance(capabilities, dict) and isinstance(capabilities.get("roots"), dict)


def _watch(send: Send, note: Callable[[str], None]) -> Send:
    """Pass everything on, and note the id of a session that a reply announces."""

    async def watch(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 200:
            session_ids = (value for name, value in message.get("headers", ()) if name.lower() == b"mcp-session-id")
            for value in session_ids:
                note(value.decode("ascii"))
        await send(message)

    return watch


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _nowhere(_: Message) -> None:
    pass


# ---------------------------------------------------------------- the reply


async def _refuse(
    send: Send,
    status: int,
    message: str,
    *,
    code: int = INVALID_REQUEST,
    request_id: str | int | None = None,
    allow: str | None = None,
) -> None:
    error = {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}
    body = json.dumps(error).encode("ascii")
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode("ascii"))]
    if allow is not None:
        headers.append((b"allow", allow.encode("ascii")))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
