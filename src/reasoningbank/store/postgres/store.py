"""A bank in a schema of PostgreSQL, shared by any number of threads, processes and machines.

Knows what is read in which transaction. It does not know how connections are kept (`postgres.connections`), how changes
are committed (`postgres.committing`) and for whom (`store.group_commit`), what a statement says (`postgres.statements`)
or what a record means (`store.records`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from reasoningbank.core.errors import BankReadOnly, InvalidInput
from reasoningbank.core.failure import OnError
from reasoningbank.forking import renew_in_child
from reasoningbank.location import Location
from reasoningbank.ports import Damage, StoreInfo
from reasoningbank.store.group_commit import GroupCommit, Unit
from reasoningbank.store.postgres import statements
from reasoningbank.store.postgres.address import parse_address
from reasoningbank.store.postgres.committing import UnitCommitter
from reasoningbank.store.postgres.connections import OPEN_WITHIN_S, PostgresConnections, patiently, roll_back
from reasoningbank.store.postgres.error_mapping import NAMED, translate
from reasoningbank.store.postgres.listening import heard_commits
from reasoningbank.store.postgres.migrations import SCHEMA_VERSION
from reasoningbank.store.postgres.opening import LOCK, LOGGING, ServerFacts, lock_number, open_tables
from reasoningbank.store.postgres.transaction import SCOPE, OpenTransaction, PostgresTransaction, RowSession, scope_of
from reasoningbank.store.record_store import RecordStore
from reasoningbank.store.selection import Selection, any_of
from reasoningbank.store.tables import SETTINGS, Table

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
        """With the first question, and for as long as the stack lasts."""
        begun = self._begin(stack)
        begun.blind.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        stack.enter_context(_ended_with_commit(begun))
        return begun

    def _begin(self, stack: ExitStack) -> OpenTransaction:
        """A connection with a pipeline, given back without a transaction."""
        connection = stack.enter_context(self._connections.lend())
        stack.callback(roll_back, connection)
        return OpenTransaction(connection, stack.enter_context(connection.pipeline()), connection.cursor())

    def scan(self, selection: Selection) -> list[Row]:
        query = statements.select(selection, None)
        is_shared = selection.table is SETTINGS

        def ask() -> list[Row]:
            # What is sent together is one transaction, without a word about it.
            with ExitStack() as stack:
                if is_shared:
                    found = stack.enter_context(self._connections.lend()).execute(*query)
                else:
                    found = RowSession(self._address, lambda: self._begin(stack)).execute(query, None)
            return found.fetchall()

        with self._faults_named():
            return patiently(ask, self._address)

    def listen(self, wake: Callable[[], object]) -> AbstractContextManager[None]:
        return heard_commits(self._address, wake)

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
            begun = self._begin(stack)
            session = RowSession(self._address, lambda: begun)
            begun.blind.execute("BEGIN")
            begun.blind.execute(_LOG_TERMS)
            # Apart from the writers: what is logged waits for none of them.
            begun.blind.execute(f"{LOCK}, {SCOPE}", (LOGGING, lock_number(self._address.schema), *scope_of(None)))
            session.note_scope(None)
            change(PostgresTransaction(session, None))
            session.write_pending()
            begun.blind.execute("COMMIT")

    # ------------------------------------------------------------ keeping

    def checks(self) -> list[Damage]:
        from reasoningbank.store.postgres.verify import damage_in

        with self.read(None) as rows:
            return list(damage_in(rows))

    def backup(self, target: Path, progress: Callable[[int, int], None] | None = None) -> None:
        from reasoningbank.store.postgres.backup import write_backup

        with self.read(None) as rows:
            write_backup(rows, Path(target), progress)

    def close(self) -> None:
        self._connections.close()


@contextmanager
def _ended_with_commit(begun: OpenTransaction) -> Iterator[None]:
    yield
    begun.blind.execute("COMMIT")


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
