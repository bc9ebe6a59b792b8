"""Runs the service on a socket, from the first connection to the last answer.

The server is uvicorn. It ends in order: no new connections, jobs that are not done are given back, every request that
was taken is answered, then the lanes and the bank are closed. What was acknowledged is durable by then, because an
answer is sent after the commit.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import uvicorn

from reasoningbank.core.errors import BankUnavailable
from reasoningbank.serve.allowed_hosts import bracket
from reasoningbank_server.limits import Limits
from reasoningbank_server.protocol import GuardedProtocol, protocol_with
from reasoningbank_server.service import Service

BACKLOG = 1_024
FINISH_WITHIN_S = 30
SWITCH_S = 0.001
"""How long a thread may keep the interpreter while another one wants it: with Python's own 5 ms, somebody's small
question waits that long at each of a dozen steps while another tenant's text is looked over."""
OTHER_FILES = 256
"""Descriptors for everything but connections: bank, log, index, temporary files, the issuer."""
MOST_FILES = 65_536


class Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, service: Service, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self.service = service
        self._ready = ready
        self.failure: OSError | None = None
        """Why nobody could be told where it is."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.service.workers.start()
        self.service.indexer.start()
        try:
            self._ready()
        except OSError as error:
            self.failure = error
            # Ended as by a signal, which is looked at once it runs; uvicorn leaves one that ends before as it is.
            asyncio.get_running_loop().call_soon(setattr, self, "should_exit", True)

    async def on_tick(self, counter: int) -> bool:
        # Once a second: uvicorn ticks ten times.
        if counter % 10 == 0:
            now = time.monotonic()
            for connection in list(self.server_state.connections):
                if isinstance(connection, GuardedProtocol):
                    connection.look(now)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.service.end()
        await super().shutdown(sockets)


def listening_socket(host: str, port: int) -> socket.socket:
    """A bound socket; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host.strip("[]"), port))
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = (getattr(error, "strerror", None) or str(error)).rstrip(".")
        raise BankUnavailable(f"Cannot listen on {bracket(host)}:{port}: {reason}. Choose another --port.") from error
    return listener


def make_server(
    service: Service,
    limits: Limits,
    *,
    ready: Callable[[], None] = lambda: None,
    lifespan: Any = None,
    tls: tuple[str, str] | None = None,
) -> Server:
    """`lifespan` is the ASGI application whose start and end belong to ours."""
    config = uvicorn.Config(
        _with_lifespan(service, lifespan),
        http=protocol_with(replace(limits, connections=min(limits.connections, _room_for_connections()))),
        ws="none",
        lifespan="off" if lifespan is None else "on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=int(limits.idle_s),
        timeout_graceful_shutdown=FINISH_WITHIN_S,
        ssl_certfile=None if tls is None else tls[0],
        ssl_keyfile=None if tls is None else tls[1],
    )
    return Server(config, service, ready)


def run(server: Server, sock: socket.socket) -> None:
    """Serve until a signal, and close the lanes when the last answer is out."""
    # uvicorn raises the signal that ended it once more; by then there is still a bank to close.
    before, patience = signal.signal(signal.SIGTERM, _heard), sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    try:
        server.run(sockets=[sock])
    except KeyboardInterrupt:
        pass
    finally:
        server.service.close()
        sys.setswitchinterval(patience)
        signal.signal(signal.SIGTERM, before)
    if server.failure is not None:
        raise server.failure


def _room_for_connections() -> int:
    """As many as there are descriptors left for; the system's own limit is raised as far as it lets us."""
    try:
        import resource
    except ImportError:
        # Not on every system.
        return MOST_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < target:
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
        soft = target
    return MOST_FILES if soft == resource.RLIM_INFINITY else max(soft // 2, soft - OTHER_FILES)


def _heard(*_: object) -> None:
    pass


def _with_lifespan(service: Service, lifespan: Any) -> Any:
    if lifespan is None:
        return service

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await (lifespan if scope["type"] == "lifespan" else service)(scope, receive, send)

    return app
