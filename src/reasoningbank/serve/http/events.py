"""Server-sent events: the changes of one tenant as they happen.

One follower reads the feed for all streams of this process; each stream picks its tenant's changes from what was read
lately, or from the records when it is further behind. So a slow reader costs no memory, and one that comes back with
its Last-Event-ID misses nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from itertools import takewhile

from reasoningbank.core.errors import BankError, Refused
from reasoningbank.core.types import Change
from reasoningbank.ports import Store
from reasoningbank.serve.http.answer import SAFE, Receive, Send, hung_up
from reasoningbank.serve.http.lanes import Lane
from reasoningbank.serve.http.limits import Limits
from reasoningbank.serve.http.problems import Problem
from reasoningbank.serve.http.request import Request
from reasoningbank.serve.http.routes.feed import PURPOSE, change_json
from reasoningbank.serve.http.seal import Seal
from reasoningbank.serve.identity import Principal

POLL_S = 0.25
"""Other processes write to the same bank; this is how soon their changes are seen."""
GATHER_S = 0.02
HEARTBEAT_S = 15.0
PAGE = 1_000
RECENT = 5_000


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
        self._open: Counter[tuple[str, str]] = Counter()
        self.ending = asyncio.Event()

    @property
    def streams(self) -> int:
        return self._open.total()

    def nudge(self) -> None:
        """Something was written here just now."""
        if self._task is not None:
            self._nudged.set()

    def end(self) -> None:
        """Let every stream finish, so that the server can."""
        self.ending.set()
        self._moved.set()
        self._nudged.set()

    # ------------------------------------------------------------ following

    async def _follow(self) -> None:
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
        while rows := await self._lane.submit(lambda: self._store.changes(self._head, PAGE)):
            self._recent.extend(rows)
            self._head = rows[-1].seq
            moved, self._moved = self._moved, asyncio.Event()
            moved.set()
            if len(rows) < PAGE:
                break

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
        again: Callable[[], Principal],
    ) -> None:
        """`again` resolves the credentials once more: a revoked token ends its streams too."""
        principal = request.known()
        who = (principal.tenant, principal.name)
        if self.streams >= self._limits.streams or self._open[who] >= self._limits.streams_each:
            raise Problem(429, "rate_limited", "Too many open streams: close one first.", ((b"retry-after", b"5"),))
        self._open[who] += 1
        try:
            if self._task is None:
                self._head = await self._lane.submit(self._store.head)
                self._recent.clear()
                if self._task is None:
                    self._task = asyncio.create_task(self._follow())
            place = self._head if after is None else self._place(principal.tenant, after)
            await self._send_events(principal.tenant, place, receive, send, again)
        finally:
            self._open[who] -= 1
            if not self._open[who]:
                del self._open[who]

    def _place(self, tenant: str, after: str) -> int:
        return 0 if after in ("", "0") else self._seal.opened_number(tenant, PURPOSE, after)

    async def _send_events(
        self, tenant: str, place: int, receive: Receive, send: Send, again: Callable[[], Principal]
    ) -> None:
        headers = [*SAFE, (b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._send(send, f"retry: 1000\n: from {self._seal.number(tenant, PURPOSE, place)}\n\n")
        gone = asyncio.create_task(hung_up(receive))
        try:
            while not gone.done() and not self.ending.is_set():
                moved = self._moved
                rows = await self._after(place)
                if rows:
                    place = rows[-1].seq
                    text = "".join(self._event(change) for change in rows if change.tenant == tenant)
                    if text:
                        await self._send(send, text)
                    continue
                if not await _either(moved, gone, HEARTBEAT_S):
                    again()
                    await self._send(send, ": still here\n\n")
        except (Refused, TimeoutError):
            pass
        finally:
            gone.cancel()
        await send({"type": "http.response.body", "body": b""})

    def _event(self, change: Change) -> str:
        shown = change_json(self._seal, change)
        return f"id: {shown['cursor']}\nevent: change\ndata: {json.dumps(shown, ensure_ascii=False)}\n\n"

    async def _send(self, send: Send, text: str) -> None:
        async with asyncio.timeout(self._limits.send_wait_s):
            await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


async def _either(moved: asyncio.Event, gone: asyncio.Task[None], within_s: float) -> bool:
    """False when neither happened in time."""
    waiting = asyncio.create_task(moved.wait())
    try:
        done, _ = await asyncio.wait({waiting, gone}, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
    return bool(done)
