"""Endpoints that are no row of the table: streams, and what the server says about itself."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from reasoningbank.core.settings import Settings
from reasoningbank.serve.workers import Workers
from reasoningbank.wiring.moved import find_move
from reasoningbank_server import metrics as metering
from reasoningbank_server import openapi, streams
from reasoningbank_server.admission import METADATA, Setup
from reasoningbank_server.answer import App, Receive, Scope, Send, send_json, send_text
from reasoningbank_server.dispatch import Endpoints, not_allowed
from reasoningbank_server.endpoint import Call
from reasoningbank_server.events import Hub
from reasoningbank_server.idempotency import as_bytes
from reasoningbank_server.identity import require
from reasoningbank_server.problems import Problem
from reasoningbank_server.protocol import ABORT
from reasoningbank_server.request import Request, parameters

_LINES = frozenset({b"application/x-ndjson", b"application/jsonl", b"application/jsonlines"})


class Special:
    def __init__(
        self,
        setup: Setup,
        context: Endpoints,
        hub: Hub,
        metrics: metering.Metrics,
        workers: Workers,
        settings: Settings,
    ) -> None:
        self._workers = workers
        self._setup = setup
        self._shared = context
        self._hub = hub
        self._metrics = metrics
        self._document = as_bytes(openapi.document(setup.public_url, settings))

    def apps(self) -> Mapping[str, App]:
        apps: dict[str, App] = {
            "/v1/changes/stream": Only("/v1/changes/stream", "GET", self._stream),
            "/v1/export": Only("/v1/export", "GET", self._export),
            "/v1/graph/export": Only("/v1/graph/export", "GET", self._export_graph),
            "/v1/import": Only("/v1/import", "POST", self._import),
            "/v1/backup": Only("/v1/backup", "GET", self._backup),
            "/metrics": Only("/metrics", "GET", self._metrics_page),
            "/healthz": Only("/healthz", "GET", self._health),
            "/readyz": Only("/readyz", "GET", self._ready),
            "/openapi.json": Only("/openapi.json", "GET", self._openapi),
        }
        if self._setup.oauth is not None:
            places = ("", *self._setup.mounted)
            apps.update({f"{METADATA}{place}": Only(METADATA, "GET", self._oauth_metadata) for place in places})
        return apps

    async def _call(self, request: Request, namespace: str | None = None) -> Call:
        query = {} if namespace is None else {"namespace": namespace}
        principal = request.known()

        def make() -> Call:
            # Asks the bank what the tenant rules about scrubbing.
            return self._shared.call(principal, query, path={}, body=None, if_match=None)

        call: Call = await self._shared.lanes["slow"].submit(make, tenant=principal.tenant)
        return call

    def _way(self, request: Request, receive: Receive, send: Send) -> streams.Way:
        lane, limits = self._shared.lanes["slow"], self._shared.limits
        return streams.Way(lane=lane, request=request, limits=limits, receive=receive, send=send)

    # ------------------------------------------------------------ streams

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "HEAD":
            # Its answer would never end, and say nothing.
            raise not_allowed(b"GET")
        request = _authorise(scope, "read")
        query = parameters((openapi.AFTER,), scope["query_string"])
        after = request.text(b"last-event-id") or query.get("after")
        await self._hub.stream(request, receive, send, after=after, abort=scope.get(ABORT))

    async def _export(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = _authorise(scope, "read")
        query = parameters((openapi.EXPORTED, openapi.EXPORTED_AS), scope["query_string"])
        way = self._way(request, receive, send)
        await streams.send_export(await self._call(request), way, query.get("namespace"), query.get("as"))

    async def _export_graph(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = _authorise(scope, "read")
        specs = (openapi.GRAPH_FORM, openapi.GRAPH_CONVERSATION, openapi.EXPORTED)
        query = parameters(specs, scope["query_string"])
        call = await self._call(request, query.get("namespace"))
        way = self._way(request, receive, send)
        await streams.send_graph(call, way, query.get("format", "graphml"), query.get("conv_id"))

    async def _import(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = _authorise(scope, "write")
        if request.media_type() not in _LINES:
            raise Problem(415, "unsupported_media_type", f"Send the lines as {streams.LINES}.")
        query = parameters((openapi.DRY_RUN, openapi.IMPORTED, openapi.RESTORED), scope["query_string"])
        key = request.idempotency_key()
        wish = streams.ImportOptions(dry_run=query.get("dry_run", False), restore=query.get("restore", False))
        call = await self._call(request, query.get("namespace"))
        response = await streams.take_import(call, self._way(request, receive, send), key, wish)
        self._shared.written()
        extra = [(b"idempotency-replayed", b"true")] if response.replayed else []
        await send_json(send, response.status, response.body, extra)

    async def _backup(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = _authorise(scope, "operator")
        parameters((), scope["query_string"])
        await streams.send_backup(await self._call(request), self._way(request, receive, send))

    # ------------------------------------------------------------ about the server

    async def _metrics_page(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        _authorise(scope, "operator")
        store = self._shared.bank.context.store
        jobs, gauges = await self._shared.lanes["reading"].submit(
            lambda: (store.jobs_in_queue(), self._metrics.gauge_values())
        )
        await send_text(send, self._metrics.text(jobs_waiting=jobs, gauges=gauges), metering.MEDIA_TYPE)

    async def _health(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send_json(send, 200, as_bytes({"status": "ok"}))

    async def _ready(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        if self._hub.ending.is_set():
            raise Problem(503, "unavailable", "This server is shutting down.")
        try:
            async with asyncio.timeout(5.0):
                move = await self._shared.lanes["reading"].submit(lambda: find_move(self._shared.bank))
        except TimeoutError:
            raise Problem(503, "busy", "The bank does not answer in time.", ((b"retry-after", b"1"),)) from None
        if move is not None:
            # Anybody may ask this, so where it is now is told to writers and in the log only.
            raise Problem(503, "read_only", "This bank was moved to another place: name that one to this server.")
        await send_json(send, 200, as_bytes({"status": "ready", "distilling": self._workers.at_work}))

    async def _openapi(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send_json(send, 200, self._document)

    async def _oauth_metadata(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Metadata of the protected resource, by RFC 9728."""
        del scope, receive
        oauth = self._setup.oauth
        if oauth is None:
            raise Problem(404, "not_found", "This server knows no issuer.")
        document = {
            "resource": oauth.audience,
            "authorization_servers": [oauth.issuer],
            "scopes_supported": ["read", "write", "admin"],
            "bearer_methods_supported": ["header"],
            "resource_name": "ReasoningBank",
        }
        await send_json(send, 200, as_bytes(document))


class Only:
    """ASGI application for one method of one path."""

    def __init__(self, path: str, method: str, app: App) -> None:
        self._path = path
        self._methods = (method, "HEAD") if method == "GET" else (method,)
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["reasoningbank"].route = self._path
        if scope["method"] not in self._methods:
            raise not_allowed(", ".join(self._methods).encode())
        await self._app(scope, receive, send)


def _authorise(scope: Scope, required_scope: str) -> Request:
    request: Request = scope["reasoningbank"]
    require(request.known(), required_scope)
    return request
