"""The durable log of entries (`EntryLog`) in one SQLite file: what came, what was spent, what is remembered.

Several processes share the file; within one, calls take turns. What a call has returned from is on the disk.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import filterfalse
from pathlib import Path
from typing import Any, Self, Unpack

import apsw

from reasoningbank.core.errors import BankReplaced, StoreError
from reasoningbank.forking import renew_in_child, unforked
from reasoningbank_bus.authority.metering import Spend, sums_of
from reasoningbank_bus.log.tables import BUSY_TIMEOUT_MS, damage, named_failures, open_file
from reasoningbank_bus.ports import AddedWith, LogChanged, RecordIn, Standing, unwanted_state
from reasoningbank_bus.wire.entry import (
    Entry,
    RecordName,
    decode_entry,
    encode_entry,
    id_of_encoded,
    place_of,
    reaches_everywhere,
)
from reasoningbank_bus.wire.refusals import BusRefusal

FILE_NAME = "bus.db"
MAX_READ_BYTES = 16 * 1024 * 1024
_ROWS_AT_ONCE = 10_000
_NAMES_AT_ONCE = 500
_EMPTYING_MS = 1_000
"""How long readers are waited for, before the journal is left as it is."""
_INSERT = """
INSERT INTO entries (id, scope, namespace, place, record_author, record_id, is_erasure, encoded)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8
WHERE ?7 OR NOT EXISTS (
    SELECT 1 FROM entries WHERE record_id = ?6 AND record_author = ?5 AND is_erasure
    AND (namespace = ?3 OR substr(place, 1, 8) = substr(?5, 1, 8))
    UNION ALL SELECT 1 FROM state WHERE name = 'unwanted ' || lower(hex(?5)) || ' ' || ?6)
