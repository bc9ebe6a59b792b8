"""Worker pool: several jobs at a time, their leases kept alive, and the jobs of dead workers taken over.

One thread (the caller's) claims, beats and watches; the others work.

Two rules keep one bad job from harming the rest:
- a job whose worker died is run alone, so that if it kills this process too, no neighbour is counted an attempt for
  it;
- an outage stops the claiming, not the jobs: they wait, and a single one is tried again after a pause that doubles.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from queue import Empty, SimpleQueue
from random import Random

from reasoningbank.context import BankContext
from reasoningbank.core.errors import BankError, LeaseLost
from reasoningbank.core.failure import attempt
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import Lease
from reasoningbank.learn import queue
from reasoningbank.learn.lease_monitor import LeaseMonitor
from reasoningbank.learn.process_identity import is_gone, this_process
from reasoningbank.learn.worker import Attempt, End, Teacher, work

WORKERS = 2
BATCH = 10
POLL_S = 1.0
IDLE_EVERY_S = 3600.0
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """Options of a worker pool."""

    workers: int = WORKERS
    batch: int = BATCH
    """Jobs that each worker has in hand at the same time."""
    threads: int | None = None
    """Fewer, where the work is done by this processor and not waited for; None is one a job in hand."""
    watch: bool = False
    """Go on when nothing is left to do."""
    most: int | None = None
    """Stop after so many jobs."""


@contextmanager
def beating(context: BankContext, claim: queue.Claimed) -> Iterator[None]:
    """Keep the lease of one job alive while the block works on it."""
    over = threading.Event()

    def beat() -> None:
        leases = [claim.lease]
        while leases and not over.wait(queue.HEARTBEAT_S):
            try:
                leases = queue.renew(context, leases)
            except BankError:
                # The work itself will meet whatever is wrong with the bank.
                return

    threading.Thread(target=beat, daemon=True).start()
    try:
        yield
    finally:
        over.set()


class Crew:
    """Worker pool of one tenant: `run` it once. It is told to end from any thread or signal handler."""

    def __init__(
        self,
        context: BankContext,
        teachers: Sequence[Teacher],
        shift: Shift,
        *,
        rng: Random,
        on_attempt: Callable[[Attempt], None] | None = None,
        when_idle: Callable[[], None] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._context = context
        self._teachers = tuple(teachers)
        self._shift = shift
        self._rng = rng
        self._on_attempt = on_attempt
        self._when_idle = when_idle
        """Called on watch when nothing is left to do, and then again every hour at most."""
        self._idle_at = float("-inf")
        self._monotonic = monotonic
        # A crew that failed in a process that lives on must not pass for this one.
        self._me = f"{this_process()}{rng.getrandbits(32):x}."
        self._claims = count(1)
        self._watch = LeaseMonitor(monotonic)
        self._hands: dict[str, queue.Claimed] = {}
        self._todo: SimpleQueue[queue.Claimed | None] = SimpleQueue()
        self._ended: SimpleQueue[tuple[str, Attempt | BaseException]] = SimpleQueue()
        self._alone = False
        self._proven = False
        """It has brought a job to its end."""
        self._stopping = threading.Event()
        self._leaving = threading.Event()
        self._pause_s = 0.0
        self._resume_at = 0.0
        self._beaten_at = 0.0
        self._looked_at = float("-inf")
        self._stale: list[Lease] = []
        self._taken = 0
        self.attempts: list[Attempt] = []

    def stop(self) -> None:
        self._stopping.set()
        self._leaving.set()

    def leave_when_idle(self) -> None:
        """End a watch once nothing is left to do: the last attempt is noted, and what is done when idle is done."""
        self._leaving.set()

    def run(self) -> list[Attempt]:
        """Until nothing is due (or, on watch, until it is stopped); gives back how each attempt ended."""
        slots = max(1, self._shift.workers) * max(1, self._shift.batch)
        threads = min(slots, self._shift.threads or slots)
        for _ in range(threads):
            threading.Thread(target=self._hand, daemon=True).start()
        self._beaten_at = self._monotonic()
        try:
            while not self._stopping.is_set():
                has_work = self._claim(slots)
                if not self._hands and not has_work:
                    if not self._shift.watch or self._is_full():
                        break
                    self._rest()
                    if self._leaving.is_set():
                        break
                self._collect()
                self._beat()
        finally:
            self._leave()
            for _ in range(threads):
                self._todo.put(None)
        return self.attempts

    def _rest(self) -> None:
        now = self._monotonic()
        if self._when_idle is not None and now - self._idle_at >= IDLE_EVERY_S:
            self._idle_at = now
            self._when_idle()
        self._leaving.wait(POLL_S)

    # ------------------------------------------------------------ claiming

    def _claim(self, slots: int) -> bool:
        """Take what may be taken; False when there is nothing that could be."""
        if self._alone or self._is_full():
            return bool(self._hands)
        now = self._monotonic()
        if now < self._resume_at:
            return False
        self._look(now)
        if self._stale and not self._proven and not self._hands:
            # Where workers die young, from without, the jobs of the dead wait for one that has lived through another.
            self._take(queue.claim(self._context, self._owner(), min(1, self._jobs_left())))
            if self._hands:
                return True
        if self._stale:
            # First let the others end, then run it alone.
            return bool(self._hands) or self._take_over()
        while (amount := self._jobs_to_claim(slots)) > 0:
            claims = queue.claim(self._context, self._owner(), amount)
            self._take(claims)
            if len(claims) < amount:
                break
        return bool(self._hands)

    def _jobs_to_claim(self, slots: int) -> int:
        """How many jobs to claim now: whole batches, or half a batch to keep the hands full, and not one by one."""
        if self._resume_at:
            # After an outage one job shows whether it is over.
            return 0 if self._hands else min(1, self._jobs_left())
        amount = min(slots - len(self._hands), self._shift.batch, self._jobs_left())
        return amount if not self._hands or amount >= min(max(1, self._shift.batch // 2), self._jobs_left()) else 0

    def _look(self, now: float) -> None:
        if self._hands and now - self._looked_at < POLL_S:
            return
        self._looked_at = now
        with self._context.store.read(self._context.tenant) as reader:
            leases = queue.held_by_others(reader, self._me)
        self._stale = self._watch.stale(leases, is_gone)

    def _take_over(self) -> bool:
        while self._stale:
            claims = queue.take_over(self._context, self._owner(), self._stale.pop(0))
            if claims:
                self._alone = True
                self._take(claims)
                return True
        return True

    def _take(self, claims: Sequence[queue.Claimed]) -> None:
        for item in claims:
            self._hands[item.job.id] = item
            self._taken += 1
            self._todo.put(item)

    def _owner(self) -> str:
        return f"{self._me}{next(self._claims)}"

    def _jobs_left(self) -> int:
        return (1 << 30) if self._shift.most is None else max(0, self._shift.most - self._taken)

    def _is_full(self) -> bool:
        return self._jobs_left() == 0

    # ------------------------------------------------------------ working

    def _hand(self) -> None:
        rng = Random(self._rng.getrandbits(64))  # noqa: S311 - jitter
        while (item := self._todo.get()) is not None:
            result, error = attempt(partial(work, self._context, item, self._teachers, rng))
            end = result or error
            assert end is not None
            self._ended.put((item.job.id, end))
            del result, error, end

    def _collect(self) -> None:
        """Wait for one attempt to end, then take all that have."""
        wait_s = min(POLL_S, queue.HEARTBEAT_S)
        while self._hands:
            try:
                job_id, end = self._ended.get(timeout=wait_s)
            except Empty:
                return
            wait_s = 0.0
            self._hands.pop(job_id, None)
            self._alone = False
            if isinstance(end, BaseException):
                raise end
            self._note(end)

    def _note(self, result: Attempt) -> None:
        self.attempts.append(result)
        self._proven |= result.end is End.DONE
        if self._shift.watch:
            # Whoever watches for months need not remember every job of them.
            del self.attempts[:-10_000]
        if result.end is End.PUT_OFF:
            # Those that were under way when it began all report it; only what was tried after a pause doubles it.
            if self._monotonic() >= self._resume_at:
                self._pause_s = min(LONGEST_PAUSE_S, max(FIRST_PAUSE_S, 2 * self._pause_s))
                self._resume_at = self._monotonic() + self._pause_s * (0.5 + 0.5 * self._rng.random())
        elif result.end is not End.LOST:
            self._pause_s = self._resume_at = 0.0
        if self._on_attempt is not None:
            self._on_attempt(result)

    # ------------------------------------------------------------ keeping leases

    def _beat(self) -> None:
        now = self._monotonic()
        if not self._hands or now - self._beaten_at < queue.HEARTBEAT_S:
            return
        self._beaten_at = now
        leases = queue.renew(self._context, [item.lease for item in self._hands.values()])
        for lease in leases:
            self._hands[lease.job_id] = replace(self._hands[lease.job_id], lease=lease)

    def _leave(self) -> None:
        """Give back what is not done. An answer that comes later finds its lease gone and is dropped."""
        for item in self._hands.values():
            try:
                queue.put_off(self._context, item, "The worker was stopped.", 0.0)
            except LeaseLost:
                continue
            except BankError:
                # The bank fails: whoever comes next sees that this process is gone.
                break
