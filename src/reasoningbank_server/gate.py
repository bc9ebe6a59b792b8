"""Gate that lets so many large requests in at once, one tenant after the other.

Knows who is inside and who waits. Lives on the event loop: who waits holds no thread, and nothing of what it brings is
read meanwhile.
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
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._turns.put(tenant, admitted)
        self._let_in()
        try:
            try:
                async with asyncio.timeout(self._wait_s):
                    await admitted
            except TimeoutError:
                raise _come_back() from None
            yield
        finally:
            if admitted.done() and not admitted.cancelled():
                self._leave(tenant)

    def _let_in(self) -> None:
        while self.inside < self._most and (turn := self._turns.begin()) is not None:
            tenant, admitted = turn
            if admitted.done():
                # It went away while it waited.
                self._turns.end(tenant)
            else:
                self.inside += 1
                admitted.set_result(None)

    def _leave(self, tenant: str) -> None:
        self.inside -= 1
        self._turns.end(tenant)
        self._let_in()


def _come_back() -> Problem:
    told = "Too many large requests of this tenant are under way: wait for their answers first."
    return Problem(429, "tenant_busy", told, ((b"retry-after", b"5"),))
