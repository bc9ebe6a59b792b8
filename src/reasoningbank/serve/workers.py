"""Workers inside a server: distils the finished sessions of every tenant while it serves.

One thread looks once a second whose jobs wait, and gives such a tenant a crew of its own; a few tenants have one at the
same time, and where more wait, they take turns. Leases, attempts and outages are the crew's business
(`learn.worker_pool`), so any number of servers and other workers may be at one bank.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from reasoningbank.bank.bank import Bank
from reasoningbank.core.errors import BankError, InvalidInput
from reasoningbank.core.failure import attempt
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import Episode, Verdict
from reasoningbank.core.types import EVERY_NAMESPACE
from reasoningbank.learn.worker import Attempt, Teacher
from reasoningbank.learn.worker_pool import BATCH, WORKERS, Crew, Shift
from reasoningbank.ports import Judge, Store

LOOK_S = 1.0
TENANTS_AT_ONCE = 4
TURN_S = 60.0
"""For how long a tenant keeps its crew while another one waits for a place."""
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 300.0
END_WITHIN_S = 10.0
_log = logging.getLogger("reasoningbank.workers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Staffing:
    """Options of the workers: how many, and for how many tenants at a time."""

    workers: int = WORKERS
    """Workers of each crew; 0 is nobody."""
    batch: int = BATCH
    tenants: int = TENANTS_AT_ONCE
    turn_s: float = TURN_S
    only: str | None = None
    """The one tenant to work for; None is all."""
    consolidates: bool = False
    """True if memories are consolidated, when that is due, once the last session has been distilled."""


MakeWay = Callable[[threading.Event], None]
"""Waits for a moment in which nobody is being served; not long, and not when the event is set."""


class Courteous:
    """Judge that lets requests go first. It is what every job meets before any hard work is done."""

    def __init__(self, judge: Judge, make_way: Callable[[], None]) -> None:
        self._judge = judge
        self._make_way = make_way

    @property
    def name(self) -> str:
        return self._judge.name

    def judge(self, episode: Episode) -> Verdict:
        self._make_way()
        return self._judge.judge(episode)


class _Turn:
    """A tenant's crew and the thread that runs it."""

    def __init__(self, crew: Crew, thread: threading.Thread, began_at: float) -> None:
        self.crew = crew
        self.thread = thread
        self.began_at = began_at


