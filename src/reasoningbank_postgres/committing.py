"""Run changes in one transaction of PostgreSQL, again where that is safe, and find out what became of a lost commit.

Invariants:
- one transaction at a time writes records: it holds the bank's advisory lock from its first statement until it is
  committed, so a unit that has read something may rely on it, and the feed's numbers are dense and in commit order;
- a transaction writes an id of its own. Whoever loses the connection while it commits ends the server's session, takes
  the lock, which together prove that the transaction is over, and looks for that id;
- nothing is run again that may have been committed, and nothing that was to be alone.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import psycopg

from reasoningbank.core.errors import BankError, BankTooNew, BankUnavailable, StoreError
from reasoningbank.core.failure import attempt
from reasoningbank.core.interrupts import in_words
from reasoningbank.forking import unforked
from reasoningbank.store.closed import CLOSED, WHY_CLOSED, refusal
from reasoningbank_postgres import statements
from reasoningbank_postgres.connections import END_SESSION, PATIENCE_S, TimedConnection, patiently, roll_back
from reasoningbank_postgres.erasing import drop_dead_rows
from reasoningbank_postgres.error_mapping import TRANSIENT, is_lost, is_of_a_unit, translate
from reasoningbank_postgres.listening import channel_of
from reasoningbank_postgres.migrations import SCHEMA_VERSION
from reasoningbank_postgres.opening import LOCK, NEWER, WRITING, lock_number
from reasoningbank_postgres.transaction import SCOPE, OpenTransaction, PostgresTransaction, RowSession, scope_of

if TYPE_CHECKING:
    from reasoningbank.store.group_commit import Unit
    from reasoningbank_postgres.address import PostgresAddress
    from reasoningbank_postgres.connections import PostgresConnections

IDLE_WITHIN_MS = 15_000
"""End of an idle transaction: a writer that died without a word must not keep the lock; shorter than anybody waits
for it.
"""
_LOCK = f"{LOCK}, set_config('idle_in_transaction_session_timeout', '{IDLE_WITHIN_MS}', true)"
_NOTE = "INSERT INTO commits (id) VALUES (%s)"
# Nothing is noted in a bank that is closed, and no transaction stands without its note.
_NOTE_IF_OPEN = f"""INSERT INTO commits (id)
  VALUES ((SELECT %s::uuid WHERE NOT EXISTS (SELECT FROM settings WHERE name = '{CLOSED}' AND value <> '')))"""
# An older server goes on while a newer one brings the tables up to date: behind the lock it sees which they are.
_NOT_NEWER = f"1 / (SELECT (version <= {SCHEMA_VERSION})::int FROM bank)"
_TIDY_EVERY = 512
"""Commits of a process until it removes ids that nobody can ask for any more."""
_SHARED_FATE = (psycopg.errors.InFailedSqlTransaction, psycopg.errors.PipelineAborted)
"""Errors of statements behind one that failed."""


class _Batch:
    """Units that share one transaction, and how far it came."""

    def __init__(self, units: Sequence[Unit[Any]], *, at_once: bool) -> None:
        self.id = uuid.uuid4()
        self.units = units
        self.at_once = at_once
        self.commit: list[Any] = []
        """Not empty once it is known to be committed."""
        self.is_committing = False
        self.session = (0, "")
        """Session of the server, in which it is run."""
        self.erased_from: set[str] = set()

    @property
    def is_alone(self) -> bool:
        return any(unit.alone for unit in self.units)

    def fail(self, error: Exception) -> bool:
        for unit in self.units:
            unit.error = error
        return True


class UnitCommitter:
    def __init__(self, connections: PostgresConnections, address: PostgresAddress, *, waits_for_disk: bool) -> None:
        self._connections = connections
        self._address = address
        self._lock = (WRITING, lock_number(address.schema))
        self._channel = channel_of(address)
        self._waits_for_disk = waits_for_disk
        self._commits = 0

    def run(self, units: Sequence[Unit[Any]], at_once: bool) -> bool:
        """Run units in one transaction. False when one failed; run `at_once`, its error is then known."""
        deadline = time.monotonic() + PATIENCE_S
        with unforked():
            while True:
                batch = _Batch(units, at_once=at_once)
                outcome = self._run_once(batch, may_repeat=time.monotonic() < deadline)
                if outcome is not None:
                    return outcome
                time.sleep(0.1)

    def _run_once(self, batch: _Batch, *, may_repeat: bool) -> bool | None:
        """Run a batch once. None if nothing was written and the same may work in a moment."""
        connection = self._connections.take(in_pipeline=not batch.at_once)
        try:
            batch.session = connection.session
            for unit in batch.units:
                unit.begin()
            _, error = attempt(lambda: self._transact(connection, batch))
            if error is not None and not batch.commit:
                roll_back(connection)
                return self._settle(batch, error, may_repeat=may_repeat)
            if batch.erased_from:
                connection.leave_pipeline()
                drop_dead_rows(connection, batch.erased_from)
            self._tidy(connection)
        finally:
            self._connections.give_back(connection)
        # Whatever came after the commit, the units are done; only what came from outside is somebody's to hear.
        if error is not None and not isinstance(error, psycopg.Error):
            raise error
        return True

    def _transact(self, connection: TimedConnection, batch: _Batch) -> None:
        pipeline = None if batch.at_once else connection.enter_pipeline()
        transaction = OpenTransaction(connection, pipeline, connection.cursor())
        session = RowSession(self._address, lambda: transaction, at_once=batch.at_once)
        transaction.blind.execute("BEGIN")
        if not self._waits_for_disk:
            transaction.blind.execute("SET LOCAL synchronous_commit = off")
        first = batch.units[0].tenant
        transaction.blind.execute(f"{_LOCK}, {SCOPE}", (*self._lock, *scope_of(first)))
        session.note_scope(first)
        for unit in batch.units:
            if unit.ahead is None or batch.at_once:
                unit.result = unit.change(PostgresTransaction(session, unit.tenant))
            else:
                # Gone before they are taken: run again, the unit makes them anew.
                ahead, unit.ahead = unit.ahead, None
                rows, unit.result = ahead
                session.pending.take(rows)
        session.write_pending()
        note = _NOTE if session.has_taken_over else _NOTE_IF_OPEN
        query = f"WITH noted AS ({note}) SELECT {_NOT_NEWER}"
        if session.pending.has_changes:
            transaction.blind.execute(f"{query}, pg_notify(%s, '')", (batch.id, self._channel))
        else:
            transaction.blind.execute(query, (batch.id,))
        for unit in batch.units:
            unit.commit = batch.commit
        batch.is_committing = True
        cursor = connection.execute("COMMIT")
        if pipeline is not None:
            pipeline.sync()
        if cursor.statusmessage != "COMMIT":
            raise psycopg.errors.InFailedSqlTransaction("a statement had failed")
        batch.commit.append(True)
        if session.leaves_no_trace:
            batch.erased_from = session.touched

    def _settle(self, batch: _Batch, error: BaseException, *, may_repeat: bool) -> bool | None:
        is_interrupt = not isinstance(error, Exception)
        if is_lost(error):
            self._connections.drop_idle()
        if batch.is_committing and (is_lost(error) or is_interrupt) and self._was_committed(batch):
            batch.commit.append(True)
        if is_interrupt:
            raise error
        if batch.commit:
            return True
        if is_lost(error) or isinstance(error, TRANSIENT):
            if may_repeat and not batch.is_alone:
                return None
            fault = translate(cast("Exception", error), self._address)
            return batch.fail(BankUnavailable(f"{fault} Nothing was written: try again."))
        return self._settle_refused(batch, cast("Exception", error))

    def _settle_refused(self, batch: _Batch, error: Exception) -> bool:
        """Settle a batch that the server refused and rolled back: find the unit that is at fault."""
        if isinstance(error, psycopg.errors.NotNullViolation) and error.diag.table_name == "commits":
            return batch.fail(self._why_closed())
        if isinstance(error, psycopg.errors.DivisionByZero):
            return batch.fail(BankTooNew(f"{self._address.shown} {NEWER} Nothing was written."))
        if is_of_a_unit(error) or isinstance(error, _SHARED_FATE):
            return batch.at_once and batch.fail(translate(error, self._address))
        if isinstance(error, psycopg.Error):
            return batch.fail(translate(error, self._address))
        if batch.at_once:
            return batch.fail(error)
        if not isinstance(error, BankError):
            # None of ours: it may be a signal's, and not come again. So it is that of the unit in which it arose.
            running = [unit for unit in batch.units if not unit.has_run]
            if not running:
                raise error
            running[0].error = error
        return False

    def _why_closed(self) -> StoreError:
        query = statements.select(WHY_CLOSED, None)

        def look() -> Any:
            with self._connections.lend() as connection:
                return connection.execute(*query).fetchone()

        row = patiently(look, self._address)
        if row is None:
            return BankUnavailable(f"{self._address.shown} was closed for a moment. Nothing was written: try again.")
        return refusal(row[0], self._address.shown)

    def _was_committed(self, batch: _Batch) -> bool:
        """True if a batch was committed, which is looked up: once its session is over it begins nothing any more,
        and the lock is free once that transaction is over, whatever became of it.
        """

        def look() -> bool:
            with self._connections.lend() as connection:
                # What was sent may lie unread before a session that has not even taken the lock.
                if connection.execute(END_SESSION, batch.session).fetchone() == (False,):
                    raise psycopg.OperationalError("the session that was lost goes on")
                try:
                    connection.execute("BEGIN")
                    connection.execute(_LOCK, self._lock)
                    row = connection.execute("SELECT 1 FROM commits WHERE id = %s", (batch.id,)).fetchone()
                finally:
                    roll_back(connection)
            return row is not None

        try:
            return patiently(look, self._address)
        except StoreError as error:
            raise BankUnavailable(f"{in_words(self._address.shown, None)} {error}") from error

    def _tidy(self, connection: TimedConnection) -> None:
        self._commits += 1
        if self._commits % _TIDY_EVERY == 0:
            connection.leave_pipeline()
            _, error = attempt(lambda: connection.execute("DELETE FROM commits WHERE at < now() - interval '1 day'"))
            if error is not None and not isinstance(error, psycopg.Error):
                raise error