ON CONFLICT (id) DO NOTHING RETURNING id"""
_PLACES = """
SELECT scope, namespace, place, id FROM entries WHERE (namespace, place) > (?, ?) ORDER BY namespace, place LIMIT ?"""
_OF_RECORD = "FROM entries WHERE record_id = ? AND record_author = ? AND NOT is_erasure AND (? OR namespace = ?)"
_FORGET = f"DELETE {_OF_RECORD} RETURNING scope, namespace, place, id"
_REACHED = f"SELECT scope, namespace, place, id {_OF_RECORD}"
_ERASURES = """
SELECT record_author, record_id, namespace, substr(place, 1, 8) = substr(record_author, 1, 8)
FROM entries WHERE record_id IN ({names}) AND is_erasure"""
_STATES = "SELECT name, value FROM state WHERE name IN ({names})"
_COUNT = """
INSERT INTO meters (intent, what, period, amount) VALUES (?, ?, ?, ?)
ON CONFLICT (intent, period, what) DO UPDATE SET amount = amount + excluded.amount RETURNING amount"""


class DurableLog:
    def __init__(self, folder: Path) -> None:
        # Whole: this process may go to another folder.
        self.path = (folder / FILE_NAME).absolute()
        self._lock = threading.RLock()
        self._connection: apsw.Connection | None = None
        self._file: tuple[int, int] = (0, 0)
        self._is_closed = False
        with self._turn():
            pass
        renew_in_child(self._leave_to_parent)

    # ------------------------------------------------------------ writing

    def add(self, entries: Sequence[Entry], **also: Unpack[AddedWith]) -> list[Entry]:
        rows = list(map(_row_of, entries, also.get("encoded") or map(encode_entry, entries)))
        if_still = also.get("if_still")
        coming: dict[bytes, Entry] = {}
        for row, entry in zip(rows, entries, strict=True):
            coming.setdefault(row[0], entry)
        standings: list[Standing] = []
        with self._transaction() as connection:
            # Nobody else writes from here on.
            if if_still is not None and connection.pragma("data_version") != if_still:
                raise LogChanged
            # Erasures first, so that nothing of their records is added behind them.
            in_order = [*filter(_is_erasure, rows), *filterfalse(_is_erasure, rows)]
            new_ids = {id_ for (id_,) in connection.executemany(_INSERT, in_order)}
            for row in filter(_is_erasure, rows):
                if row[0] in new_ids:
                    standings += _forget(connection, coming[row[0]])
            _count(connection, [spend for spend in also.get("spent", ()) if not spend.entry or spend.entry in new_ids])
            _keep(connection, also.get("state", {}))
        if standings:
            self._empty_journal()
        return [entry for id_, entry in coming.items() if id_ in new_ids]

    def erase(self, erasures: Sequence[Entry], local_records: Sequence[RecordName] = ()) -> list[Standing]:
        with self._transaction() as connection:
            standings = [standing for erasure in erasures for standing in _forget(connection, erasure)]
            _keep(connection, {unwanted_state(name): b"" for name in local_records})
            for name in local_records:
                rows: Any = connection.execute(_FORGET, (name.id, name.author, True, "")).fetchall()
                standings += rows
        if standings:
            self._empty_journal()
        return standings

    def keep_state(self, values: Mapping[str, bytes | None]) -> None:
        with self._transaction() as connection:
            _keep(connection, values)

    def spend(self, spends: Sequence[Spend]) -> None:
        with self._transaction() as connection:
            _count(connection, spends)

    def _empty_journal(self) -> None:
        """Copy what was written into the file and empty the journal, where bytes that were overwritten still stand.
        Somebody who reads meanwhile keeps it as it is; the next erasure or the last one to close it does it then.
        """
        with self._turn() as connection:
            connection.set_busy_timeout(_EMPTYING_MS)
            with suppress(apsw.BusyError, apsw.LockedError):
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)

    # ------------------------------------------------------------ reading

    def after(self, number: int, limit: int) -> list[tuple[int, Entry]]:
        """At least one if there is one, and no more than what takes sixteen megabytes."""
        entries: list[tuple[int, Entry]] = []
        size = 0
        with self._turn() as connection:
            query = "SELECT number, encoded FROM entries WHERE number > ? ORDER BY number LIMIT ?"
            for at, raw in connection.execute(query, (number, limit)):
                size += len(raw)
                if entries and size > MAX_READ_BYTES:
                    break
                entries.append((at, self._decode(raw)))
        return entries

    def _decode(self, raw: bytes) -> Entry:
        try:
            return decode_entry(raw)
        except BusRefusal as error:
            raise damage(self.path) from error

    def encoded(self, namespace: str, places: Sequence[bytes]) -> list[bytes]:
        """As many of them, in order, as take sixteen megabytes; at least one."""
        batch: list[bytes] = []
        size = 0
        with self._turn() as connection:
            for place in places:
                query = "SELECT id, encoded FROM entries WHERE namespace = ? AND place = ?"
                for id_, raw in connection.execute(query, (namespace, place)):
                    size += len(raw)
                    if batch and size > MAX_READ_BYTES:
                        return batch
                    # What a bad disk has changed would be taken for a forgery of ours.
                    if id_of_encoded(raw) != id_:
                        raise damage(self.path)
                    batch.append(raw)
        return batch

    def reached(self, erasures: Sequence[Entry]) -> list[Standing]:
        with self._turn() as connection:
            rows: list[Any] = [connection.execute(_REACHED, _reach_of(erasure)).fetchall() for erasure in erasures]
        return [standing for group in rows for standing in group]

    def places(self) -> Iterator[Standing]:
        last: tuple[str, bytes] = ("", b"")
        while True:
            with self._turn() as connection:
                rows: list[Any] = connection.execute(_PLACES, (*last, _ROWS_AT_ONCE)).fetchall()
            if not rows:
                return
            last = rows[-1][1:3]
            yield from rows

    def of_authority(self) -> list[Entry]:
        """Every grant and revocation."""
        with self._turn() as connection:
            query = "SELECT encoded FROM entries WHERE namespace = '' ORDER BY place"
            rows: list[Any] = connection.execute(query).fetchall()
        return [self._decode(raw) for (raw,) in rows]

    def counts(self, own: bytes) -> tuple[int, int]:
        """How many entries there are of an author, and of others; grants and revocations are neither."""
        query = "SELECT count(*), count(*) FILTER (WHERE substr(place, 1, 8) = ?) FROM entries WHERE namespace <> ''"
        with self._turn() as connection:
            row: Any = connection.execute(query, (own[:8],)).fetchone()
        every, of_own = row
        return of_own, every - of_own

    def count_after(self, number: int) -> int:
        """How many entries have come behind a number, but grants and revocations, which become no records."""
        with self._turn() as connection:
            query = "SELECT count(*) FROM entries WHERE number > ? AND namespace <> ''"
            count: Any = connection.execute(query, (number,)).get
        return int(count)

    def namespaces_of(self, name: RecordName) -> set[str]:
        query = "SELECT DISTINCT namespace FROM entries WHERE record_id = ? AND record_author = ? AND NOT is_erasure"
        with self._turn() as connection:
            return {namespace for (namespace,) in connection.execute(query, (name.id, name.author))}

    def erased(self, records: Iterable[RecordIn]) -> set[RecordIn]:
        pairs = list(records)
        local_erasures = self.states({unwanted_state(name) for name, _ in pairs})
        erasures: set[tuple[bytes, str, str | None]] = set()
        for author, record_id, namespace, is_everywhere in self._named(_ERASURES, {name.id for name, _ in pairs}):
            erasures.add((author, record_id, None if is_everywhere else namespace))
        return {
            (name, namespace)
            for name, namespace in pairs
            if (local_erasures and unwanted_state(name) in local_erasures)
            or (erasures and not erasures.isdisjoint({(name.author, name.id, None), (name.author, name.id, namespace)}))
        }

    def state(self, name: str) -> bytes | None:
        with self._turn() as connection:
            value: bytes | None = connection.execute("SELECT value FROM state WHERE name = ?", (name,)).get
            return value

    def states(self, names: Iterable[str]) -> dict[str, bytes]:
        return dict(self._named(_STATES, names))

    def _named(self, query: str, names: Iterable[str]) -> list[Any]:
        """The rows that a query finds for many names, some hundred at a time."""
        ids, rows = list(names), []
        with self._turn() as connection:
            for start in range(0, len(ids), _NAMES_AT_ONCE):
                some = ids[start : start + _NAMES_AT_ONCE]
                rows += connection.execute(query.format(names=_marks(len(some))), some).fetchall()
        return rows

    def spent(self, intent: bytes, period: int) -> Mapping[str, int]:
        query = "SELECT what, amount FROM meters WHERE intent = ? AND period = ?"
        with self._turn() as connection:
            rows: list[Any] = connection.execute(query, (intent, period)).fetchall()
        return dict(rows)

    def change_number(self) -> int:
        with self._turn() as connection:
            return int(connection.pragma("data_version"))

    # ------------------------------------------------------------ turns

    @contextmanager
    def _transaction(self) -> Iterator[apsw.Connection]:
        with self._turn() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                self._check_file()
                yield connection
                connection.execute("COMMIT")
            finally:
                # A full disk has ended it already.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def _turn(self) -> Iterator[apsw.Connection]:
        with self._lock, unforked(), named_failures(self.path):
            if self._is_closed:
                raise StoreError(f"{self.path} is closed.")
            if self._connection is None:
                self._connection = open_file(self.path)
                self._file = _file_number(self.path)
            yield self._connection

    def _check_file(self) -> None:
        """SQLite would go on writing into a file that was moved away, and say that all is well."""
        if _file_number(self.path) != self._file:
            raise BankReplaced(
                f"{self.path} was moved, replaced or deleted while this process had it open. Nothing was written: put "
                "it back, or start this process again."
            )

    def _leave_to_parent(self) -> None:
        """In a forked child: neither the file nor its journal is touched by closing what is the parent's."""
        connection, self._connection = self._connection, None
        self._lock = threading.RLock()
        if connection is not None:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.close(True)

    def close(self) -> None:
        with self._lock, unforked():
            self._is_closed = True
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


