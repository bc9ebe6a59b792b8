"""The ASGI application: admission, routing, errors, metrics.

    Host and Origin → credentials → rate → path → method and scope → the endpoint

Nothing behind the checks is reached by a request that fails one, and every refusal is a problem with a code. This is
the outermost door: an error that nobody foresaw ends here, is logged, and is told to the caller as no more than that.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from starlette.routing import BaseRoute, Mount, Route, Router

from reasoningbank.bank.bank import Bank
from reasoningbank.core.errors import BankError
from reasoningbank.serve.idle_index import IdleIndexer
from reasoningbank.serve.workers import Workers
from reasoningbank_server.admission import PAGE, Admission, Setup
from reasoningbank_server.answer import App, Receive, Scope, Send, send_problem
from reasoningbank_server.cursors import KEY_BYTES, Seal
from reasoningbank_server.dispatch import LARGE_BYTES, Endpoints, PathHandler
from reasoningbank_server.endpoint import Endpoint
from reasoningbank_server.events import Hub
from reasoningbank_server.limits import Gone, Limits, body_of
from reasoningbank_server.metrics import Metrics
from reasoningbank_server.problems import Problem, problem_of
from reasoningbank_server.protocol import ABORT, SAY_AGAIN_AFTER_S
from reasoningbank_server.request import Request
from reasoningbank_server.routes import ENDPOINTS
from reasoningbank_server.system_routes import Special
from reasoningbank_server.thread_pools import WIDTHS, Lane, searching_width
from reasoningbank_server.ui.page import Page

MAKE_WAY_S = 0.25
"""A job waits for a moment without searches, and for no longer than this: under constant load it gets its turn too."""
_FAULT = Problem(500, "internal", "A fault of this server; its log says more.")
_log = logging.getLogger("reasoningbank.serve")


class Service:
    def __init__(self, bank: Bank, setup: Setup) -> None:
        limits, store = setup.limits, bank.context.store
        seal = Seal(bytes.fromhex(store.agree_setting("cursor_key", os.urandom(KEY_BYTES).hex())))
        self.lanes = _lanes(bank, limits)
        self.hub = Hub(store, self.lanes["reading"], seal, limits)
        context = Endpoints(bank, seal, self.lanes, limits, self.hub.nudge)
        self.workers = Workers(
            store,
            lambda tenant: context.bank_of(tenant, None),
            setup.staffing,
            make_way=lambda stopping: _make_way(self.lanes["searching"], stopping),
        )
        self.indexer = IdleIndexer(bank, make_way=lambda stopping: _make_way(self.lanes["searching"], stopping))
        self.metrics = Metrics(_gauges(self.lanes, self.hub, self.workers, bank), self.workers.ends)
        self.entrance = setup.entrance
        self._said_at = -SAY_AGAIN_AFTER_S
        self._admission = Admission(setup, self.lanes["checking"], self.lanes["tokens"])
        special = Special(setup, context, self.hub, self.metrics, self.workers, bank.settings)
        routes = _routes(context, special, setup)
        if setup.entrance is not None:
            page = Page(setup.entrance, self._admission.principal)
            routes += [Route("/", page), Route(PAGE, page), Mount(PAGE, page)]
        self._inner: App = Router(routes=routes, default=_nowhere, redirect_slashes=False)
        if setup.traces:
            from reasoningbank_server.traces import with_traces

            self._inner = with_traces(self._inner)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, status = time.perf_counter(), 0

        async def send_and_note(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        request = Request(scope["headers"])
        scope["reasoningbank"] = request
        self.metrics.in_flight += 1
        try:
            await self._admission.admit(request, scope)
            await self._inner(scope, receive, send_and_note)
        except Gone:
            status = status or 499
        except (Problem, BankError) as error:
            await self._tell(error, request, scope, send_and_note, has_begun=bool(status))
        except Exception as error:  # noqa: BLE001 - the outermost door: logged here, and told as no more than that
            _log.exception("%s %s failed", scope["method"], request.route)
            await self._tell(_FAULT, request, scope, send_and_note, has_begun=bool(status), cause=error)
        finally:
            self.metrics.in_flight -= 1
            self.metrics.answered(scope["method"][:10], request.route, status, time.perf_counter() - began)

    async def _tell(
        self,
        error: Problem | BankError,
        request: Request,
        scope: Scope,
        send: Send,
        *,
        has_begun: bool,
        cause: Exception | None = None,
    ) -> None:
        problem = error if isinstance(error, Problem) else problem_of(error)
        self.metrics.refused(problem.code)
        if problem.status >= 500 and cause is None:
            _log.warning("%s: %s", problem.code, error)
        elif problem.code == "tenant_busy":
            self._say_throttled(request.known().tenant)
        if not has_begun:
            await send_problem(send, self._admission.challenged(problem, request, scope["method"]))
        elif ABORT in scope:
            # All that is left is to break the answer off, so that nobody takes it for whole.
            scope[ABORT]()
            # The server hears of it before it asks what became of the answer.
            await asyncio.sleep(0)
        else:
            raise cause or error

    def _say_throttled(self, tenant: str) -> None:
        now = time.monotonic()
        if now - self._said_at >= SAY_AGAIN_AFTER_S:
            self._said_at = now
            _log.warning("tenant %s sends more than its share: what is too much is told to come back (429)", tenant)

    def end(self) -> None:
        """Take on nothing that lasts: streams end, jobs are given back, the index is left as far as it is."""
        self.hub.end()
        self.workers.stop()
        self.indexer.stop()

    def close(self) -> None:
        self.workers.close()
        self.indexer.close()
        for lane in self.lanes.values():
            lane.close()


def _lanes(bank: Bank, limits: Limits) -> dict[str, Lane]:
    embedder = bank.status().embedder.name
    together = bank.embed if embedder != "hash" else None
    lanes = {name: Lane(name, width, limits.waiting, limits.waiting_each) for name, width in WIDTHS.items()}
    width = searching_width(embedder)
    return {"searching": Lane("searching", width, limits.waiting, limits.waiting_each, together), **lanes}


def _make_way(searching: Lane, stopping: threading.Event) -> None:
    until = time.monotonic() + MAKE_WAY_S
    while searching.busy and time.monotonic() < until and not stopping.wait(0.005):
        pass


def _gauges(
    lanes: dict[str, Lane], hub: Hub, workers: Workers, bank: Bank
) -> dict[str, tuple[str, Callable[[], float]]]:
    def waiting(lane: Lane) -> Callable[[], float]:
        return lambda: lane.waiting

    gauges: dict[str, tuple[str, Callable[[], float]]] = {
        f"reasoningbank_waiting_{name}": (f"Requests that wait for a thread, {name}.", waiting(lane))
        for name, lane in lanes.items()
    }
    return {
        **gauges,
        "reasoningbank_streams": ("Open event streams.", lambda: hub.streams),
        "reasoningbank_index_owed": ("Changes and vectors that the index still owes.", bank.index_lag),
        "reasoningbank_crews": ("Tenants whose sessions are being distilled here.", lambda: workers.crews),
    }


def _routes(context: Endpoints, special: Special, setup: Setup) -> list[BaseRoute]:
    by_path: dict[str, list[Endpoint]] = {}
    for endpoint in ENDPOINTS:
        by_path.setdefault(endpoint.path, []).append(endpoint)
    # A key may have slashes in it.
    routes: list[BaseRoute] = [
        Route(path.replace("{key}", "{key:path}"), PathHandler(context, path, endpoints))
        for path, endpoints in by_path.items()
    ]
    routes += [Route(path, app) for path, app in special.apps().items()]
    for path, app in setup.mounted.items():
        mounted_app = _Mounted(path, app, context)
        routes += [Route(path, mounted_app), Mount(path, mounted_app)]
    return routes


class _Mounted:
    """Another application behind our checks. Its bodies are bounded like ours, and it works in our lanes."""

    def __init__(self, path: str, app: App, context: Endpoints) -> None:
        self._path = path
        self._app = app
        self._shared = context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request: Request = scope["reasoningbank"]
        request.route = self._path
        if scope["method"] in ("GET", "DELETE", "HEAD"):
            await self._app(scope, receive, send)
        elif request.may_be_larger_than(LARGE_BYTES):
            async with self._shared.large.passed(request.known().tenant):
                await self._with_body(request, scope, receive, send)
        else:
            await self._with_body(request, scope, receive, send)

    async def _with_body(self, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        limits, tenant = self._shared.limits, request.known().tenant
        body: bytes | None = await body_of(
            receive, request.fields.get(b"content-length"), limits.body_bytes, limits.body_wait_s
        )
        lane = self._shared.lanes["large" if body is not None and len(body) > LARGE_BYTES else "tools"]
        if request.is_old():
            await lane.submit(request.confirm, tenant=tenant)
        scope["state"]["in_lane"] = lambda work: lane.submit(work, tenant=tenant)

        async def once_received() -> Any:
            nonlocal body
            if body is None:
                return await receive()
            message, body = {"type": "http.request", "body": body, "more_body": False}, None
            return message

        await self._app(scope, once_received, send)


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    del scope, receive, send
    raise Problem(404, "not_found", "There is nothing at this path: see /openapi.json.")
