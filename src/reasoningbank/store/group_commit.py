"""Group commit: writers that wait together share one commit.

Here is decided who leads, who waits and who is woken when. Independent of what a commit is: `run` is handed in and runs
units in one transaction, or says that one of them failed.

Invariants:
- a call returns only after the commit that holds its change;
- one thread at a time leads; it commits for everybody in the queue until its own unit is done;
- a unit that fails does not fail its neighbours: they are run again, so a unit must bear being run twice;
- an interrupt may come anywhere and more than once. Whether a unit was written is noted in the same step of the
  interpreter that commits it, so what is said of it is true; its neighbours go on; and a thread that is waiting finds
  out by itself when nobody leads any more.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from reasoningbank.core import interrupts
from reasoningbank.core.errors import StoreError

if TYPE_CHECKING:
    from reasoningbank.store.engine import RowTransaction

T = TypeVar("T")

UNITS_PER_COMMIT = 256
LOST_AFTER_S = 1.0
"""Seconds after which a waiting thread leads itself: an interrupt may have taken the leader away."""
_NOTHING = object()


class Unit(Generic[T]):
    """A change waiting for its commit."""

    __slots__ = (
        "ahead", "alone", "change", "commit", "done", "error", "gate", "leads", "put_back", "result", "tenant",
    )  # fmt: skip

    def __init__(self, tenant: str | None, change: Callable[[RowTransaction], T], *, alone: bool) -> None:
        self.tenant = tenant
        self.change = change
        self.alone = alone
        self.ahead: Any = None
        """Work that was done for it before its turn; known to whoever runs it."""
        self.leads = False
        """True once the lead was handed to its thread."""
        self.done = False
        """True once it is settled: written, or never to be."""
        self.put_back = False
        """True if its leader was interrupted before the commit, so that another one has it now."""
        self.result: T | object = _NOTHING
        self.commit: list[Any] = []
        """Shared with the transaction that it was run in; not empty once that is committed."""
        self.error: Exception | None = None
        self.gate: threading.Lock | None = None
        """Lock that is held while the unit waits; released when it is done, or when its thread is to lead."""

    def begin(self) -> None:
        self.result, self.commit = _NOTHING, []

    @property
    def has_run(self) -> bool:
        return self.result is not _NOTHING

    @property
    def is_written(self) -> bool:
        return bool(self.commit)

    def open_gate(self) -> None:
        gate = self.gate
        if gate is not None:
            # It is open already when the thread has found out by itself.
            with suppress(RuntimeError):
                gate.release()


def _open_gates(units: list[Unit[Any]]) -> None:
    while units:
        units.pop().open_gate()


Run = Callable[[Sequence[Unit[Any]], bool], bool]
"""Runs units in one transaction, the second argument being `at_once`. False when one failed; run `at_once`, it tells
the unit why."""


class GroupCommit:
    def __init__(self, run: Run, location: str) -> None:
        self._run = run
        self._location = location
        self.queue: deque[Unit[Any]] = deque()
        self._queue_lock = threading.Lock()
        self._is_led = False
        """True while some thread is committing for everybody in the queue."""
        self.turn = threading.Lock()
        """Held while the writing connection is in use."""
        self._committing: int | None = None
        """The thread that is running units now."""

    @property
    def is_committing_here(self) -> bool:
        """True if this very thread is running units, as a unit finds that writes itself."""
        # With the turn, since somebody who was interrupted twice may have left its name.
        return self._committing == threading.get_ident() and self.turn.locked()

    def submit(self, unit: Unit[T]) -> T:
        if self.is_committing_here:
            raise StoreError("A write was started inside another write, which would wait for itself forever.")
        is_over = False
        try:
            if self._queued_first(unit):
                self._lead(unit)
            is_over = True
        finally:
            error = None if is_over else sys.exception()
            if error is not None:
                interrupts.tell(error, self._location, self._outcome(unit))
        if unit.is_written:
            return cast(T, unit.result)
        raise unit.error or StoreError(interrupts.in_words(self._location, is_committed=False))

    def _queued_first(self, unit: Unit[Any]) -> bool:
        """Queue a unit. True when its thread is to commit; False when another one has done it."""
        with self._queue_lock:
            self.queue.append(unit)
            if not self._is_led:
                self._is_led = unit.leads = True
                return True
            unit.gate = gate = threading.Lock()
            gate.acquire()
        # Each waits at a gate of its own: one lock for all would wake them one after the other.
        if not gate.acquire(timeout=LOST_AFTER_S):
            # Who leads may have been taken away. If somebody does lead, there are two for a while, taking turns.
            with self.turn:
                self._drop_if_lost(unit)
        return not unit.done

    def _drop_if_lost(self, unit: Unit[Any]) -> None:
        """Mark a unit as done if an interrupt has left it, while nobody else commits: it is in the queue no more."""
        if not unit.done:
            with self._queue_lock:
                unit.done = unit not in self.queue

    def _outcome(self, unit: Unit[Any]) -> bool | None:
        """True if a unit of an interrupted thread is written, False if it never will be, None if nobody can tell."""
        try:
            with self._queue_lock:
                if unit in self.queue:
                    self.queue.remove(unit)
                    unit.done = True
            if unit.leads:
                self._hand_over()
            if not unit.done:
                # Another thread may be committing it: when its turn is over, that is known.
                with self.turn:
                    pass
        except BaseException:  # noqa: BLE001 - the interrupt before this one is on its way to the caller
            return True if unit.is_written else None
        return unit.is_written

    def _lead(self, unit: Unit[Any]) -> None:
        """Commit for everybody in the queue until our own unit is done, then hand the lead to one who still waits."""
        unit.gate, unit.leads = None, True
        waiters: list[Unit[Any]] = []
        try:
            while not unit.done:
                _open_gates(waiters)
                with self.turn:
                    self._commit_queued(unit, waiters)
                    self._drop_if_lost(unit)
            # The next leader is woken first: behind all the others it would wait for the interpreter's lock until each
            # has prepared its next write, with no sync going on meanwhile.
            self._hand_over()
            unit.leads = False
        finally:
            _open_gates(waiters)

    def _hand_over(self) -> None:
        with self._queue_lock:
            heir = self.queue[0] if self.queue else None
            self._is_led = heir is not None
            if heir is not None:
                heir.leads = True
                heir.open_gate()

    def _commit_queued(self, own: Unit[Any], waiters: list[Unit[Any]]) -> None:
        units = self._next_units()
        again: list[Unit[Any]] = []
        self._committing = threading.get_ident()
        try:
            if units and (units[0].alone or not self._run(units, False)):
                # One of them failed and took the rest with it: each again on its own, telling it where it fails.
                for unit in units:
                    if unit.error is None:
                        self._run([unit], True)
        except StoreError as error:
            for unit in units:
                unit.error = unit.error or error
        except BaseException:  # an interrupt: what is not written yet is written by the next in the queue
            again = self._put_back(own, units)
            raise
        finally:
            self._committing = None
            for unit in units:
                if unit not in again:
                    waiters.append(unit)
                    unit.done = True

    def _put_back(self, own: Unit[Any], units: list[Unit[Any]]) -> list[Unit[Any]]:
        """Leave to the next leader what is not written, but for the unit that was being run: the interrupt may be its
        own doing, and would then go on from leader to leader.
        """
        remaining = [unit for unit in units if not unit.is_written and unit.error is None]
        culprit = next((unit for unit in remaining if not unit.has_run), None)
        again = [unit for unit in remaining if unit not in (own, culprit) and not unit.put_back]
        with self._queue_lock:
            for unit in reversed(again):
                unit.put_back = True
                self.queue.appendleft(unit)
        return again

    def _next_units(self) -> list[Unit[Any]]:
        units: list[Unit[Any]] = []
        with self._queue_lock:
            while self.queue and len(units) < UNITS_PER_COMMIT:
                if units and (self.queue[0].alone or units[0].alone):
                    break
                units.append(self.queue.popleft())
        return units
