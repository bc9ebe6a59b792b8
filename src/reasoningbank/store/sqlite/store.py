"""A bank in one SQLite file, shared by any number of threads and processes.

Here stand transactions and what is durable. Connections are kept by `sqlite.connections`, `store.group_commit` says who
commits for whom, statements come from `sqlite.statements`, and what a record means stands in `store.records`.

Invariants:
- every write runs in `BEGIN IMMEDIATE`: a deferred transaction that reads first fails under contention;
- a call to `write` returns only after the commit that holds its change; calls that wait together share one commit;
- a unit that raises is rolled back alone: its neighbours are run again, so a unit must bear being run twice;
- the feed number of a change is given inside the transaction, so numbers are dense and in commit order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import apsw

from reasoningbank.core.errors import BankError, BankReadOnly, BankReplaced, InvalidInput
from reasoningbank.forking import renew_in_child, unforked
from reasoningbank.location import Location, file_location
from reasoningbank.ports import Damage, StoreInfo
from reasoningbank.store.group_commit import GroupCommit, Unit
from reasoningbank.store.record_store import RecordStore
from reasoningbank.store.selection import Selection, any_of
from reasoningbank.store.sqlite import statements
from reasoningbank.store.sqlite.batched_inserts import Pending
from reasoningbank.store.sqlite.calls import check_not_torn, in_transaction, make_writing_cursor
from reasoningbank.store.sqlite.connections import BUSY_TIMEOUT_MS, MEMORY, Connections
from reasoningbank.store.sqlite.durable import sync_file
from reasoningbank.store.sqlite.error_mapping import NAMED, faults_named, remedy, translate
from reasoningbank.store.sqlite.opening import files_of, number_from
from reasoningbank.store.sqlite.schema import SCHEMA_VERSION
from reasoningbank.store.sqlite.stamps import reason_of_closing
from reasoningbank.store.sqlite.transaction import SqliteTransaction
from reasoningbank.store.sqlite.turn import PATIENCE_S
from reasoningbank.store.tables import Table
from reasoningbank.store.turns import FileTurns, ThreadTurns

if TYPE_CHECKING:
    from reasoningbank.store.engine import Row, RowChange, RowTransaction

T = TypeVar("T")

LOG_BUSY_TIMEOUT_MS = 1_000
CHECKPOINT_TRIES = 10
DURABILITIES = {
    "full": "an acknowledged write survives a killed process and a power loss",
    "normal": "an acknowledged write survives a killed process; a power loss may take the last ones",
}


class SqliteEngine:
    def __init__(self, path: str | Path | Location, *, durability: str, create: bool, read_only: bool) -> None:
        if durability not in DURABILITIES:
            raise InvalidInput(f"Unknown durability {durability!r}: choose one of {', '.join(DURABILITIES)}.")
        self._location = path if isinstance(path, Location) else file_location(str(path))
        self._path = self._location.url
        self._files = files_of(self._location)
        self._durability = durability
        beside = self._location.folder("turn")
        self._turns = ThreadTurns() if beside is None or read_only else FileTurns(beside)
        with faults_named(self._path):
            self._connections = Connections(self._path, durability=durability, create=create, read_only=read_only)
            self._commits = GroupCommit(self._commit, self._path)
            renew_in_child(self._begin_in_child)
            self._connections.open_first()
        self._read_only = self._connections.read_only

    # ------------------------------------------------------------ reading

    @property
    def info(self) -> StoreInfo:
        if self._path == MEMORY:
            durability = "nothing: this bank lives in memory"
        else:
            durability = f"{self._durability}: {DURABILITIES[self._durability]}"
        return StoreInfo(
            backend=f"sqlite {apsw.sqlite_lib_version()}",
            location=self._location,
            schema_version=SCHEMA_VERSION,
            durability="read-only" if self._read_only else durability,
            read_only=self._read_only,
            bank=str(self._location.file_number() or ""),
            files=self._files,
        )

    @property
    def remedy(self) -> str:
        return remedy(self._path)

    def _begin_in_child(self) -> None:
        midway = self._commits.is_committing_here
        self._commits = GroupCommit(self._commit, self._path)
        self._connections.leave_to_parent(midway=midway)

    @contextmanager
    def _borrow(self) -> Iterator[apsw.Connection]:
        with faults_named(self._path), self._connections.lent() as connection:
            yield connection

    @contextmanager
    def _transaction(self, connection: apsw.Connection, timeout_ms: int = BUSY_TIMEOUT_MS) -> Iterator[apsw.Connection]:
        try:
            self._begin(connection, timeout_ms)
            yield connection
            self._connections.commit(connection, [], though_closed=True)
        finally:
            self._roll_back(connection)
            self._connections.turn.give()

    @contextmanager
    def read(self, tenant: str | None) -> Iterator[RowTransaction]:
        with self._borrow() as connection:
            connection.execute("BEGIN")
            try:
                yield SqliteTransaction(Pending(connection), tenant, self._path)
            finally:
                # An error of the medium may have ended it already, and a fork leaves it to the parent.
                if in_transaction(connection):
                    connection.execute("ROLLBACK")

    def scan(self, selection: Selection) -> list[Row]:
        return self.scan_each([selection])[0]

    def scan_each(self, selections: Sequence[Selection]) -> list[list[Row]]:
        with self._borrow() as connection:
            return [list(connection.execute(*statements.select(selection, None))) for selection in selections]

    def listen(self, wake: Callable[[], object]) -> AbstractContextManager[None]:
        del wake
        return nullcontext()

    def turn(self, name: str, wait_s: float) -> AbstractContextManager[bool]:
        return self._turns.take(name, wait_s)

    def renew_turn(self, name: str) -> bool:
        return self._turns.is_taken(name)

    def salvage(self, table: Table, ids: Sequence[str]) -> list[Row]:
        rows: list[Row] = []
        with self._borrow() as connection:
            try:
                rows = _rows_of(connection, table, ids)
            except UnicodeDecodeError:
                for row_id in ids:
                    with suppress(UnicodeDecodeError):
                        rows += _rows_of(connection, table, [row_id])
        return rows

    # ------------------------------------------------------------ writing

    def write(self, tenant: str | None, change: RowChange[T], *, alone: bool = False, adds_only: bool = False) -> T:
        if self._read_only:
            raise BankReadOnly(f"{self._path} is open for reading only.")
        self._connections.check_usable()
        unit = Unit(tenant, change, alone=alone)
        if adds_only:
            rows = Pending()
            unit.ahead = rows, change(SqliteTransaction(rows, tenant, self._path))
        return self._commits.submit(unit)

    def _commit(self, units: Sequence[Unit[Any]], at_once: bool) -> bool:
        """Run units in one transaction. False when one failed; run `at_once`, its error is then known."""
        with unforked():
            return self._run_together(units, at_once)

    def _run_together(self, units: Sequence[Unit[Any]], at_once: bool) -> bool:
        connection = self._connections.writing()
        self._roll_back(connection)  # where an interrupt came between a failure and its rollback
        transactions: list[SqliteTransaction] = []
        commit: list[Any] = []
        pending = Pending(connection, at_once=at_once)
        for unit in units:
            unit.begin()
        try:
            self._begin(connection)
            for unit in units:
                if unit.ahead is None or at_once:
                    transactions.append(SqliteTransaction(pending, unit.tenant, self._path))
                    unit.result = unit.change(transactions[-1])
                else:
                    # Gone before they are taken: run again after an interrupt, the unit makes them anew.
                    ahead, unit.ahead = unit.ahead, None
                    rows, unit.result = ahead
                    pending.take(rows)
            for unit in units:
                unit.commit = commit
            pending.write()
            has_taken_over = any(transaction.has_taken_over for transaction in transactions)
            self._connections.commit(connection, commit, though_closed=has_taken_over)
        except BankReplaced as error:
            # Committed or not, it went into a file that may not be the bank any more.
            commit.clear()
            return self._settle_failed(units, error, at_once)
        except Exception as error:  # a unit is the caller's code: whatever it raises is its own, not its neighbours'
            if commit:
                # It came from outside, after the commit: the units are done.
                raise
            return self._settle_failed(units, error, at_once)
        finally:
            self._roll_back(connection)
            self._connections.turn.give()
        if any(transaction.has_erased for transaction in transactions):
            self._drop_erased_bytes(connection)
        return True

    def _begin(self, connection: apsw.Connection, timeout_ms: int = BUSY_TIMEOUT_MS) -> None:
        """Start a writing transaction, in turn with other processes; the turn is to be given back after it."""
        turn = self._connections.turn
        if turn.is_free():
            connection.set_busy_timeout(0)
            try:
                self._connections.begin(connection)
            except apsw.BusyError:
                turn.note_waiting()
            else:
                return
            finally:
                connection.set_busy_timeout(timeout_ms)
        turn.take(min(PATIENCE_S, timeout_ms / 1e3))
        connection.set_busy_timeout(timeout_ms)
        self._connections.begin(connection)

    def _roll_back(self, connection: apsw.Connection) -> None:
        if in_transaction(connection):
            check_not_torn()
            connection.execute("ROLLBACK")

    def _settle_failed(self, units: Sequence[Unit[Any]], error: Exception, at_once: bool) -> bool:
        """True if nothing is left to try: a medium that failed once is not asked again behind the caller's back."""
        check_not_torn()
        of_the_medium = isinstance(error, (apsw.Error, OSError, BankReplaced)) and not isinstance(
            error, apsw.ConstraintError
        )
        if of_the_medium or at_once:
            fault = translate(error, self._path) if isinstance(error, NAMED) else error
            for unit in units:
                unit.error = fault
        elif not isinstance(error, (BankError, *NAMED)):
            # None of ours: it may be a signal's, and not come again. So it is that of the unit in which it arose.
            running = [unit for unit in units if not unit.has_run]
            if not running:
                raise error
            running[0].error = error
        return of_the_medium

    def _drop_erased_bytes(self, connection: apsw.Connection) -> None:
        # The log still holds the erased pages. A reader in another process can delay this; the next erasure or
        # checkpoint then does it. Nobody can write while readers are waited for: so a little at a time.
        connection.set_busy_timeout(LOG_BUSY_TIMEOUT_MS // CHECKPOINT_TRIES)
        is_busy, tries = 1, 0
        try:
            with suppress(apsw.Error, OSError):
                while is_busy and tries < CHECKPOINT_TRIES:
                    tries += 1
                    with self._connections.turn.taken():
                        is_busy = number_from(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
                # SQLite cuts the log and leaves it at that: after a power loss it could be as long as before.
                sync_file(Path(f"{self._path}-wal"))
        finally:
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)

    def log(self, change: RowChange[None]) -> None:
        if self._read_only:
            return
        with self._borrow() as connection, self._commits.turn, unforked():
            connection.execute("PRAGMA synchronous = NORMAL")
            try:
                with self._transaction(connection, LOG_BUSY_TIMEOUT_MS):
                    if reason_of_closing(make_writing_cursor(connection)) is None:
                        pending = Pending(connection)
                        change(SqliteTransaction(pending, None, self._path))
                        pending.write()
            finally:
                connection.set_busy_timeout(BUSY_TIMEOUT_MS)

    # ------------------------------------------------------------ keeping

    def checks(self) -> list[Damage]:
        from reasoningbank.store.sqlite.verify_backup import damage_in

        with self._borrow() as connection:
            return list(damage_in(connection, self._path))

    def backup(self, target: Path, progress: Callable[[int, int], None] | None = None) -> None:
        from reasoningbank.store.sqlite.copying import copy_to, remove_abandoned

        if self._location.state is not None:
            # Where a server makes the copies that it sends.
            remove_abandoned(self._location.state)
        with faults_named(str(target)), self._connections.lent() as source:
            copy_to(source, Path(target), progress)

    def close(self) -> None:
        with self._commits.turn:
            self._connections.close()


def _rows_of(connection: apsw.Connection, table: Table, ids: Sequence[str]) -> Any:
    return connection.execute(*statements.select(Selection(table, table.written, any_of("id", ids)), None)).fetchall()


class SqliteStore(RecordStore):
    """A store whose records lie in one SQLite file."""

    engine: SqliteEngine

    def __init__(
        self,
        path: str | Path | Location,
        *,
        durability: str = "full",
        create: bool = True,
        read_only: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(SqliteEngine(path, durability=durability, create=create, read_only=read_only), clock)
