"""Server-sent events: the changes of one tenant as they happen.

One follower reads the feed for all streams of this process; each stream picks its tenant's changes from what was read
lately, or from the records when it is further behind. So a slow reader costs no memory, and one that comes back with
its Last-Event-ID misses nothing.

A stream lasts as long as its credentials. They are looked at before each event, and by the follower while there is
none: a token that is revoked, here or by another process, or that expires, hears nothing more.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from itertools import takewhile

from reasoningbank.core.errors import BankError
from reasoningbank.core.types import Change
from reasoningbank.ports import Store
from reasoningbank_server.answer import SAFE, Receive, Send, hung_up
from reasoningbank_server.cursors import Seal
from reasoningbank_server.limits import Limits
from reasoningbank_server.problems import Problem
from reasoningbank_server.request import Request
from reasoningbank_server.routes.feed import PURPOSE, change_json
from reasoningbank_server.thread_pools import Lane

POLL_S = 0.25
"""Other processes write to the same bank; this is how soon their changes are seen, where the store tells nobody."""
GATHER_S = 0.02
HEARTBEAT_S = 15.0
FAREWELL_S = 0.5
"""For the last bytes of a stream that ends; after that the connection is broken off."""
PAGE = 1_000
RECENT = 5_000


class _Stream:
    """One listener: whose it is, whether it may still listen, and a signal that it is over."""

    def __init__(self, request: Request) -> None:
        principal = request.known()
        self.tenant = principal.tenant
        self.who = (principal.tenant, principal.name)
        self.still_stands = request.still_stands
        self.over = asyncio.Event()


class Hub:
    def __init__(self, store: Store, lane: Lane, seal: Seal, limits: Limits) -> None:
        self._store = store
        self._lane = lane
        self._seal = seal
        self._limits = limits
        self._recent: deque[Change] = deque(maxlen=RECENT)
        self._head = -1
        self._moved = asyncio.Event()
        self._nudged = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._open: dict[_Stream, None] = {}
        """The oldest first."""
        self.ending = asyncio.Event()

    @property
    def streams(self) -> int:
        return len(self._open)

    def nudge(self) -> None:
        """Something was written here just now."""
        if self._task is not None:
            self._nudged.set()

    def end(self) -> None:
        """Let every stream finish, so that the server can."""
        self.ending.set()
        for stream in self._open:
            stream.over.set()
        self._nudged.set()

    # ------------------------------------------------------------ following

    async def _follow(self) -> None:
        loop = asyncio.get_running_loop()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(self._nudged.set)

        with self._store.listen(wake):
            while self._open and not self.ending.is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_S):
                        await self._nudged.wait()
                # What is written in a burst is read at once.
                await asyncio.sleep(GATHER_S)
                self._nudged.clear()
                with suppress(BankError, Problem):
                    await self._read()
        self._task = None

    async def _read(self) -> None:
        while True:
            rows, invalid = await self._lane.submit(self._look)
            for stream in invalid:
                stream.over.set()
            if rows:
                self._recent.extend(rows)
                self._head = rows[-1].seq
                event, self._moved = self._moved, asyncio.Event()
                event.set()
            if len(rows) < PAGE:
                break

    def _look(self) -> tuple[list[Change], list[_Stream]]:
        """New changes, and the streams whose credentials have ended."""
        rows = self._store.changes(self._head, PAGE)
        return rows, [stream for stream in tuple(self._open) if not stream.still_stands()]

    async def _after(self, place: int) -> list[Change]:
        """The next changes of all tenants behind a place; empty when there is none yet."""
        if place >= self._head:
            return []
        if self._recent and self._recent[0].seq <= place + 1:
            newer = list(takewhile(lambda change: change.seq > place, reversed(self._recent)))
            return newer[::-1]
        rows: list[Change] = await self._lane.submit(lambda: self._store.changes(place, PAGE))
        return rows

    # ------------------------------------------------------------ one stream

    async def stream(
        self,
        request: Request,
        receive: Receive,
        send: Send,
        *,
        after: str | None,
        abort: Callable[[], None] | None,
    ) -> None:
        """Send changes until the stream is over. `abort` breaks the connection off when its end cannot be told,
        because nobody reads it.
        """
        stream = _Stream(request)
        self._make_room(stream)
        self._open[stream] = None
        try:
            if self._task is None:
                self._head = await self._lane.submit(self._store.head)
                self._recent.clear()
                if self._task is None:
                    self._task = asyncio.create_task(self._follow())
            if after is None:
                place = self._head
            else:
                place = 0 if after in ("", "0") else self._seal.opened_number(stream.tenant, PURPOSE, after)
            await self._send_events(stream, place, receive, send)
            await _end(send, abort)
        finally:
            del self._open[stream]

    def _make_room(self, coming: _Stream) -> None:
        """Where all streams are taken, whoever holds most of them gives one up for a tenant that has fewer."""
        if sum(stream.who == coming.who for stream in self._open) >= self._limits.streams_each:
            raise _too_many()
        if len(self._open) < self._limits.streams:
            return
        counts = Counter(stream.tenant for stream in self._open if not stream.over.is_set())
        if counts.total() < self._limits.streams:
            return
        tenant, most = counts.most_common(1)[0]
        if most <= counts[coming.tenant] + 1:
            raise _too_many()
        # It comes back with its Last-Event-ID, and misses nothing.
        next(stream for stream in self._open if stream.tenant == tenant and not stream.over.is_set()).over.set()

    async def _send_events(self, stream: _Stream, place: int, receive: Receive, send: Send) -> None:
        headers = [*SAFE, (b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._send(stream, send, f"retry: 1000\n: from {self._seal.number(stream.tenant, PURPOSE, place)}\n\n")
        hangup = asyncio.create_task(hung_up(receive))
        hangup.add_done_callback(lambda _: stream.over.set())
        try:
            while not stream.over.is_set() and not self.ending.is_set():
                event = self._moved
                rows = await self._after(place)
                if rows:
                    place = rows[-1].seq
                    text = "".join(self._event(change) for change in rows if change.tenant == stream.tenant)
                    # After the rows were read: what was written behind a revocation is told to nobody.
                    if text and not await self._lane.submit(stream.still_stands):
                        return
                    if text:
                        await self._send(stream, send, text)
                elif not await _either(event, stream.over, HEARTBEAT_S):
                    await self._send(stream, send, ": still here\n\n")
        finally:
            hangup.cancel()

    def _event(self, change: Change) -> str:
        fields = change_json(self._seal, change)
        return f"id: {fields['cursor']}\nevent: change\ndata: {json.dumps(fields, ensure_ascii=False)}\n\n"

    async def _send(self, stream: _Stream, send: Send, text: str) -> None:
        """Returns when it is sent, or when the stream is over and whoever should read it does not."""
        sending = asyncio.ensure_future(send({"type": "http.response.body", "body": text.encode(), "more_body": True}))
        over = asyncio.create_task(stream.over.wait())
        try:
            await asyncio.wait({sending, over}, timeout=self._limits.send_wait_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            over.cancel()
            if not sending.done():
                sending.cancel()
                stream.over.set()


async def _end(send: Send, abort: Callable[[], None] | None) -> None:
    try:
        async with asyncio.timeout(FAREWELL_S):
            await send({"type": "http.response.body", "body": b""})
    except TimeoutError:
        if abort is not None:
            abort()


async def _either(event: asyncio.Event, over: asyncio.Event, within_s: float) -> bool:
    """False when neither happened in time."""
    waiting = {asyncio.create_task(event.wait()), asyncio.create_task(over.wait())}
    try:
        ready, _ = await asyncio.wait(waiting, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
    return bool(ready)


def _too_many() -> Problem:
    return Problem(429, "rate_limited", "Too many open streams: close one first.", ((b"retry-after", b"5"),))
