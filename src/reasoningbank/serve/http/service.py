"""The ASGI application: what every request passes, and what it can reach.

    Host and Origin → credentials → rate → path → method and scope → the endpoint

Knows the order of the checks. Nothing behind them is reached by a request that fails one, and every refusal is a
problem with a code. This is the outermost door: an error that nobody foresaw ends here, is logged, and is told to the
caller as no more than that.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from starlette.routing import Mount, Route, Router

from reasoningbank.bank import Bank
from reasoningbank.core.errors import BankError
from reasoningbank.core.values import dataclass
from reasoningbank.serve.http import metrics as metering
from reasoningbank.serve.http import openapi, origins, streams
from reasoningbank.serve.http.answer import App, Receive, Scope, Send, send_json, send_problem, send_text
from reasoningbank.serve.http.dispatch import Counter, Door, not_allowed
from reasoningbank.serve.http.endpoint import Endpoint, Parameter, Reply
from reasoningbank.serve.http.events import Hub
from reasoningbank.serve.http.idempotency import as_bytes
from reasoningbank.serve.http.lanes import READING_THREADS, SLOW_THREADS, WRITING_THREADS, Lane
from reasoningbank.serve.http.limits import Buckets, Gone, Limits, body_of, limited
from reasoningbank.serve.http.origins import Doorplate
from reasoningbank.serve.http.problems import Problem, problem_of
from reasoningbank.serve.http.request import Request, parameters
from reasoningbank.serve.http.routes import ENDPOINTS
from reasoningbank.serve.http.seal import KEY_BYTES, Seal
from reasoningbank.serve.identity import LOCAL_USER, Principal, Resolver, require
from reasoningbank.serve.oauth import OAuthSettings
from reasoningbank.serve.tokens import PREFIX

PUBLIC = frozenset({"/healthz", "/readyz", "/openapi.json"})
METADATA = "/.well-known/oauth-protected-resource"
_log = logging.getLogger("reasoningbank.serve")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Everything that a service is told from outside."""

    plate: Doorplate
    resolver: Resolver
    limits: Limits
    public_url: str
    oauth: OAuthSettings | None = None
    mounted: Mapping[str, App] | None = None
    """Other applications behind the same checks, by path: they find the principal in scope["state"]."""
    trace: Callable[[App], App] | None = None


