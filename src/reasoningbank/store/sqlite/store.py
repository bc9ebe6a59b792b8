"""A bank in one SQLite file, shared by any number of threads and processes.

Knows transactions and what is durable. It does not know how connections are kept (`store.connections`), who commits
for whom (`store.group_commit`), what a record means (`store.reading`, `store.writing`) or how one is coded
(`store.tables`).

Invariants:
- every write runs in `BEGIN IMMEDIATE`: a deferred transaction that reads first fails under contention;
- a call to `write` returns only after the commit that holds its change; calls that wait together share one commit;
- a unit that raises is rolled back alone: its neighbours are run again, so a unit must bear being run twice;
- the feed number of a change is given inside the transaction, so numbers are dense and in commit order.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import apsw

from reasoningbank.core.errors import BankDamaged, BankError, BankReadOnly, BankReplaced, InvalidInput
from reasoningbank.core.types import AccessToken, Change, Exposure, Gap, Op, Record
from reasoningbank.forking import renew_in_child, unforked
from reasoningbank.ports import Damage, Reader, StoreInfo, Writer
from reasoningbank.store.sqlite.batched_inserts import Pending
from reasoningbank.store.sqlite.calls import check_not_torn, in_transaction
from reasoningbank.store.sqlite.connections import BUSY_TIMEOUT_MS, MEMORY, Connections
from reasoningbank.store.sqlite.copying import copy_to
from reasoningbank.store.sqlite.durable import sync_file
from reasoningbank.store.sqlite.error_mapping import NAMED, faults_named, remedy, translate
from reasoningbank.store.sqlite.gap_rows import add_gaps, gaps_of, remove_gaps
from reasoningbank.store.sqlite.group_commit import GroupCommit, Unit
from reasoningbank.store.sqlite.leases import tenants_with_jobs
from reasoningbank.store.sqlite.opening import number_from
from reasoningbank.store.sqlite.reading import SqliteReader
from reasoningbank.store.sqlite.schema import SCHEMA_VERSION
from reasoningbank.store.sqlite.tables import table_of
from reasoningbank.store.sqlite.tokens_replies import put_token, token_in, tokens_in
from reasoningbank.store.sqlite.turn import PATIENCE_S
from reasoningbank.store.sqlite.verify_backup import damage_in
from reasoningbank.store.sqlite.writing import SqliteWriter

T = TypeVar("T")
R = TypeVar("R", bound=Record)

SAFE_SQLITE = (3, 51, 3)
"""Older versions can corrupt a WAL file that several processes write."""
LOG_BUSY_TIMEOUT_MS = 1_000
CHECKPOINT_TRIES = 10
DURABILITIES = {
    "full": "an acknowledged write survives a killed process and a power loss",
    "normal": "an acknowledged write survives a killed process; a power loss may take the last ones",
}


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
            location=self._path,
            schema_version=SCHEMA_VERSION,
            durability="read-only" if self._read_only else durability,
            read_only=self._read_only,
        )

    def _begin_in_child(self) -> None:
        midway = self._commits.is_committing_here
        self._commits = GroupCommit(self._commit, self._path)
        self._connections.leave_to_parent(midway=midway)

    @contextmanager
    def _borrow(self) -> Iterator[apsw.Connection]:
        with faults_named(self._path), self._connections.lent() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        """The writing connection, for what is not a unit of change."""
        if self._read_only:
            raise BankReadOnly(f"{self._path} is open for reading only.")
        self._connections.check_usable()
        with (
            self._commits.turn,
            faults_named(self._path),
            unforked(),
            self._transaction(self._connections.writing()) as connection,
        ):
            yield connection

    @contextmanager
    def _transaction(self, connection: apsw.Connection, timeout_ms: int = BUSY_TIMEOUT_MS) -> Iterator[apsw.Connection]:
        try:
            self._begin(connection, timeout_ms)
            yield connection
            self._connections.commit(connection, [])
        finally:
            self._roll_back(connection)
            self._connections.turn.give()

    @contextmanager
    def read(self, tenant: str) -> Iterator[Reader]:
        self._check_tenant(tenant)
        with self._borrow() as connection:
            connection.execute("BEGIN")
            try:
                yield SqliteReader(connection, tenant, self._path)
            finally:
                # An error of the medium may have ended it already, and a fork leaves it to the parent.
                if in_transaction(connection):
                    connection.execute("ROLLBACK")

    def _check_tenant(self, tenant: str) -> None:
        if not tenant:
            raise InvalidInput("A tenant is needed for every read and write.")

    def head(self) -> int:
        with self._borrow() as connection:
            return number_from(connection, "SELECT coalesce(max(seq), 0) FROM feed")

    def changes(self, after: int, limit: int) -> list[Change]:
        with self._borrow() as connection:
            rows: list[Any] = connection.execute(
                "SELECT seq, kind, op, id, tenant, at FROM feed WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit)
            ).fetchall()
        try:
            return [
                Change(seq=seq, kind=kind, op=Op(op), id=id_, tenant=tenant, at=at)
                for seq, kind, op, id_, tenant, at in rows
            ]
        except ValueError as error:
            raise BankDamaged(f"The feed of {self._path} is damaged ({error}). {remedy(self._path)}") from error

    def unscoped(self, kind: type[R], ids: Sequence[str]) -> dict[str, R]:
        table = table_of(kind)
        sql = f"SELECT {table.listed} FROM {table.name} WHERE id IN (SELECT value FROM json_each(?))"
        rows: list[Any] = []
        with self._borrow() as connection:
            try:
                rows = connection.execute(sql, (json.dumps(list(ids)),)).fetchall()
            except UnicodeDecodeError:
                # A damaged row must not keep the others out of a view.
                for record_id in ids:
                    with suppress(UnicodeDecodeError):
                        rows += connection.execute(sql, (json.dumps([record_id]),)).fetchall()
        return {row[0]: table.decode(row) for row in rows if table.intact(row)}

    def setting(self, name: str) -> str | None:
        with self._borrow() as connection:
            row = connection.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    # ------------------------------------------------------------ writing

    def write(self, tenant: str, change: Callable[[Writer], T], *, alone: bool = False, adds_only: bool = False) -> T:
        self._check_tenant(tenant)
        if self._read_only:
            raise BankReadOnly(f"{self._path} is open for reading only.")
        self._connections.check_usable()
        unit = Unit(tenant, change, alone=alone)
        if adds_only:
            rows = Pending()
            unit.ahead = rows, change(SqliteWriter(rows, tenant, self._path, self._clock))
        return self._commits.submit(unit)

    def _commit(self, units: Sequence[Unit[Any]], at_once: bool) -> bool:
        """Run units in one transaction. False when one failed; run `at_once`, its error is then known."""
        with unforked():
            return self._run_together(units, at_once)

    def _run_together(self, units: Sequence[Unit[Any]], at_once: bool) -> bool:
        connection = self._connections.writing()
        self._roll_back(connection)  # where an interrupt came between a failure and its rollback
        writers: list[SqliteWriter] = []
        commit: list[Any] = []
        pending = Pending(connection, at_once=at_once)
        for unit in units:
            unit.begin()
        try:
            self._begin(connection)
            for unit in units:
                if unit.ahead is None or at_once:
                    writers.append(SqliteWriter(pending, unit.tenant, self._path, self._clock))
                    unit.result = unit.change(writers[-1])
                else:
                    # Gone before they are taken: run again after an interrupt, the unit makes them anew.
                    ahead, unit.ahead = unit.ahead, None
                    rows, unit.result = ahead
                    pending.take(rows)
            for unit in units:
                unit.commit = commit
            pending.write()
            self._connections.commit(connection, commit)
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
        if any(writer.has_erased for writer in writers):
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
        """Whether nothing is left to try: a medium that failed once is not asked again behind the caller's back."""
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

    def set_setting(self, name: str, value: str) -> None:
        with self._writing() as connection:
            connection.execute("INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)", (name, value))

    def agree_setting(self, name: str, value: str) -> str:
        if not self._read_only:
            with self._writing() as connection:
                connection.execute("INSERT OR IGNORE INTO settings (name, value) VALUES (?, ?)", (name, value))
        return self.setting(name) or value

    def tenants_with_jobs(self) -> list[str]:
        with self._borrow() as connection:
            return tenants_with_jobs(connection)

    def jobs_in_queue(self) -> int:
        with self._borrow() as connection:
            return number_from(connection, "SELECT count(*) FROM leases")

    def token(self, token_id: str) -> AccessToken | None:
        with self._borrow() as connection:
            return token_in(connection, token_id)

    def tokens(self) -> list[AccessToken]:
        with self._borrow() as connection:
            return tokens_in(connection)

    def keep_token(self, token: AccessToken) -> None:
        self._check_tenant(token.tenant)
        with self._writing() as connection:
            put_token(connection, token)

    def log_shown(self, exposures: Sequence[Exposure]) -> None:
        """A lost line of this log is no lost record, so it neither waits for the disk nor long for the lock."""
        if self._read_only or not exposures:
            return
        with self._logging() as connection:
            connection.executemany(
                "INSERT INTO exposures (tenant, memory_id, trajectory_id, query_hash, rank, at, withheld, holdout, "
                "advice_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        e.tenant,
                        e.memory_id,
                        e.trajectory_id,
                        e.query_hash,
                        e.rank,
                        e.at,
                        e.withheld,
                        e.holdout,
                        e.advice_id,
                    )
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
        with self._borrow() as connection, self._commits.turn, unforked():
            connection.execute("PRAGMA synchronous = NORMAL")
            try:
                with self._transaction(connection, LOG_BUSY_TIMEOUT_MS):
                    yield connection
            finally:
                connection.set_busy_timeout(BUSY_TIMEOUT_MS)

    def gaps(self, tenant: str) -> list[Gap]:
        self._check_tenant(tenant)
        with self._borrow() as connection:
            return gaps_of(connection, tenant)

    def drop_gaps(self, tenant: str, ids: Sequence[str]) -> int:
        self._check_tenant(tenant)
        with self._writing() as connection:
            dropped = remove_gaps(connection, tenant, ids)
        with self._commits.turn, faults_named(self._path):
            self._drop_erased_bytes(self._connections.writing())
        return dropped

    # ------------------------------------------------------------ keeping

    def verify(self) -> list[Damage]:
        with self._borrow() as connection:
            return list(damage_in(connection))

    def backup(self, target: Path, progress: Callable[[int, int], None] | None = None) -> None:
        with faults_named(str(target)), self._connections.lent() as source:
            copy_to(source, Path(target), progress)

    def close(self) -> None:
        with self._commits.turn:
            self._connections.close()
