"""A bank in one SQLite file, shared by any number of threads and processes.

Knows connections, transactions, group commit and what is durable. It does not know what a record means
(`store.units`) or how one is coded (`store.tables`).

Invariants:
- every write runs in `BEGIN IMMEDIATE`: a deferred transaction that reads first fails under contention;
- a call to `write` returns only after the commit that holds its change; calls that wait together share one commit;
- a unit that raises is rolled back alone: its neighbours are run again, so a unit must bear being run twice;
- the feed number of a change is given inside the transaction, so numbers are dense and in commit order.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Generic, TypeVar, cast
from urllib.parse import quote

import apsw

from reasoningbank.core.errors import (
    BankDamaged,
    BankReadOnly,
    InvalidInput,
    StoreError,
)
from reasoningbank.core.types import AccessToken, Change, Exposure, Gap, Op, Record
from reasoningbank.ports import Damage, Reader, StoreInfo, Writer
from reasoningbank.store.access import put_token, token_in, tokens_in
from reasoningbank.store.faults import NAMED, faults_named, translated
from reasoningbank.store.gap_rows import add_gaps, gaps_of, remove_gaps
from reasoningbank.store.keeping import copy_to, damage_in
from reasoningbank.store.leases import tenants_with_jobs
from reasoningbank.store.opening import access_to, bring_up_to_date, number_from
from reasoningbank.store.pending import Pending
from reasoningbank.store.schema import SCHEMA_VERSION
from reasoningbank.store.tables import table_of
from reasoningbank.store.units import SqliteReader, SqliteWriter

_URI_FLAGS = apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_CREATE

T = TypeVar("T")
R = TypeVar("R", bound=Record)

SAFE_SQLITE = (3, 51, 3)
"""Older versions can corrupt a WAL file that several processes write."""
BUSY_TIMEOUT_MS = 30_000
LOG_BUSY_TIMEOUT_MS = 1_000
WRITER_CACHE_KIB = 16_384
UNITS_PER_COMMIT = 256
IDLE_READERS = 8
DURABILITIES = {
    "full": "an acknowledged write survives a killed process and a power loss",
    "normal": "an acknowledged write survives a killed process; a power loss may take the last ones",
}


_NOTHING = object()


class _Unit(Generic[T]):
    """A change waiting for its commit."""

    __slots__ = ("alone", "change", "done", "error", "gate", "leads", "result", "tenant")

    def __init__(self, tenant: str, change: Callable[[Writer], T], *, alone: bool) -> None:
        self.tenant = tenant
        self.change = change
        self.alone = alone
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


def _open_gates(settled: list[_Unit[Any]]) -> None:
    while settled:
        settled.pop().open_gate()


class SqliteStore:
    def __init__(
        self,
        path: str | Path,
        *,
        durability: str = "full",
        create: bool = True,
        read_only: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if durability not in DURABILITIES:
            raise InvalidInput(f"Unknown durability {durability!r}: choose one of {', '.join(DURABILITIES)}.")
        self._path = str(path)
        self._durability = durability
        self._clock = clock
        self._read_only = read_only
        self._immutable = False
        self._queue: deque[_Unit[Any]] = deque()
        self._queue_lock = threading.Lock()
        self._is_led = False
        """Some thread is committing for everybody in the queue."""
        self._commit_turn = threading.Lock()
        self._committing: int | None = None
        """The thread that is running units now."""
        self._readers: deque[apsw.Connection] = deque()
        self._process = os.getpid()
        self._writer: apsw.Connection | None = None
        self._inherited: tuple[apsw.Connection | None, ...] = ()
        self._is_closed = False
        if self._path != ":memory:":
            access = access_to(Path(self._path), create=create, read_only=read_only)
            self._read_only, self._immutable = access.read_only, access.immutable
        with faults_named(self._path):
            self._open_first()

    # ------------------------------------------------------------ opening

    def _connect(self) -> apsw.Connection:
        if self._path == ":memory:":
            connection = apsw.Connection(self._memory_name, flags=_URI_FLAGS | apsw.SQLITE_OPEN_READWRITE)
        elif self._read_only:
            suffix = "?immutable=1" if self._immutable else ""
            connection = apsw.Connection(
                f"file:{quote(self._path)}{suffix}", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            )
        else:
            connection = apsw.Connection(self._path, flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        connection.execute(f"PRAGMA synchronous = {self._durability}")
        # Deleted bytes are overwritten, so that an erasure leaves nothing in free pages.
        connection.execute("PRAGMA secure_delete = ON")
        return connection

    def _connect_writer(self) -> apsw.Connection:
        connection = self._connect()
        # Ids made from contents fall anywhere into the trees: a bulk import would read each page again and again.
        connection.execute(f"PRAGMA cache_size = -{WRITER_CACHE_KIB}")
        return connection

    def _open_first(self) -> None:
        if self._path == ":memory:":
            self._memory_name = f"file:/reasoningbank-{id(self):x}-{os.getpid()}?vfs=memdb"
        connection = self._connect() if self._read_only else self._connect_writer()
        bring_up_to_date(connection, self._path, read_only=self._read_only)
        if not self._read_only:
            self._writer = connection
        else:
            self._readers.append(connection)

    # ------------------------------------------------------------ reading

    @property
    def info(self) -> StoreInfo:
        if self._path == ":memory:":
            durability = "nothing: this bank lives in memory"
        else:
            durability = f"{self._durability}: {DURABILITIES[self._durability]}"
        return StoreInfo(
            backend=f"sqlite {apsw.sqlite_lib_version()}",
            location=self._path,
            schema_version=SCHEMA_VERSION,
            durability="read-only" if self._read_only else durability,
            read_only=self._read_only,
        )

    def _stay_in_this_process(self) -> None:
        # SQLite forbids carrying a connection over fork(); a child starts with its own.
        if os.getpid() != self._process:
            self._process = os.getpid()
            self._queue = deque()
            self._queue_lock = threading.Lock()
            self._is_led = False
            self._commit_turn = threading.Lock()
            self._committing = None
            # Held on to, because closing the parent's connections here would disturb its locks and its log.
            self._inherited = (*self._readers, self._writer)
            self._readers = deque()
            self._writer = None if self._read_only or self._writer is None else self._connect_writer()

    @contextmanager
    def _borrowed(self) -> Iterator[apsw.Connection]:
        self._stay_in_this_process()
        if self._is_closed:
            raise self._closed()
        try:
            connection = self._readers.pop()
        except IndexError:
            connection = self._connect()
        try:
            yield connection
        finally:
            if len(self._readers) < IDLE_READERS:
                self._readers.append(connection)
            else:
                connection.close()

    @contextmanager
    def read(self, tenant: str) -> Iterator[Reader]:
        self._check_tenant(tenant)
        with faults_named(self._path), self._borrowed() as connection:
            connection.execute("BEGIN")
            try:
                yield SqliteReader(connection, tenant, self._path)
            finally:
                # An error of the medium may have ended it already.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def _check_tenant(self, tenant: str) -> None:
        if not tenant:
            raise InvalidInput("A tenant is needed for every read and write.")

    def head(self) -> int:
        with faults_named(self._path), self._borrowed() as connection:
            return number_from(connection, "SELECT coalesce(max(seq), 0) FROM feed")

    def changes(self, after: int, limit: int) -> list[Change]:
        with faults_named(self._path), self._borrowed() as connection:
            rows: list[Any] = connection.execute(
                "SELECT seq, kind, op, id, tenant, at FROM feed WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit)
            ).fetchall()
        try:
            return [
                Change(seq=seq, kind=kind, op=Op(op), id=id_, tenant=tenant, at=at)
                for seq, kind, op, id_, tenant, at in rows
            ]
        except ValueError as error:
            raise BankDamaged(f"The feed of {self._path} is damaged ({error}). Restore a backup.") from error

    def unscoped(self, kind: type[R], ids: Sequence[str]) -> dict[str, R]:
        table = table_of(kind)
        sql = f"SELECT {table.listed} FROM {table.name} WHERE id IN (SELECT value FROM json_each(?))"
        rows: list[Any] = []
        with faults_named(self._path), self._borrowed() as connection:
            try:
                rows = connection.execute(sql, (json.dumps(list(ids)),)).fetchall()
            except UnicodeDecodeError:
                # A damaged row must not keep the others out of a view.
                for record_id in ids:
                    with suppress(UnicodeDecodeError):
                        rows += connection.execute(sql, (json.dumps([record_id]),)).fetchall()
        return {row[0]: table.decode(row) for row in rows if table.intact(row)}

    def setting(self, name: str) -> str | None:
        with faults_named(self._path), self._borrowed() as connection:
            row = connection.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    # ------------------------------------------------------------ writing

    def write(self, tenant: str, change: Callable[[Writer], T], *, alone: bool = False) -> T:
        self._check_tenant(tenant)
        if self._read_only:
            raise BankReadOnly(f"{self._path} is open for reading only.")
        self._stay_in_this_process()
        if self._committing == threading.get_ident():
            raise StoreError("A write was started inside another write, which would wait for itself forever.")
        unit = _Unit(tenant, change, alone=alone)
        if self._queued_first(unit):
            self._lead(unit)
        if unit.error is not None:
            raise unit.error
        return cast(T, unit.result)

    def _queued_first(self, unit: _Unit[Any]) -> bool:
        """Queue a unit. True when its thread is to commit; False when another one has done it."""
        with self._queue_lock:
            self._queue.append(unit)
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

    def _withdraw(self, unit: _Unit[Any]) -> None:
        """Take back a unit whose thread was interrupted; what is being committed already stays, unanswered."""
        with self._queue_lock:
            waiting = unit in self._queue
            if waiting:
                self._queue.remove(unit)
        if waiting and unit.leads:
            self._hand_over()

    def _lead(self, unit: _Unit[Any]) -> None:
        """Commit for everybody in the queue until our own unit is done, then hand the lead to one who still waits."""
        unit.gate = None
        settled: list[_Unit[Any]] = []
        try:
            while not unit.done:
                _open_gates(settled)
                with self._commit_turn:
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
            heir = self._queue[0] if self._queue else None
            self._is_led = heir is not None
            if heir is not None and heir.gate is not None:
                heir.leads = True
                heir.gate.release()

    def _commit_queued(self, settled: list[_Unit[Any]]) -> None:
        connection = self._writer
        units = self._next_units()
        self._committing = threading.get_ident()
        try:
            if connection is None:
                raise self._closed()
            if units[0].alone or not self._committed(connection, units, at_once=False):
                # One of them failed and took the rest with it: each again on its own, telling it where it fails.
                for unit in units:
                    self._committed(connection, [unit], at_once=True)
        except StoreError as error:
            for unit in units:
                unit.error = unit.error or error
        finally:
            self._committing = None
            settled += units
            for unit in units:
                if unit.error is None and unit.result is _NOTHING:
                    unit.error = StoreError(f"A write to {self._path} was interrupted. Nothing was written: try again.")
                unit.done = True

    def _next_units(self) -> list[_Unit[Any]]:
        units: list[_Unit[Any]] = []
        with self._queue_lock:
            while self._queue and len(units) < UNITS_PER_COMMIT:
                if units and (self._queue[0].alone or units[0].alone):
                    break
                units.append(self._queue.popleft())
        return units

    def _committed(self, connection: apsw.Connection, units: Sequence[_Unit[Any]], *, at_once: bool) -> bool:
        """Run units in one transaction. False when one failed; run `at_once`, its error is then known."""
        writers: list[SqliteWriter] = []
        results: list[Any] = []
        pending = Pending(connection, at_once=at_once)
        try:
            connection.execute("BEGIN IMMEDIATE")
            for unit in units:
                writers.append(SqliteWriter(pending, unit.tenant, self._path, self._clock))
                results.append(unit.change(writers[-1]))
            pending.write()
            connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - handed to the caller whose unit it is
            # A medium that failed once is not asked again behind the caller's back.
            of_the_medium = isinstance(error, apsw.Error) and not isinstance(error, apsw.ConstraintError)
            if of_the_medium or at_once:
                fault = translated(error, self._path) if isinstance(error, NAMED) else error
                for unit in units:
                    unit.error = fault
            return of_the_medium
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        for unit, result in zip(units, results, strict=True):
            unit.result = result
        if any(writer.has_erased for writer in writers):
            self._drop_erased_bytes(connection)
        return True

    def _drop_erased_bytes(self, connection: apsw.Connection) -> None:
        # The log still holds the erased pages. A reader in another process can delay this; the next erasure or
        # checkpoint then does it.
        connection.set_busy_timeout(LOG_BUSY_TIMEOUT_MS)
        with suppress(apsw.Error):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)

    def set_setting(self, name: str, value: str) -> None:
        if self._read_only:
            raise BankReadOnly(f"{self._path} is open for reading only.")
        self._stay_in_this_process()
        with self._commit_turn, faults_named(self._path):
            if self._writer is None:
                raise self._closed()
            self._writer.execute("INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)", (name, value))

    def agree_setting(self, name: str, value: str) -> str:
        if self._read_only:
            return self.setting(name) or value
        self._stay_in_this_process()
        with self._commit_turn, faults_named(self._path):
            if self._writer is None:
                raise self._closed()
            self._writer.execute("INSERT OR IGNORE INTO settings (name, value) VALUES (?, ?)", (name, value))
        return self.setting(name) or value

    def tenants_with_jobs(self) -> list[str]:
        with faults_named(self._path), self._borrowed() as connection:
            return tenants_with_jobs(connection)

    def jobs_in_queue(self) -> int:
        with faults_named(self._path), self._borrowed() as connection:
            return number_from(connection, "SELECT count(*) FROM leases")

    def token(self, token_id: str) -> AccessToken | None:
        with faults_named(self._path), self._borrowed() as connection:
            return token_in(connection, token_id)

    def tokens(self) -> list[AccessToken]:
        with faults_named(self._path), self._borrowed() as connection:
            return tokens_in(connection)

    def keep_token(self, token: AccessToken) -> None:
        self._check_tenant(token.tenant)
        if self._read_only:
            raise BankReadOnly(f"{self._path} is open for reading only.")
        self._stay_in_this_process()
        with self._commit_turn, faults_named(self._path):
            if self._writer is None:
                raise self._closed()
            put_token(self._writer, token)

    def log_shown(self, exposures: Sequence[Exposure]) -> None:
        """A lost line of this log is no lost record, so it neither waits for the disk nor long for the lock."""
        if self._read_only or not exposures:
            return
        with self._logging() as connection:
            connection.executemany(
                "INSERT INTO exposures (tenant, memory_id, trajectory_id, query_hash, rank, at, withheld, holdout) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (e.tenant, e.memory_id, e.trajectory_id, e.query_hash, e.rank, e.at, e.withheld, e.holdout)
                    for e in exposures
                ],
            )

    def log_gaps(self, gaps: Sequence[Gap]) -> None:
        if self._read_only or not gaps:
            return
        with self._logging() as connection:
            add_gaps(connection, gaps)

    @contextmanager
    def _logging(self) -> Iterator[apsw.Connection]:
        with faults_named(self._path), self._borrowed() as connection:
            connection.set_busy_timeout(LOG_BUSY_TIMEOUT_MS)
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                connection.set_busy_timeout(BUSY_TIMEOUT_MS)

    def gaps(self, tenant: str) -> list[Gap]:
        self._check_tenant(tenant)
        with faults_named(self._path), self._borrowed() as connection:
            return gaps_of(connection, tenant)

    def drop_gaps(self, tenant: str, ids: Sequence[str]) -> int:
        self._check_tenant(tenant)
        if self._read_only:
            raise BankReadOnly(f"{self._path} is open for reading only.")
        self._stay_in_this_process()
        with self._commit_turn, faults_named(self._path):
            if self._writer is None:
                raise self._closed()
            dropped = remove_gaps(self._writer, tenant, ids)
            self._drop_erased_bytes(self._writer)
        return dropped

    # ------------------------------------------------------------ keeping

    def verify(self) -> list[Damage]:
        with faults_named(self._path), self._borrowed() as connection:
            return list(damage_in(connection))

    def backup(self, target: Path, progress: Callable[[int, int], None] | None = None) -> None:
        with faults_named(str(target)), self._borrowed() as source:
            copy_to(source, Path(target), progress)

    def _closed(self) -> StoreError:
        return StoreError(f"{self._path} is closed.")

    def close(self) -> None:
        if os.getpid() != self._process:
            return
        with self._commit_turn:
            self._is_closed = True
            for connection in (*self._readers, *([self._writer] if self._writer else [])):
                with suppress(apsw.Error):
                    connection.close()
            self._readers.clear()
            self._writer = None
