"""Limits that uvicorn leaves open: how long a head may take, how large it may be, how many connections there may be.

Adds timers and counts to uvicorn's own HTTP protocol. A connection either waits for us or we wait for it: for a head,
for a body, for answers to be read. Each such wait has an end, and when there are too many connections those that have
kept us waiting longest go, of the address that has most of them: nobody can lock others out by doing nothing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from reasoningbank_server.idempotency import as_bytes
from reasoningbank_server.limits import Limits
from reasoningbank_server.problems import MEDIA_TYPE, Problem

ABORT = "reasoningbank.abort"
"""The name in the scope of what breaks the connection off at once, whatever has not been read yet."""
MOST_ROOM_SHARE = 20
"""A twentieth of all connections is closed at a time, so that a flood does not mean a search among all for each."""
SAY_AGAIN_AFTER_S = 60.0
_log = logging.getLogger("reasoningbank.serve")


class GuardedProtocol(HttpToolsProtocol):
    limits: ClassVar[Limits] = Limits()
    said_at: ClassVar[float] = -SAY_AGAIN_AFTER_S
    _head_timer: asyncio.TimerHandle | None = None
    _drain_timer: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _in_head = True
    _header_size = 0
    waiting_since = 0.0
    """When the other side was last heard of, or answered."""
    _closing_since: float | None = None
    _unread_since: float | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.waiting_since = time.monotonic()
        if len(self.connections) > self.limits.connections and not self._make_room():
            self._refuse(Problem(503, "busy", "Too many connections: try again."))
            return
        self._await_head()

    def _make_room(self) -> bool:
        """Close those that have kept us waiting longest. False when everybody else waits for us."""
        keeping = [
            other
            for other in self.connections
            if isinstance(other, GuardedProtocol) and other is not self and other.keeps_us_waiting()
        ]
        if not keeping:
            return False
        by_address = Counter(other.address for other in keeping)
        crowd = by_address.most_common(1)[0][0]
        candidates = sorted((peer for peer in keeping if peer.address == crowd), key=lambda peer: peer.waiting_since)
        leaving = candidates[: max(1, self.limits.connections // MOST_ROOM_SHARE)]
        for other in leaving:
            other.transport.abort()
        now, kind = time.monotonic(), type(self)
        if now - kind.said_at >= SAY_AGAIN_AFTER_S:
            kind.said_at = now
            _log.warning(
                "all %d connections are taken, %d by %s: those that have said nothing for longest are closed to let "
                "others in",
                self.limits.connections,
                by_address[crowd],
                crowd,
            )
        return True

    @property
    def address(self) -> str:
        return self.client[0] if self.client else "unknown"

    def keeps_us_waiting(self) -> bool:
        """True if nothing happens here before the other side does something: sends more, or reads."""
        if self.cycle is None or self.cycle.response_complete or self._unread_since is not None:
            return True
        return self.cycle.more_body and not self.cycle.response_started

    def look(self, now: float) -> None:
        """Break off what does not end by itself: an answer that nobody reads, a close that waits for one."""
        if self.transport.is_closing() and self._closing_since is None:
            self._closing_since = now
        closing_s = 0.0 if self._closing_since is None else now - self._closing_since
        unread_s = 0.0 if self._unread_since is None else now - self._unread_since
        if closing_s > self.limits.linger_s or unread_s > self.limits.send_wait_s:
            self.transport.abort()

    def pause_writing(self) -> None:
        self._unread_since = time.monotonic()
        super().pause_writing()

    def resume_writing(self) -> None:
        self._unread_since = None
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._stop_draining()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self.waiting_since = time.monotonic()
        if self._in_head:
            # Counted after the look: the piece that ends a head may bring much of a body along.
            if self._head_bytes > self.limits.header_bytes:
                self._refuse(_TOO_LARGE)
                return
            self._head_bytes += len(data)
        super().data_received(data)
        between = self.cycle is None or self.cycle.response_complete
        if between and self._head_timer is None and self._drain_timer is None and not self.transport.is_closing():
            # Whatever came ended the patience with an idle connection, and began no request that had its own.
            self._await_head()

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
        self._header_size += size
        if self._header_size > self.limits.header_bytes:
            self._refuse(_TOO_LARGE)

    def on_headers_complete(self) -> None:
        self._in_head, self._header_size = False, 0
        self._stop_timer()
        if not self.transport.is_closing():
            scope: Any = self.scope
            scope[ABORT] = self.transport.abort
            super().on_headers_complete()

    def on_response_complete(self) -> None:
        self.waiting_since = time.monotonic()
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