EntryRow = tuple[bytes, str, str, bytes, bytes, str, bool, bytes]


def _row_of(entry: Entry, raw: bytes) -> EntryRow:
    id_ = id_of_encoded(raw)
    place, record, is_erasure = place_of(entry, id_), entry.record, entry.kind == "erased"
    return id_, entry.scope, entry.namespace, place, record.author, record.id, is_erasure, raw


def _is_erasure(row: EntryRow) -> bool:
    return row[6]


@cache
def _marks(count: int) -> str:
    return ", ".join("?" * count)


def _forget(connection: apsw.Connection, erasure: Entry) -> list[Standing]:
    rows: list[Any] = connection.execute(_FORGET, _reach_of(erasure)).fetchall()
    return rows


def _reach_of(erasure: Entry) -> tuple[str, bytes, bool, str]:
    """In its namespace, or wherever its record stands."""
    return erasure.record.id, erasure.record.author, reaches_everywhere(erasure), erasure.namespace


def _count(connection: apsw.Connection, spends: Sequence[Spend]) -> None:
    for (intent, what, period), (amount, cap) in sums_of(spends).items():
        total = connection.execute(_COUNT, (intent, what, period, amount)).get
        if cap is not None and total > cap:
            raise BusRefusal("cap_spent", f"{what}: {total:,} of {cap:,}", about=intent)


def _keep(connection: apsw.Connection, values: Mapping[str, bytes | None]) -> None:
    connection.executemany(
        "INSERT INTO state (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        [(name, value) for name, value in values.items() if value is not None],
    )
    removals = [(name,) for name, value in values.items() if value is None]
    connection.executemany("DELETE FROM state WHERE name = ?", removals)


def _file_number(path: Path) -> tuple[int, int]:
    try:
        info = os.stat(path)  # noqa: PTH116 - before every write
    except FileNotFoundError:
        return 0, 0
    return info.st_dev, info.st_ino
