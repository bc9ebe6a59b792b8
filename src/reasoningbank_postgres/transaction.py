"""Rows of one PostgreSQL transaction, for one tenant or for all.

Whose rows are meant stands in every statement, and is told to the server besides, which holds every row of others back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import psycopg

from reasoningbank.core.errors import StoreError
from reasoningbank.store.selection import Selection
from reasoningbank.store.tables import Condition, IfTaken, Table
from reasoningbank_postgres import statements
from reasoningbank_postgres.ddl import EVERY_TENANT, TENANT
from reasoningbank_postgres.error_mapping import is_of_a_unit, translate
from reasoningbank_postgres.opening import LOCK, LOGGING, lock_number
from reasoningbank_postgres.pending import PendingRows

if TYPE_CHECKING:
    from reasoningbank.store.engine import Row
    from reasoningbank_postgres.address import PostgresAddress
    from reasoningbank_postgres.connections import TimedConnection

T = TypeVar("T")
SCOPE = f"set_config('{TENANT}', %s, true), set_config('{EVERY_TENANT}', %s, true)"
"""Sets whose rows are to be seen, until the transaction is over."""
_NOBODY = object()


def scope_of(tenant: str | None) -> tuple[str, str]:
    return (tenant or "", "on" if tenant is None else "")


class OpenTransaction(NamedTuple):
    """A transaction under way."""

    connection: TimedConnection
    pipeline: psycopg.Pipeline | None
    blind: psycopg.Cursor[Any]
    """For statements whose answers nobody reads."""


class RowSession:
    """State that all units of one transaction share: the connection, the rows that wait, and what the server was
    told.

    With a pipeline, statements go out without waiting for the answers before. `at_once` is for a unit on its own: each
    of its statements may fail without taking the others along. `begin` gives the connection when the first statement
    needs it; without one, rows can only be gathered.
    """

    def __init__(
        self, address: PostgresAddress, begin: Callable[[], OpenTransaction] | None = None, *, at_once: bool = False
    ) -> None:
        self.pending = PendingRows()
        self.address = address
        self.at_once = at_once
        self.touched: set[str] = set()
        """Tables of which rows were deleted or overwritten."""
        self.leaves_no_trace = False
        self.has_taken_over = False
        self._begin = begin
        self._open: OpenTransaction | None = None
        self._told: Any = _NOBODY

    @property
    def open(self) -> OpenTransaction:
        if self._open is None:
            if self._begin is None:
                raise StoreError("A change that was said to add only asked for what is there.")
            self._open = self._begin()
        return self._open

    def tell_scope(self, tenant: str | None) -> None:
        if self._told is _NOBODY or self._told != tenant:
            self.open.blind.execute(f"SELECT {SCOPE}", scope_of(tenant))
            self._told = tenant

    def note_scope(self, tenant: str | None) -> None:
        """Note that the server was told whose rows are meant, with another statement."""
        self._told = tenant

    def write_pending(self) -> None:
        if not self.pending.is_empty:
            tenants = self.pending.tenants
            self.tell_scope(next(iter(tenants)) if len(tenants) == 1 else None)
            self.pending.write(self.open.blind)

    def execute(self, query: statements.Query, tenant: str | None) -> psycopg.Cursor[Any]:
        self.write_pending()
        self.tell_scope(tenant)
        return self.open.connection.execute(*query)

    def change(self, query: statements.Query) -> int:
        """Number of rows that a statement has changed."""
        cursor = self.open.connection.execute(*query)
        if self.open.pipeline is not None:
            self.open.pipeline.sync()
        return cursor.rowcount

    def try_out(self, act: Callable[[], T]) -> T:
        """Run a statement that may fail alone, unless units share a transaction; what the unit did before stays."""
        if not self.at_once:
            return act()
        blind = self.open.blind
        blind.execute("SAVEPOINT one_statement")
        try:
            result = act()
        except (psycopg.Error, UnicodeError):
            if not self.open.connection.closed:
                blind.execute("ROLLBACK TO SAVEPOINT one_statement")
            raise
        blind.execute("RELEASE SAVEPOINT one_statement")
        return result


class PostgresTransaction:
    def __init__(self, session: RowSession, tenant: str | None) -> None:
        self._session = session
        self.tenant = tenant

    def of_all_tenants(self) -> PostgresTransaction:
        return PostgresTransaction(self._session, None)

    def scan(self, selection: Selection) -> Iterable[Row]:
        rows: list[Row] = self._session.execute(statements.select(selection, self.tenant), self.tenant).fetchall()
        return rows

    def scan_each(self, selections: Sequence[Selection]) -> list[list[Row]]:
        queries = [statements.select(selection, self.tenant) for selection in selections]
        cursors = [self._session.execute(query, self.tenant) for query in queries]
        return [cursor.fetchall() for cursor in cursors]

    def put(self, table: Table, rows: Sequence[Row], if_taken: IfTaken = IfTaken.REFUSE) -> None:
        session = self._session
        if if_taken is IfTaken.REPLACE:
            session.touched.add(table.name)
        session.pending.add(table, rows, if_taken, self.tenant)
        if session.at_once:
            session.tell_scope(self.tenant)
            self._name_faults(session.write_pending)

    def update(self, table: Table, where: Sequence[Condition], columns: Sequence[str], values: Row) -> int:
        sql, parameters = statements.update(table, columns, where, self.tenant)
        return self._change(table, (sql, [*values, *parameters]))

    def delete(self, table: Table, where: Sequence[Condition]) -> int:
        return self._change(table, statements.update(table, (), where, self.tenant))

    def _change(self, table: Table, query: statements.Query) -> int:
        session = self._session
        # Written outside: a row that waited and fails now is not this change's fault.
        session.write_pending()
        session.tell_scope(self.tenant)
        count = self._name_faults(lambda: session.change(query))
        if count:
            session.touched.add(table.name)
        return count

    def _name_faults(self, act: Callable[[], T]) -> T:
        """Translate errors at once that a unit may catch and go on."""
        try:
            return self._session.try_out(act)
        except (psycopg.Error, UnicodeError) as error:
            if not is_of_a_unit(error):
                raise
            raise translate(error, self._session.address) from error

    def take_over(self) -> None:
        session = self._session
        if not session.has_taken_over:
            session.has_taken_over = True
            session.open.blind.execute(LOCK, (LOGGING, lock_number(session.address.schema)))

    def leave_no_trace(self) -> None:
        self._session.leaves_no_trace = True
