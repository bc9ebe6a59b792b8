"""Gate that lets so many large requests in at once, one tenant after the other.

Lives on the event loop: who waits holds no thread, and nothing of what it brings is read meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from reasoningbank.serve.turns import Turns
from reasoningbank_server.problems import Problem


class Gate:
    def __init__(self, *, each: int, most: int, wait_s: float) -> None:
        """`each` may be inside of one tenant, `most` of all; who waits longer than `wait_s` is told to come back."""
        self._most = most
        self._wait_s = wait_s
        self._turns: Turns[asyncio.Future[None]] = Turns(each)
        self.inside = 0

    @asynccontextmanager
    async def passed(self, tenant: str) -> AsyncIterator[None]:
        ticket: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._turns.put(tenant, ticket)
        self._let_in()
        try:
            try:
                async with asyncio.timeout(self._wait_s):
                    await ticket
            except TimeoutError:
                detail = "Too many large requests of this tenant are under way: wait for their answers first."
                raise Problem(429, "tenant_busy", detail, ((b"retry-after", b"5"),)) from None
            yield
        finally:
            if ticket.done() and not ticket.cancelled():
                self.inside -= 1
                self._turns.end(tenant)
                self._let_in()

    def _let_in(self) -> None:
        while self.inside < self._most and (turn := self._turns.begin()) is not None:
            tenant, ticket = turn
            if ticket.done():
                # It went away while it waited.
                self._turns.end(tenant)
            else:
                self.inside += 1
                ticket.set_result(None)
