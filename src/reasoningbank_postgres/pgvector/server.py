"""The bank's PostgreSQL as an index sees it: sessions that know pgvector, questions of one round trip, changes.

Whatever is wrong with the extension is refused here, with a sentence that says what helps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TypeVar
from weakref import WeakSet

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

from reasoningbank.core.errors import BankDamaged, BankReadOnly, BankUnavailable
from reasoningbank.core.failure import OnError
from reasoningbank.forking import renew_in_child
from reasoningbank.location import Location
from reasoningbank_postgres.address import PostgresAddress, parse_address
from reasoningbank_postgres.connections import (
    PostgresConnections,
    TimedConnection,
    connect,
    patiently,
    roll_back,
)
from reasoningbank_postgres.error_mapping import translate
from reasoningbank_postgres.pgvector.packing import VectorList
from reasoningbank_postgres.transaction import SCOPE, scope_of

T = TypeVar("T")
Query = tuple[str, Sequence[Any]]
Rows = list[tuple[Any, ...]]
OLDEST_EXTENSION = (0, 8)
"""Since when a search through a graph goes on until enough rows pass a filter."""
_GONE = (
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedColumn,
    psycopg.errors.UndefinedObject,
    psycopg.errors.UndefinedFunction,
    psycopg.errors.InvalidSchemaName,
    psycopg.errors.DatatypeMismatch,
)
MOST_SPARE = 3
"""Connections in use from which on a search takes no second one."""
_FACTS = """SELECT e.extversion, n.nspname, t.oid, t.typarray FROM pg_extension e
JOIN pg_namespace n ON n.oid = e.extnamespace
LEFT JOIN pg_type t ON t.typname = 'halfvec' AND t.typnamespace = e.extnamespace WHERE e.extname = 'vector'"""
_TERMS = "SET jit = off; SET synchronous_commit = off; SET hnsw.iterative_scan = 'relaxed_order'"
"""A view that is folded again from the records need not wait for the disk."""


class VectorConnections(PostgresConnections):
    """Connections that know the types of pgvector, and where the extension lies."""

    def __init__(self, address: PostgresAddress, *, read_only: bool) -> None:
        super().__init__(address)
        self._schema, self._shown, self._read_only = address.schema, address.shown, read_only
        self._adapted: WeakSet[TimedConnection] = WeakSet()
        self._lent = 0

    def take(self, within_s: float | None = None, *, in_pipeline: bool = False) -> TimedConnection:
        connection = super().take(within_s, in_pipeline=in_pipeline)
        if connection not in self._adapted:
            with OnError(lambda _: connection.close()):
                connection.leave_pipeline()
                self.adapt(connection)
                if in_pipeline:
                    connection.enter_pipeline()
            self._adapted.add(connection)
        with self._lock:
            self._lent += 1
        return connection

    def give_back(self, connection: TimedConnection) -> None:
        with self._lock:
            self._lent -= 1
        super().give_back(connection)

    def leave_to_parent(self) -> None:
        super().leave_to_parent()
        self._lent = 0

    def take_spare(self) -> TimedConnection | None:
        """A second one for a search; None where many searches go on at once, which would gain nothing by it."""
        return self.take(in_pipeline=True) if self._lent < MOST_SPARE else None

    def adapt(self, connection: TimedConnection) -> None:
        facts = connection.execute(_FACTS).fetchone()
        if facts is None:
            self._create_extension(connection)
            facts = connection.execute(_FACTS).fetchone()
        assert facts is not None
        version, schema, element, array = facts
        if tuple(int(part) for part in str(version).split(".")[:2]) < OLDEST_EXTENSION:
            raise BankUnavailable(
                f"{self._shown} has pgvector {version}; the index needs 0.8 or newer. Install that on the server, "
                "then say in this database: ALTER EXTENSION vector UPDATE;"
            )
        connection.execute(f'SET search_path = "{self._schema}", "{schema}"; {_TERMS}')
        connection.adapters.register_dumper(VectorList, _dumper(element, array))

    def _create_extension(self, connection: TimedConnection) -> None:
        if self._read_only:
            raise BankUnavailable(f"The database of {self._shown} has no pgvector yet: open the bank for writing once.")
        try:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        except psycopg.errors.UniqueViolation:
            # Another process did, at the same moment.
            return
        except psycopg.errors.FeatureNotSupported:
            raise BankUnavailable(
                f"The server of {self._shown} has no pgvector. Install it there (the package is often named "
                "postgresql-NN-pgvector), or choose another index: 'reasoningbank reindex --index embedded'."
            ) from None
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidSchemaName):
            raise BankUnavailable(
                f"The role {connection.info.user} may not add pgvector to the database {connection.info.dbname}. Let "
                "an administrator say there: CREATE EXTENSION vector; or choose another index: 'reasoningbank reindex "
                "--index embedded'."
            ) from None


def _dumper(element: int, array: int) -> type[Dumper]:
    class VectorListDumper(Dumper):
        format = Format.BINARY
        oid = array

        def dump(self, obj: VectorList) -> bytes:
            return obj.binary(element)

    return VectorListDumper


def _send(connection: TimedConnection, tenant: str | None, queries: Sequence[Query]) -> list[psycopg.Cursor[Any]]:
    """Questions of a tenant's rows, or of everybody's, in one transaction."""
    connection.cursor().execute(f"SELECT {SCOPE}", scope_of(tenant))
    cursors = [connection.execute(sql, values, binary=True) for sql, values in queries]
    connection.send_end()
    return cursors


class IndexServer:
    def __init__(self, location: Location, *, read_only: bool) -> None:
        self.address = parse_address(location)
        self.read_only = read_only
        self._connections = VectorConnections(self.address, read_only=read_only)
        renew_in_child(self._connections.leave_to_parent)

    @contextmanager
    def _damage_named(self) -> Iterator[None]:
        """Tables that somebody removed or made otherwise are no fault of the server's."""
        try:
            yield
        except _GONE as error:
            raise BankDamaged(
                f"What the index kept at {self.address.shown} was removed or replaced: it is built anew from the "
                "records."
            ) from error
        except psycopg.DataError as error:
            if "dimensions" not in str(error):
                raise
            raise BankDamaged(
                f"The vectors of the index at {self.address.shown} have other dimensions: it is built anew from the "
                "records."
            ) from error
        except UnicodeError as error:
            raise translate(error, self.address) from error

    def ask(self, tenant: str | None, *queries: Query) -> list[Rows]:
        """The rows of each question, in one round trip and one transaction."""

        def work() -> list[Rows]:
            with self._damage_named(), self._connections.lend(in_pipeline=True) as connection:
                try:
                    return [cursor.fetchall() for cursor in _send(connection, tenant, queries)]
                except psycopg.Error:
                    roll_back(connection)
                    raise

        return patiently(work, self.address)

    @contextmanager
    def ask_meanwhile(self, tenant: str | None, *queries: Query) -> Iterator[Callable[[], list[Rows]]]:
        """As `ask`, on a connection of its own: the server works while the caller does something else, until that calls
        for the rows. Where no connection is to spare, or something went wrong, they are asked for then.
        """
        with ExitStack() as stack:
            cursors: list[psycopg.Cursor[Any]] = []
            with suppress(psycopg.Error):
                connection = self._connections.take_spare()
                if connection is not None:
                    stack.callback(self._connections.give_back, connection)
                    cursors = _send(connection, tenant, queries)

            def hear() -> list[Rows]:
                if cursors:
                    try:
                        return [cursor.fetchall() for cursor in cursors]
                    except psycopg.Error:
                        # Asked once more on another connection, which is patient and names what is wrong.
                        cursors[0].connection.close()
                return self.ask(tenant, *queries)

            try:
                yield hear
            finally:
                # Whatever nobody called for: the connection is of use again.
                with suppress(psycopg.Error):
                    for cursor in cursors:
                        cursor.fetchall()

    def change(self, work: Callable[[TimedConnection], T]) -> T:
        """Run a change of every tenant's rows in a transaction. It may be run again, whatever became of the first."""
        if self.read_only:
            raise BankReadOnly(f"{self.address.shown} is open for reading only.")

        def act() -> T:
            with self._damage_named(), self._connections.lend() as connection:
                try:
                    connection.execute("BEGIN")
                    connection.execute(f"SELECT {SCOPE}", scope_of(None))
                    result = work(connection)
                    connection.execute("COMMIT")
                finally:
                    roll_back(connection)
            return result

        return patiently(act, self.address)

    @contextmanager
    def apart(self, within_s: float) -> Iterator[TimedConnection]:
        """A connection of its own for statements that take long, each at most so long."""
        connection = patiently(lambda: connect(self.address), self.address)
        try:
            with self._damage_named():
                self._connections.adapt(connection)
                connection.answers_within_s = within_s
                connection.execute(f"SET statement_timeout = {int(within_s * 1000)}")
                yield connection
        except psycopg.Error as error:
            raise translate(error, self.address) from error
        finally:
            connection.close()

    def close(self) -> None:
        self._connections.close()
