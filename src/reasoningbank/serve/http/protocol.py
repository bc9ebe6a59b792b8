"""What uvicorn leaves open: how long a head may take, how large it may be, how many connections there may be.

Knows uvicorn's own HTTP protocol and adds timers and counts to it. Requests themselves are none of its business.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from reasoningbank.serve.http.idempotency import as_bytes
from reasoningbank.serve.http.limits import Limits
from reasoningbank.serve.http.problems import MEDIA_TYPE, Problem


class GuardedProtocol(HttpToolsProtocol):
    limits: ClassVar[Limits] = Limits()
    _head_timer: asyncio.TimerHandle | None = None
    _drain_timer: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _in_head = True
    _counted = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self._refuse(Problem(503, "busy", "Too many connections: try again."))
            return
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._stop_draining()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            # Counted after the look: the piece that ends a head may bring much of a body along.
            if self._head_bytes > self.limits.header_bytes:
                self._refuse(_TOO_LARGE)
                return
            self._head_bytes += len(data)
        super().data_received(data)

    def on_message_begin(self) -> None:
        self._in_head, self._head_bytes = True, 0
        if self._head_timer is None:
            self._await_head()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._count(len(name) + len(value) + 4)

    def _count(self, size: int) -> None:
        self._counted += size
        if self._counted > self.limits.header_bytes:
            self._refuse(_TOO_LARGE)

    def on_headers_complete(self) -> None:
        self._in_head, self._counted = False, 0
        self._stop_timer()
        if not self.transport.is_closing():
            super().on_headers_complete()

    def on_response_complete(self) -> None:
        if self.cycle.more_body and not self.transport.is_closing():
            self._drain_timer = self.loop.call_later(self.limits.drain_wait_s, self.transport.close)
        super().on_response_complete()

    def on_message_complete(self) -> None:
        self._stop_draining()
        super().on_message_complete()

    def _stop_draining(self) -> None:
        if self._drain_timer is not None:
            self._drain_timer.cancel()
            self._drain_timer = None

    def _await_head(self) -> None:
        self._stop_timer()
        self._head_timer = self.loop.call_later(self.limits.header_wait_s, self._head_is_late)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing():
            self._refuse(Problem(408, "too_slow", "The head of the request did not arrive in time."))

    def _refuse(self, problem: Problem) -> None:
        if not self.transport.is_closing():
            self.transport.write(raw(problem))
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        del msg
        self._refuse(Problem(400, "invalid_input", "This is no HTTP request."))


def protocol_with(limits: Limits) -> type[HttpToolsProtocol]:
    return type("LimitedProtocol", (GuardedProtocol,), {"limits": limits})


_TOO_LARGE = Problem(431, "headers_too_large", "The head of the request is too large.")


def raw(problem: Problem) -> bytes:
    """A problem for who has not come as far as a request."""
    body = as_bytes(problem.json())
    head = (
        f"HTTP/1.1 {problem.status} {problem.code}\r\ncontent-type: {MEDIA_TYPE}\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body
