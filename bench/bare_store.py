"""Stores without the bank: a bare table, and the bank's own tables with rows that are ready made."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import apsw

from bench.banks import NAMESPACE
from reasoningbank.core.drafts import memory_from
from reasoningbank.core.ids import IdSource
from reasoningbank.core.types import Draft, Memory
from reasoningbank.store.coding import table_of
from reasoningbank.store.sqlite.store import SqliteStore
from reasoningbank.wiring.embedders import identity_of

PAGES_COUNTED = 60
"""Few enough that the log is not begun anew meanwhile."""


class BareTable:
    """One table, one insert, the same durability: the least that keeping these bytes can cost."""

    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(str(path))
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute(
            "CREATE TABLE bare (num INTEGER PRIMARY KEY, body TEXT NOT NULL, vector BLOB NOT NULL)"
        )

    def fill(self, rows: list[tuple[str, bytes]]) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany("INSERT INTO bare (body, vector) VALUES (?, ?)", rows)
        self._connection.execute("COMMIT")

    def store(self, body: str, vector: bytes) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute("INSERT INTO bare (body, vector) VALUES (?, ?)", (body, vector))
        self._connection.execute("COMMIT")

    @property
    def connection(self) -> apsw.Connection:
        return self._connection

    def close(self) -> None:
        self._connection.close()


class BankTables:
    """The bank's own tables and indexes with rows that are ready made: what they cost without a line of our Python."""

    def __init__(self, path: Path, drafts: list[dict[str, object]]) -> None:
        SqliteStore(path).close()
        self._connection = apsw.Connection(str(path))
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("PRAGMA secure_delete = ON")
        ids, now = IdSource(time.time, random.getrandbits), time.time()
        table = table_of(Memory)
        marks = ", ".join("?" * len(table.row))
        self._memory = f"INSERT INTO memories ({', '.join(table.row)}) VALUES ({marks})"
        self._rows = [
            table.encode(
                memory_from(
                    Draft(**draft),
                    memory_id=ids.new("mem"),
                    tenant="local",
                    namespace=NAMESPACE,
                    initial_confidence=0.8,
                    now=now,
                )
            )
            for draft in drafts
        ]

    def fill(self, count: int) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        for number in range(count):
            self._add(self._rows[number], bytes(0))
        self._connection.execute("COMMIT")

    def store(self, number: int, vector: bytes) -> None:
        self.store_all([(number, vector)])

    def store_all(self, several: Sequence[tuple[int, bytes]]) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        for number, vector in several:
            self._add(self._rows[number], vector)
        self._connection.execute("COMMIT")

    @property
    def connection(self) -> apsw.Connection:
        return self._connection

    def _add(self, row: tuple[object, ...], vector: bytes) -> None:
        self._connection.execute(self._memory, row)
        self._connection.execute(
            "INSERT INTO feed (kind, op, id, tenant, at) VALUES ('memory', 'add', ?, 'local', ?)", (row[0], 1.5e9)
        )
        if vector:
            self._connection.execute(
                "INSERT INTO vectors (memory_id, tenant, identity, facet, vector) VALUES (?, 'local', ?, 'text', ?)",
                (row[0], str(identity_of("hash")), vector),
            )

    def close(self) -> None:
        self._connection.close()


def pages_in_a_commit(connection: apsw.Connection, store: Callable[[int], None]) -> float:
    """What a commit writes to the log and syncs, on average: half of what tells a bank's store from a bare one."""
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    for number in range(PAGES_COUNTED):
        store(number)
    frames, _ = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    return frames / PAGES_COUNTED