class Service:
    def __init__(self, bank: Bank, setup: Setup) -> None:
        self._setup = setup
        self._limits = setup.limits
        self._bank = bank
        seal = Seal(bytes.fromhex(bank.desk.store.agree_setting("cursor_key", os.urandom(KEY_BYTES).hex())))
        together = bank.embed if bank.status().embedder.name != "hash" else None
        waiting = setup.limits.waiting
        self.lanes = {
            "reading": Lane("reading", READING_THREADS, waiting, together),
            "writing": Lane("writing", WRITING_THREADS, waiting),
            "slow": Lane("slow", SLOW_THREADS, waiting),
        }
        self.hub = Hub(bank.desk.store, self.lanes["reading"], seal, setup.limits)
        self.metrics = metering.Metrics(self._gauges())
        self._counter = Counter(bank, seal, self.lanes, setup.limits, self.hub.nudge)
        self._rates = Buckets(setup.limits.requests_per_s, setup.limits.burst)
        self._refusals = Buckets(setup.limits.refusals_per_s, setup.limits.refusals_per_s)
        self._document = as_bytes(openapi.document(setup.public_url))
        self._router = Router(routes=self._routes(), default=_nowhere, redirect_slashes=False)
        self._inner: App = self._router if setup.trace is None else setup.trace(self._router)

    def _gauges(self) -> dict[str, tuple[str, Callable[[], float]]]:
        gauges: dict[str, tuple[str, Callable[[], float]]] = {
            f"reasoningbank_waiting_{name}": (f"Requests that wait for a thread, {name}.", lambda lane=lane: lane.waiting)  # type: ignore[misc]
            for name, lane in self.lanes.items()
        }
        gauges["reasoningbank_streams"] = ("Open event streams.", lambda: self.hub.streams)
        return gauges

    def _routes(self) -> list[Route | Mount]:
        by_path: dict[str, list[Endpoint]] = {}
        for endpoint in ENDPOINTS:
            by_path.setdefault(endpoint.path, []).append(endpoint)
        # A key may have slashes in it.
        routes: list[Route | Mount] = [
            Route(path.replace("{key}", "{key:path}"), Door(self._counter, path, endpoints))
            for path, endpoints in by_path.items()
        ]
        by_hand: dict[str, tuple[str, App]] = {
            "/v1/changes/stream": ("GET", self._stream),
            "/v1/export": ("GET", self._export),
            "/v1/import": ("POST", self._import),
            "/v1/backup": ("GET", self._backup),
            "/metrics": ("GET", self._metrics),
            "/healthz": ("GET", self._health),
            "/readyz": ("GET", self._ready),
            "/openapi.json": ("GET", self._openapi),
        }
        routes += [Route(path, _Only(path, method, app)) for path, (method, app) in by_hand.items()]
        if self._setup.oauth is not None:
            for path in (METADATA, *(f"{METADATA}{mount}" for mount in self._setup.mounted or ())):
                routes.append(Route(path, _Only(METADATA, "GET", self._oauth_metadata)))
        for path, app in (self._setup.mounted or {}).items():
            guarded = _Mounted(path, app, self._limits)
            routes += [Route(path, guarded), Mount(path, guarded)]
        return routes

    # ------------------------------------------------------------ every request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, status, route = time.perf_counter(), 0, "unknown"

        async def noted(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self.metrics.in_flight += 1
        try:
            request = Request(scope["headers"])
            scope["reasoningbank"] = request
            try:
                await self._admit(request, scope)
                await self._inner(scope, receive, noted)
            finally:
                route = request.route
        except Gone:
            status = status or 499
        except (Problem, BankError) as error:
            await self._tell(error, status, scope, noted)
        except Exception:
            if status:
                raise
            _log.exception("%s %s failed", scope["method"], route)
            await self._tell(Problem(500, "internal", "A fault of this server; its log says more."), 0, scope, noted)
        finally:
            self.metrics.in_flight -= 1
            self.metrics.answered(scope["method"][:10], route, status, time.perf_counter() - began)

    async def _tell(self, error: Problem | BankError, status: int, scope: Scope, send: Send) -> None:
        problem = error if isinstance(error, Problem) else problem_of(error)
        self.metrics.refused(problem.code)
        if problem.status >= 500:
            _log.warning("%s: %s", problem.code, error)
        if status:
            # The answer has begun; all that is left is to break it off, so that nobody takes it for whole.
            raise error
        if problem.status in (401, 403):
            problem = self._challenged(problem, scope)
        await send_problem(send, problem)

    async def _admit(self, request: Request, scope: Scope) -> None:
        origins.check(self._setup.plate, request.hosts, request.origins, request.fetch)
        path = scope["path"]
        if path in PUBLIC or (path.startswith(METADATA) and self._setup.oauth is not None):
            return
        principal = await self._principal(request, scope)
        if principal is not LOCAL_USER:
            wait = self._rates.wait_s(f"{principal.tenant}\0{principal.name}", time.monotonic())
            if wait:
                raise limited(wait)
        request.principal = principal
        scope.setdefault("state", {})["principal"] = principal

    async def _principal(self, request: Request, scope: Scope) -> Principal:
        credentials = request.authorization
        resolver = self._setup.resolver
        try:
            if credentials is None or credentials[7:].startswith(PREFIX):
                return resolver.principal(credentials, direct=not request.forwarded)
            # A signature takes a while, and its key may have to be fetched.
            principal: Principal = await self.lanes["slow"].submit(
                lambda: resolver.principal(credentials, direct=not request.forwarded)
            )
        except BankError as error:
            address = (scope.get("client") or ("unknown", 0))[0]
            wait = self._refusals.wait_s(address, time.monotonic()) if credentials is not None else 0.0
            raise (limited(wait) if wait else error) from None
        return principal

    def _challenged(self, problem: Problem, scope: Scope) -> Problem:
        """What OAuth wants to hear with a 401 or a 403: where to get a token, and with which scope."""
        if problem.code == "origin_refused":
            return problem
        parts = ['Bearer realm="reasoningbank"']
        if self._setup.oauth is not None:
            parts.append(f'resource_metadata="{self._setup.public_url}{METADATA}"')
        if problem.status == 403:
            wanted = _scope_wanted(scope)
            parts.append('error="insufficient_scope"')
            parts += [f'scope="{wanted}"'] if wanted else []
        elif scope["reasoningbank"].authorization is not None:
            parts.append('error="invalid_token"')
        challenge = ", ".join(parts).encode()
        return Problem(
            problem.status, problem.code, problem.detail, (*problem.headers, (b"www-authenticate", challenge))
        )

    # ------------------------------------------------------------ what is no row of the table

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = _allowed(scope, "read")
        asked = parameters(_shape((openapi.AFTER,)), scope["query_string"])
        after = request.text(b"last-event-id") or asked.get("after")
        resolver = self._setup.resolver

        def again() -> Principal:
            return resolver.principal(request.authorization, direct=not request.forwarded)

        await self.hub.stream(scope, receive, send, after=after, again=again)

    async def _export(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        request = _allowed(scope, "read")
        asked = parameters(_shape((openapi.EXPORTED,)), scope["query_string"])
        namespace = asked.get("namespace")
        call = self._counter.call(request.known(), {}, path={}, body=None, if_match=None)
        await streams.send_export(call, self.lanes["slow"], self._limits, send, namespace)

    async def _import(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = _allowed(scope, "write")
        kind = request.fields.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind not in (b"application/x-ndjson", b"application/jsonl", b"application/jsonlines"):
            raise Problem(415, "unsupported_media_type", f"Send the lines as {streams.LINES}.")
        asked = parameters(_shape((openapi.DRY_RUN,)), scope["query_string"])
        call = self._counter.call(request.known(), asked, path={}, body=None, if_match=None)
        encoded = await streams.take_import(
            call,
            self.lanes["slow"],
            self._limits,
            receive,
            request.idempotency_key(),
            dry_run=asked.get("dry_run", False),
        )
        self.hub.nudge()
        extra = [(b"idempotency-replayed", b"true")] if encoded.replayed else []
        await send_json(send, encoded.status, encoded.body, extra)

    async def _backup(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        request = _allowed(scope, "operator")
        call = self._counter.call(request.known(), {}, path={}, body=None, if_match=None)
        await streams.send_backup(call, self.lanes["slow"], self._limits, send)

    async def _metrics(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        _allowed(scope, "operator")
        await send_text(send, self.metrics.text(), metering.MEDIA_TYPE)

    async def _health(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send_json(send, 200, as_bytes({"status": "ok"}))

    async def _ready(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        try:
            async with asyncio.timeout(5.0):
                await self.lanes["reading"].submit(self._bank.desk.store.head)
        except TimeoutError:
            raise Problem(503, "busy", "The bank does not answer in time.", ((b"retry-after", b"1"),)) from None
        if self.hub.ending.is_set():
            raise Problem(503, "unavailable", "This server is shutting down.")
        await send_json(send, 200, as_bytes({"status": "ready"}))

    async def _openapi(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send_json(send, 200, self._document)

    async def _oauth_metadata(self, scope: Scope, receive: Receive, send: Send) -> None:
        """RFC 9728."""
        del receive
        oauth = self._setup.oauth
        assert oauth is not None
        document = {
            "resource": oauth.audience,
            "authorization_servers": [oauth.issuer],
            "scopes_supported": ["read", "write", "admin"],
            "bearer_methods_supported": ["header"],
            "resource_name": "ReasoningBank",
        }
        del scope
        await send_json(send, 200, as_bytes(document))

    def close(self) -> None:
        for lane in self.lanes.values():
            lane.close()


class _Only:
    """An application for one method of one path."""

    def __init__(self, path: str, method: str, app: App) -> None:
        self._path = path
        self._method = method
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["reasoningbank"].route = self._path
        if scope["method"] not in (self._method, "HEAD" if self._method == "GET" else self._method):
            raise not_allowed(self._method.encode())
        await self._app(scope, receive, send)


class _Mounted:
    """Another application behind our checks. Its bodies are bounded like ours."""

    def __init__(self, path: str, app: App, limits: Limits) -> None:
        self._path = path
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request: Request = scope["reasoningbank"]
        request.route = self._path
        if scope["method"] in ("GET", "DELETE", "HEAD"):
            await self._app(scope, receive, send)
            return
        declared = request.fields.get(b"content-length")
        body: bytes | None = await body_of(receive, declared, self._limits.body_bytes, self._limits.body_wait_s)

        async def once_received() -> Any:
            nonlocal body
            if body is None:
                return await receive()
            message, body = {"type": "http.request", "body": body, "more_body": False}, None
            return message

        await self._app(scope, once_received, send)


def _shape(query: tuple[Parameter, ...]) -> Endpoint:
    """The parameters of what is no row of the table, to be read in the same way."""
    return Endpoint(
        method="", path="", scope="", summary="", group="", handle=lambda _: Reply(), query=query
    )


def _allowed(scope: Scope, needed: str) -> Request:
    request: Request = scope["reasoningbank"]
    require(request.known(), needed)
    return request


def _scope_wanted(scope: Scope) -> str:
    wanted: dict[tuple[str, str], str] = {(one.method, one.path): one.scope for one in ENDPOINTS}
    found = wanted.get((scope["method"], scope["reasoningbank"].route), "")
    return found if found != "operator" else ""


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    del scope, receive, send
    raise Problem(404, "not_found", "There is nothing at this path: see /openapi.json.")


