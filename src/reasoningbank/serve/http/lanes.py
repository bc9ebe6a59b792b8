"""Threads for what would keep the event loop waiting.

The bank is synchronous; here, and only here, its calls leave the loop. There are as many threads for searching as can
really run at once (one where everything happens in the interpreter: a second would only get in its way), a few for
reading, many for writing, because those wait for one commit together, and two for what takes long. Questions that wait
together share one call of the embedding model.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from reasoningbank.serve.http.problems import Problem

READING_THREADS = 2
WRITING_THREADS = 32
SLOW_THREADS = 2
MOST_TOGETHER = 8
MOST_TEXT_TOGETHER_CHARS = 4_000


def searching_threads(embedder: str) -> int:
    match embedder:
        case "hash":
            return 1
        case "local":
            # The model lets go of the interpreter while it computes.
            return max(1, min(4, os.cpu_count() or 1))
        case _:
            # A network call away.
            return 8


class Job:
    __slots__ = ("future", "loop", "text", "work")

    def __init__(
        self, work: Callable[[], Any], loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any], text: str | None
    ) -> None:
        self.work = work
        self.loop = loop
        self.future = future
        self.text = text
        """What this job will have embedded, if anything."""

    def run(self) -> None:
        try:
            result, error = self.work(), None
        except BaseException as raised:  # noqa: BLE001 - handed to whoever waits for it
            result, error = None, raised
        self.loop.call_soon_threadsafe(self._settle, result, error)

    def _settle(self, result: Any, error: BaseException | None) -> None:
        # Whoever waited may have hung up; the work is done all the same.
        if self.future.done():
            return
        if error is None:
            self.future.set_result(result)
        else:
            self.future.set_exception(error)


class Lane:
    def __init__(
        self,
        name: str,
        threads: int,
        most_waiting: int,
        embed_together: Callable[[Sequence[str]], object] | None = None,
    ) -> None:
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._most_waiting = most_waiting
        self._embed_together = embed_together
        self._working = [False] * threads
        """By thread, each of which writes its own place: a count would need a lock."""
        self._threads = [
            threading.Thread(target=self._work, args=(number,), name=f"reasoningbank-{name}-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def waiting(self) -> int:
        return self._jobs.qsize()

    @property
    def busy(self) -> bool:
        return any(self._working) or not self._jobs.empty()

    def submit(self, work: Callable[[], Any], text: str | None = None) -> asyncio.Future[Any]:
        if self._jobs.qsize() >= self._most_waiting:
            raise Problem(503, "busy", "Too much is waiting already: try again.", ((b"retry-after", b"1"),))
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._jobs.put(Job(work, loop, future, text))
        return future

    def _work(self, number: int) -> None:
        while (job := self._jobs.get()) is not None:
            self._working[number] = True
            if job.text is None or self._embed_together is None or self._jobs.empty():
                job.run()
            elif not self._run_together(job, self._embed_together):
                return
            self._working[number] = False

    def _run_together(self, first: Job, embed: Callable[[Sequence[str]], object]) -> bool:
        """Embed what is asked by all who wait now, then answer each. False when told to end."""
        jobs, going_on = [first], True
        while len(jobs) < MOST_TOGETHER:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                going_on = False
                break
            jobs.append(job)
        texts = _that_fit([job.text for job in jobs if job.text is not None])
        if len(texts) > 1:
            # Each job asks again for itself, and meets its own error.
            with suppress(Exception):
                embed(texts)
        for job in jobs:
            job.run()
        return going_on

    def close(self) -> None:
        """Finish what waits, then end the threads."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join(timeout=30.0)


def _that_fit(texts: Sequence[str]) -> list[str]:
    """As many as the cache of the embedder takes at once."""
    fitting: list[str] = []
    room = MOST_TEXT_TOGETHER_CHARS
    for text in texts:
        if len(text) <= room:
            fitting.append(text)
            room -= len(text)
    return fitting
