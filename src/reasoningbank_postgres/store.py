"""A bank in a schema of PostgreSQL, shared by any number of threads, processes and machines.

Here stands what is read in which transaction. Connections are kept by `postgres.connections`, changes are committed by
`postgres.committing` and for whom by `store.group_commit`, statements come from `postgres.statements`, and what a
record means stands in `store.records`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from reasoningbank.core.errors import BankReadOnly, InvalidInput
from reasoningbank.core.failure import OnError
from reasoningbank.forking import renew_in_child
from reasoningbank.location import Location
from reasoningbank.ports import Damage, StoreInfo
from reasoningbank.store.closed import WHY_CLOSED
from reasoningbank.store.group_commit import GroupCommit, Unit
from reasoningbank.store.record_store import RecordStore
from reasoningbank.store.selection import Selection, any_of
from reasoningbank.store.tables import SETTINGS, Table
from reasoningbank_postgres import statements
from reasoningbank_postgres.address import parse_address
from reasoningbank_postgres.committing import UnitCommitter
from reasoningbank_postgres.connections import (
    OPEN_WITHIN_S,
    PostgresConnections,
    TimedConnection,
    patiently,
    roll_back,
)
from reasoningbank_postgres.error_mapping import NAMED, translate
from reasoningbank_postgres.listening import CommitListener
from reasoningbank_postgres.migrations import SCHEMA_VERSION
from reasoningbank_postgres.opening import LOCK, LOGGING, ServerFacts, lock_number, open_tables
from reasoningbank_postgres.transaction import SCOPE, OpenTransaction, PostgresTransaction, RowSession, scope_of
from reasoningbank_postgres.turns import PostgresTurns

if TYPE_CHECKING:
    from reasoningbank.store.engine import Row, RowChange, RowTransaction

T = TypeVar("T")
DURABILITIES = {
    "full": "an acknowledged write is on the server's disk, and wherever else the server waits for",
    "normal": "an acknowledged write survives a killed process; a crash of the server may take the last ones",
}
_LOG_TERMS = "SELECT set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '1000', true)"


class PostgresEngine:
    def __init__(self, location: Location, *, durability: str, create: bool, read_only: bool) -> None:
        if durability not in DURABILITIES:
            raise InvalidInput(f"Unknown durability {durability!r}: choose one of {', '.join(DURABILITIES)}.")
        self._location = location
        self._address = parse_address(location)
        self._durability = durability
        self._read_only = read_only
        self._connections = PostgresConnections(self._address)
        self._turns = PostgresTurns(self._connections, self._address)
        self._listener = CommitListener(self._address)
        self._committer = UnitCommitter(self._connections, self._address, waits_for_disk=durability == "full")
        self._commits = GroupCommit(self._committer.run, self._address.shown)
        renew_in_child(self._begin_in_child)
        with OnError(lambda _: self.close()):
            self._facts = patiently(lambda: self._open_tables(create=create), self._address, within_s=OPEN_WITHIN_S)

    def _open_tables(self, *, create: bool) -> ServerFacts:
        connection = self._connections.take(OPEN_WITHIN_S)
        try:
            return open_tables(connection, self._address, create=create, read_only=self._read_only)
        finally:
            self._connections.give_back(connection)

    def _begin_in_child(self) -> None:
        self._commits = GroupCommit(self._committer.run, self._address.shown)
        self._connections.leave_to_parent()

    # ------------------------------------------------------------ reading

    @property
    def info(self) -> StoreInfo:
        durability = f"{self._durability}: {DURABILITIES[self._durability]}"
        return StoreInfo(
            backend=f"postgresql {self._facts.version}, schema {self._address.schema}",
            location=self._location,
            schema_version=SCHEMA_VERSION,
            durability="read-only" if self._read_only else durability,
            read_only=self._read_only,
            bank=self._facts.bank,
        )

    @property
    def remedy(self) -> str:
        return f"Put a backup in its place: 'reasoningbank recover BACKUP --bank {self._address.shown}'."

    @contextmanager
    def _faults_named(self) -> Iterator[None]:
        try:
            yield
        except NAMED as error:
            raise translate(error, self._address) from error

    @contextmanager
    def read(self, tenant: str | None) -> Iterator[RowTransaction]:
        self._connections.check_open()
        with self._faults_named(), ExitStack() as stack:
            session = RowSession(self._address, lambda: self._begin_reading(stack))
            yield PostgresTransaction(session, tenant)

    def _begin_reading(self, stack: ExitStack) -> OpenTransaction:
        """Begin a reading transaction with the first question, for as long as the stack lasts."""
        transaction = self._begin(stack)
        transaction.blind.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        stack.push(partial(_end_reading, transaction))
        return transaction

    def _begin(self, stack: ExitStack) -> OpenTransaction:
        """A connection in its pipeline, given back without a transaction."""
        connection = stack.enter_context(self._connections.lend(in_pipeline=True))
        stack.push(partial(_roll_back_on_error, connection))
        return OpenTransaction(connection, connection.enter_pipeline(), connection.cursor())

    def scan(self, selection: Selection) -> list[Row]:
        return self.scan_each([selection])[0]

    def scan_each(self, selections: Sequence[Selection]) -> list[list[Row]]:
        queries = [statements.select(selection, None) for selection in selections]
        is_shared = all(selection.table is SETTINGS for selection in selections)

        def ask() -> list[list[Row]]:
            with ExitStack() as stack:
                transaction = self._begin(stack)
                session = RowSession(self._address, lambda: transaction)
                if is_shared:
                    session.note_scope(None)
                # What is sent together is one transaction, without a word about it.
                cursors = [session.execute(query, None) for query in queries]
                transaction.connection.send_end()
                return [cursor.fetchall() for cursor in cursors]

        with self._faults_named():
            return patiently(ask, self._address)

    def listen(self, wake: Callable[[], object]) -> AbstractContextManager[None]:
        return self._listener.listen(wake)

    @contextmanager
    def turn(self, name: str, wait_s: float) -> Iterator[bool]:
        with self._faults_named(), self._turns.take(name, wait_s) as has_lock:
            yield has_lock

    def renew_turn(self, name: str) -> bool:
        with self._faults_named():
            return self._turns.renew(name)

    def salvage(self, table: Table, ids: Sequence[str]) -> list[Row]:
        return self.scan(Selection(table, table.written, any_of("id", ids)))

    # ------------------------------------------------------------ writing

    def write(self, tenant: str | None, change: RowChange[T], *, alone: bool = False, adds_only: bool = False) -> T:
        if self._read_only:
            raise BankReadOnly(f"{self._address.shown} is open for reading only.")
        self._connections.check_open()
        unit = Unit(tenant, change, alone=alone)
        if adds_only:
            session = RowSession(self._address)
            unit.ahead = session.pending, change(PostgresTransaction(session, tenant))
        return self._commits.submit(unit)

    def log(self, change: RowChange[None]) -> None:
        if self._read_only:
            return
        with self._faults_named(), ExitStack() as stack:
            transaction = self._begin(stack)
            session = RowSession(self._address, lambda: transaction)
            transaction.blind.execute("BEGIN")
            transaction.blind.execute(_LOG_TERMS)
            # Apart from the writers: what is logged waits for none of them.
            transaction.blind.execute(f"{LOCK}, {SCOPE}", (LOGGING, lock_number(self._address.schema), *scope_of(None)))
            session.note_scope(None)
            rows = PostgresTransaction(session, None)
            if not list(rows.scan(WHY_CLOSED)):
                change(rows)
                session.write_pending()
            transaction.blind.execute("COMMIT")
            transaction.connection.enter_pipeline().sync()

    # ------------------------------------------------------------ keeping

    def checks(self) -> list[Damage]:
        from reasoningbank_postgres.verify import damage_in

        with self.read(None) as rows:
            return list(damage_in(rows))

    def backup(self, target: Path, progress: Callable[[int, int], None] | None = None) -> None:
        from reasoningbank_postgres.backup import write_backup

        with self.read(None) as rows:
            write_backup(rows, Path(target), progress)

    def close(self) -> None:
        self._connections.close()


def _roll_back_on_error(connection: TimedConnection, _: object, error: BaseException | None, __: object) -> None:
    if error is not None:
        roll_back(connection)


def _end_reading(transaction: OpenTransaction, _: object, error: BaseException | None, __: object) -> None:
    """End a reading transaction without waiting for the answer, which says nothing new: the next who takes the
    connection hears it.
    """
    if error is None:
        transaction.blind.execute("COMMIT")
        transaction.connection.send_end()
        transaction.connection.is_ending = True


class PostgresStore(RecordStore):
    """A store whose records lie in PostgreSQL."""

    engine: PostgresEngine

    def __init__(
        self,
        location: Location,
        *,
        durability: str = "full",
        create: bool = True,
        read_only: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(PostgresEngine(location, durability=durability, create=create, read_only=read_only), clock)
