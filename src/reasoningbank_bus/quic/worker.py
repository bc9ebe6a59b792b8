"""The one thread in which the node runs: where the asynchronous transport crosses into the synchronous node.

The node is one state machine and its log waits for the disk, so it gets one thread, and work for it is handed over in
batches: what arrives while the disk is written becomes the next batch.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, Protocol

from reasoningbank.core.failure import attempt
from reasoningbank_bus.node.effects import Close, Effect

_LOG = logging.getLogger(__name__)
NodeWork = Callable[[float], Sequence[Effect]]
"""Something to do with the node at a time; what is to be done then."""


class DrivenNode(Protocol):
    """The node (`bus.node`), as the transport sees it."""

    def connected(self, peer: bytes, now: float, *, address: str = "") -> list[Effect]: ...

    def disconnected(self, peer: bytes, now: float) -> list[Effect]: ...

    def tell_of_second(self, peer: bytes, now: float) -> list[Effect]: ...

    def receive(self, peer: bytes, channel: int, frame: bytes, now: float) -> list[Effect]: ...

    def tick(self, now: float) -> list[Effect]: ...

    def next_tick(self, now: float) -> float: ...


class NodeJob(NamedTuple):
    work: NodeWork
    peer: bytes | None = None
    """The peer whose frame it is: if it cannot be worked on, the connection of this peer is closed."""
    done: Future[None] | None = None


class NodeThread:
    def __init__(self, node: DrivenNode) -> None:
        self._node = node
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="bus-node")

    async def perform(self, jobs: Sequence[NodeJob]) -> tuple[list[Effect], float]:
        """Effects of these jobs, and when the node wants to look at the clock again."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._perform, jobs, loop.time)

    def stop(self) -> None:
        self._thread.shutdown(wait=True)

    def _perform(self, jobs: Sequence[NodeJob], clock: Callable[[], float]) -> tuple[list[Effect], float]:
        effects: list[Effect] = []
        for job in jobs:
            fresh, error = attempt(lambda job=job: job.work(clock()))  # type: ignore[misc]
            if error is not None:
                effects += self._after_failure(job, error)
            effects += fresh or ()
            if job.done is not None:
                job.done.set_result(None) if error is None else job.done.set_exception(error)
        now = clock()
        if self._node.next_tick(now) <= now:
            fresh, error = attempt(lambda: self._node.tick(clock()))
            effects += fresh or ()
            if error is not None:
                effects += self._after_failure(NodeJob(self._node.tick), error)
        return effects, self._node.next_tick(clock())

    def _after_failure(self, job: NodeJob, error: BaseException) -> list[Effect]:
        """Effects of a job that failed. What was not acknowledged comes again: a full disk or a fault of ours costs
        a connection, not the node.
        """
        if not isinstance(error, Exception):
            raise error
        if job.done is None:
            _LOG.warning("The bus could not work on what came: %s: %s", type(error).__name__, error)
        return [] if job.peer is None else [Close(job.peer, "over_limit", "This side could not keep what came.")]
