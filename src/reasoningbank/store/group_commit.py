"""Writers that wait together share one commit.

Knows who leads, who waits and who is woken when. Does not know what a commit is: `run` is handed in and runs units in
one transaction, or says that one of them failed.

Invariants:
- a call returns only after the commit that holds its change;
- one thread at a time leads; it commits for everybody in the queue until its own unit is done;
- a unit that fails does not fail its neighbours: they are run again, so a unit must bear being run twice.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, cast

from reasoningbank.core.errors import StoreError
from reasoningbank.ports import Writer

T = TypeVar("T")

UNITS_PER_COMMIT = 256
_NOTHING = object()


class Unit(Generic[T]):
    """A change waiting for its commit."""

    __slots__ = ("ahead", "alone", "change", "done", "error", "gate", "leads", "result", "tenant")

    def __init__(self, tenant: str, change: Callable[[Writer], T], *, alone: bool) -> None:
        self.tenant = tenant
        self.change = change
        self.alone = alone
        self.ahead: Any = None
        """What was made of it before its turn; known to whoever runs it."""
        self.leads = False
        """The lead was handed to its thread."""
        self.done = False
        self.result: T | object = _NOTHING
        self.error: Exception | None = None
        self.gate: threading.Lock | None = None
        """Held while the unit waits; opened when it is done, or when its thread is to lead."""

    def open_gate(self) -> None:
        if self.gate is not None:
            self.gate.release()


def _open_gates(settled: list[Unit[Any]]) -> None:
    while settled:
        settled.pop().open_gate()


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
        """Some thread is committing for everybody in the queue."""
        self.turn = threading.Lock()
        """Held while the writing connection is in use."""
        self._committing: int | None = None
        """The thread that is running units now."""

    def submit(self, unit: Unit[T]) -> T:
        if self._committing == threading.get_ident():
            raise StoreError("A write was started inside another write, which would wait for itself forever.")
        if self._queued_first(unit):
            self._lead(unit)
        if unit.error is not None:
            raise unit.error
        return cast(T, unit.result)

    def _queued_first(self, unit: Unit[Any]) -> bool:
        """Queue a unit. True when its thread is to commit; False when another one has done it."""
        with self._queue_lock:
            self.queue.append(unit)
            if not self._is_led:
                self._is_led = True
                return True
            unit.gate = gate = threading.Lock()
            gate.acquire()
        # Each waits at a gate of its own: one lock for all would wake them one after the other.
        try:
            gate.acquire()
        except BaseException:
            self._withdraw(unit)
            raise
        return not unit.done

    def _withdraw(self, unit: Unit[Any]) -> None:
        """Take back a unit whose thread was interrupted; what is being committed already stays, unanswered."""
        with self._queue_lock:
            waiting = unit in self.queue
            if waiting:
                self.queue.remove(unit)
        if waiting and unit.leads:
            self._hand_over()

    def _lead(self, unit: Unit[Any]) -> None:
        """Commit for everybody in the queue until our own unit is done, then hand the lead to one who still waits."""
        unit.gate = None
        settled: list[Unit[Any]] = []
        try:
            while not unit.done:
                _open_gates(settled)
                with self.turn:
                    self._commit_queued(settled)
        finally:
            # The next leader is woken first: behind all the others it would wait for the interpreter's lock until each
            # has prepared its next write, with no sync going on meanwhile.
            try:
                self._hand_over()
            finally:
                _open_gates(settled)

    def _hand_over(self) -> None:
        with self._queue_lock:
            heir = self.queue[0] if self.queue else None
            self._is_led = heir is not None
            if heir is not None and heir.gate is not None:
                heir.leads = True
                heir.gate.release()

    def _commit_queued(self, settled: list[Unit[Any]]) -> None:
        units = self._next_units()
        self._committing = threading.get_ident()
        try:
            if units[0].alone or not self._run(units, False):
                # One of them failed and took the rest with it: each again on its own, telling it where it fails.
                for unit in units:
                    self._run([unit], True)
        except StoreError as error:
            for unit in units:
                unit.error = unit.error or error
        finally:
            self._committing = None
            settled += units
            for unit in units:
                if unit.error is None and unit.result is _NOTHING:
                    unit.error = StoreError(
                        f"A write to {self._location} was interrupted. Nothing was written: try again."
                    )
                unit.done = True

    def _next_units(self) -> list[Unit[Any]]:
        units: list[Unit[Any]] = []
        with self._queue_lock:
            while self.queue and len(units) < UNITS_PER_COMMIT:
                if units and (self.queue[0].alone or units[0].alone):
                    break
                units.append(self.queue.popleft())
        return units
