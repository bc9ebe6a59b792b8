"""Thread pools for calls of the bank, shared out fairly among the tenants.

The bank is synchronous; here, and only here, its calls leave the loop. A tenant alone gets as many threads for
searching as can really run at once (one where everything happens in the interpreter: a second would only get in its
way), a few for reading, many for writing, because those wait for one commit together, two for what takes long, and one
for what is large. There are more threads than one tenant may hold, and those who wait come in turn: whatever one tenant
sends, and however long it takes, there is a thread for the next. Questions that wait together share one call of the
embedding model.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from reasoningbank.core.failure import attempt
from reasoningbank.core.frozen import dataclass
from reasoningbank.serve.turns import Turns
from reasoningbank_server.problems import Problem

HOUSE = ""
"""In place of a tenant, for what the server does for all of them, or clears away: it is never refused."""
MOST_TOGETHER = 8
MOST_TEXT_TOGETHER_CHARS = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Width:
    """Number of threads of a pool: for one tenant, and in all."""

    each: int
    most: int


WIDTHS = {
    "reading": Width(each=2, most=6),
    "writing": Width(each=32, most=48),
    "slow": Width(each=2, most=6),
    "large": Width(each=1, most=2),
    "tools": Width(each=8, most=16),
    "checking": Width(each=1, most=2),
    "tokens": Width(each=8, most=16),
}


def searching_width(embedder: str) -> Width:
    match embedder:
        case "hash":
            return Width(each=1, most=4)
        case "local":
            # The model lets go of the interpreter while it computes.
            each = max(1, min(4, os.cpu_count() or 1))
            return Width(each=each, most=each + 3)
        case _:
            # A network call away.
            return Width(each=8, most=16)


class PoolJob:
    __slots__ = ("future", "loop", "text", "work")

    def __init__(
        self, work: Callable[[], Any], loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any], text: str | None
    ) -> None:
        self.work = work
        self.loop = loop
        self.future = future
        self.text = text
        """The text that this job will have embedded, if any."""

    def run(self) -> None:
        # Kept by no name: an error that a frame below it knows holds on to the request until somebody collects circles.
        with suppress(RuntimeError):  # the loop has ended meanwhile, and with it whoever waited
            self.loop.call_soon_threadsafe(self._settle, *attempt(self.work))

    def _settle(self, result: Any, error: BaseException | None) -> None:
        future = self.future
        del self.future, self.work
        # Whoever waited may have hung up; the work is done all the same.
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


class Lane:
    def __init__(
        self,
        name: str,
        width: Width,
        most_waiting: int,
        most_waiting_each: int,
        embed_together: Callable[[Sequence[str]], object] | None = None,
    ) -> None:
        self._name = name
        self._width = width
        self._most_waiting = most_waiting
        self._most_waiting_each = most_waiting_each
        self._embed_together = embed_together
        self._turns: Turns[PoolJob] = Turns(width.each)
        self._lock = threading.Lock()
        """Guards the turns and the counts; held for a moment only."""
        self._under_way = 0
        self._ending = False
        self._begun: queue.SimpleQueue[tuple[str, PoolJob] | None] = queue.SimpleQueue()
        """The next jobs for threads: never more than there are threads."""
        self._threads: list[threading.Thread] = []

    @property
    def waiting(self) -> int:
        return self._turns.waiting

    @property
    def busy(self) -> bool:
        return self._under_way > 0

    def submit(self, work: Callable[[], Any], text: str | None = None, *, tenant: str = HOUSE) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        with self._lock:
            if tenant != HOUSE:
                self._check_room(tenant)
            self._turns.put(tenant, PoolJob(work, loop, future, text))
            self._begin()
        return future

    def _check_room(self, tenant: str) -> None:
        if self._turns.waiting_of(tenant) >= self._most_waiting_each:
            detail = "Too many requests of this tenant are waiting already: wait for their answers first."
            raise Problem(429, "tenant_busy", detail, _RETRY)
        if self._turns.waiting >= self._most_waiting:
            raise Problem(503, "busy", "Too much is waiting already: try again.", _RETRY)

    def _begin(self) -> None:
        """Hand what may begin to threads. The lock is held."""
        while self._under_way < self._width.most and (next_one := self._turns.begin()) is not None:
            self._under_way += 1
            if self._under_way > len(self._threads):
                name = f"reasoningbank-{self._name}-{len(self._threads)}"
                self._threads.append(threading.Thread(target=self._work, name=name, daemon=True))
                self._threads[-1].start()
            self._begun.put(next_one)

    def _work(self) -> None:
        # What was done is forgotten before the next is waited for: a thread may rest for hours.
        while self._do_next():
            pass

    def _do_next(self) -> bool:
        """False when told to end."""
        entry = self._begun.get()
        if entry is None:
            return False
        tenant, job = entry
        try:
            if job.text is None or self._embed_together is None or not self._turns.waiting:
                job.run()
            else:
                self._run_together(job, self._embed_together)
        finally:
            with self._lock:
                self._under_way -= 1
                self._turns.end(tenant)
                self._begin()
                if self._ending and not self._under_way:
                    self._end_threads()
        return True

    def _run_together(self, first: PoolJob, embed: Callable[[Sequence[str]], object]) -> None:
        """Embed what is asked by all who wait now, then answer each."""
        with self._lock:
            jobs = [first, *self._turns.take_along(MOST_TOGETHER - 1)]
        texts = _that_fit([job.text for job in jobs if job.text is not None])
        if len(texts) > 1:
            # Each job asks again for itself, and meets its own error.
            with suppress(Exception):
                embed(texts)
        for job in jobs:
            job.run()

    def close(self) -> None:
        """Finish what waits, then end the threads."""
        with self._lock:
            self._ending = True
            if not self._under_way:
                self._end_threads()
        for thread in self._threads:
            thread.join(timeout=30.0)

    def _end_threads(self) -> None:
        for _ in self._threads:
            self._begun.put(None)


_RETRY = ((b"retry-after", b"1"),)


def _that_fit(texts: Sequence[str]) -> list[str]:
    """As many of the texts as the cache of the embedder takes at once."""
    fitting: list[str] = []
    room = MOST_TEXT_TOGETHER_CHARS
    for text in texts:
        if len(text) <= room:
            fitting.append(text)
            room -= len(text)
    return fitting