class Workers:
    """Distils while the server runs: `start` it, `stop` it from anywhere, `close` it before the bank is closed."""

    def __init__(
        self,
        store: Store,
        bank_of: Callable[[str], Bank],
        staffing: Staffing,
        *,
        make_way: MakeWay,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._bank_of = bank_of
        self._staffing = staffing
        self._make_way = make_way
        self._monotonic = monotonic
        self._turns: dict[str, _Turn] = {}
        self._served_at: dict[str, float] = {}
        """When each tenant that still has jobs had its last turn."""
        self._pauses: dict[str, tuple[float, float]] = {}
        """After a crew failed: until when its tenant waits, and for how long that was. Under the lock."""
        self._pausing = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self.ends: Counter[str] = Counter()
        """How the attempts of this process ended."""

    @property
    def at_work(self) -> bool:
        return self._thread is not None and self._thread.is_alive() and not self._stopping.is_set()

    @property
    def crews(self) -> int:
        return len(self._turns)

    def start(self) -> None:
        if self._staffing.workers and not self._store.info.read_only:
            self._thread = threading.Thread(target=self._run, name="reasoningbank-workers", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Take on nothing more. What is not done is given back."""
        self._stopping.set()
        for turn in list(self._turns.values()):
            turn.crew.stop()

    def close(self) -> None:
        self.stop()
        until = self._monotonic() + END_WITHIN_S
        threads = [turn.thread for turn in list(self._turns.values())]
        for thread in (self._thread, *threads):
            if thread is not None:
                thread.join(max(0.0, until - self._monotonic()))

    # ------------------------------------------------------------ the thread that looks

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._make_way(self._stopping)
            try:
                self._look()
            except BankError as error:
                # The bank is busy or fails: those who are being served are told so, the jobs wait.
                _log.warning("cannot look for jobs: %s", error)
            self._stopping.wait(LOOK_S)

    def _look(self) -> None:
        now = self._monotonic()
        having = set(self._store.tenants_with_jobs())
        if self._staffing.only is not None:
            having &= {self._staffing.only}
        self._turns = {tenant: turn for tenant, turn in self._turns.items() if turn.thread.is_alive()}
        self._served_at = {tenant: at for tenant, at in self._served_at.items() if tenant in having}
        with self._pausing:
            self._pauses = {tenant: pause for tenant, pause in self._pauses.items() if tenant in having}
            resting = {tenant for tenant, (until, _) in self._pauses.items() if now < until}
        longest_unserved = sorted(having, key=lambda tenant: self._served_at.get(tenant, float("-inf")))
        wanting = [tenant for tenant in longest_unserved if tenant not in self._turns and tenant not in resting]
        for tenant, turn in self._turns.items():
            self._served_at[tenant] = now
            if tenant not in having:
                turn.crew.leave_when_idle()
            elif wanting and now - turn.began_at >= self._staffing.turn_s:
                turn.crew.stop()
        for tenant in wanting[: max(0, self._staffing.tenants - len(self._turns))]:
            self._begin(tenant, now)

    def _begin(self, tenant: str, now: float) -> None:
        try:
            crew = self._crew_for(self._bank_of(tenant))
        except InvalidInput as error:
            _log.warning("nobody distils: %s", error)
            crew = None
        if crew is None:
            # Left to the host, or to nobody. It costs a look now and then to find out.
            self._pause(tenant, LONGEST_PAUSE_S)
            return
        thread = threading.Thread(target=self._work, args=(tenant, crew), name="reasoningbank-crew", daemon=True)
        self._turns[tenant] = _Turn(crew, thread, now)
        thread.start()
        if self._stopping.is_set():
            crew.stop()

    def _crew_for(self, bank: Bank) -> Crew | None:
        staffing = self._staffing
        shift = Shift(workers=staffing.workers, batch=staffing.batch, watch=True)
        if not bank.learning.patient:
            # The work is this interpreter's own: a second thread would make no more of it, and searches wait twice.
            shift = replace(shift, threads=1)
        tidy = partial(self._consolidate, bank) if staffing.consolidates else None
        teachers = self._courteous(bank.learning.teachers())
        return bank.jobs.crew(shift, teachers=teachers, on_attempt=self._note, when_idle=tidy)

    def _consolidate(self, bank: Bank) -> None:
        self._make_way(self._stopping)
        if not self._stopping.is_set():
            consolidation = bank.consolidate(namespace=EVERY_NAMESPACE, if_due=True)
            if consolidation.run is not None:
                _log.info("%s: consolidated, %d changes", consolidation.run, consolidation.applied)

    def _courteous(self, teachers: Sequence[Teacher]) -> list[Teacher]:
        def make_way() -> None:
            self._make_way(self._stopping)

        return [replace(teacher, judge=Courteous(teacher.judge, make_way)) for teacher in teachers]

    # ------------------------------------------------------------ the threads that work

    def _work(self, tenant: str, crew: Crew) -> None:
        _, error = attempt(crew.run)
        if error is None:
            with self._pausing:
                self._pauses.pop(tenant, None)
            return
        # The outermost door of this thread: told in the log, tried again.
        pause_s = self._pause(tenant)
        if not self._stopping.is_set():
            _log.warning("workers stopped for %g s: %s", pause_s, error or type(error).__name__)

    def _pause(self, tenant: str, pause_s: float | None = None) -> float:
        """Leave a tenant alone for a while: as long as is said, or for twice as long as the last time."""
        with self._pausing:
            if pause_s is None:
                pause_s = min(LONGEST_PAUSE_S, max(FIRST_PAUSE_S, 2 * self._pauses.get(tenant, (0.0, 0.0))[1]))
            self._pauses[tenant] = (self._monotonic() + pause_s, pause_s)
        return pause_s

    def _note(self, attempt: Attempt) -> None:
        self.ends[attempt.end.value] += 1
