"""Writing records over one SQLite connection, always within one tenant.

Every change gets its line in the feed here. Knows what depends on a record and goes with it; knows nothing about when
to commit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import apsw

from reasoningbank.core.errors import InvalidInput, NotFound
from reasoningbank.core.frozen import fields
from reasoningbank.core.record_kinds import dependents_of, kind_of
from reasoningbank.core.types import (
    EmbedderIdentity,
    Job,
    KeptReply,
    Lease,
    Memory,
    Op,
    Record,
    SideRecord,
    Trajectory,
)
from reasoningbank.store.sqlite import leases, task_rows
from reasoningbank.store.sqlite.batched_inserts import Insert, Pending
from reasoningbank.store.sqlite.error_mapping import translate
from reasoningbank.store.sqlite.reading import SqliteReader
from reasoningbank.store.sqlite.tables import SIDE_TABLES, table_of
from reasoningbank.store.sqlite.tokens_replies import drop_replies_about, put_reply, reply_in

R = TypeVar("R", bound=Record)
_FEED = Insert("INSERT INTO feed (kind, op, id, tenant, at)", 5)
_VECTOR = Insert(
    "INSERT INTO vectors (memory_id, tenant, identity, facet, vector)",
    5,
    " ON CONFLICT (memory_id, identity, facet) DO UPDATE SET vector = excluded.vector",
)
_REVISION = Insert(f"INSERT OR IGNORE INTO revisions ({table_of(Memory).listed})", table_of(Memory).insert.width)
_NAMED_AT_ONCE = (apsw.ConstraintError, UnicodeEncodeError)
"""Named where they arise, so that a unit may catch them and go on."""
_TRUST = Insert(
    "INSERT INTO trust (tenant, memory_id, level)",
    3,
    " ON CONFLICT (tenant, memory_id) DO UPDATE SET level = excluded.level",
)
_KIN = Insert("INSERT OR IGNORE INTO kin (tenant, parent_id, memory_id)", 3)
_OF_A_MEMORY = (("revisions", "id"), ("trust", "memory_id"))
_TEXT_FIELDS = ("title", "description", "content")


class SqliteWriter(SqliteReader):
    """A unit of change. New rows wait in `pending`, shared by the units of one commit; other statements write them."""

    def __init__(self, pending: Pending, tenant: str, location: str, clock: Callable[[], float]) -> None:
        self._pending = pending
        self._tenant = tenant
        self._location = location
        self._clock = clock
        self._added: set[str] = set()
        self.has_erased = False

    @property
    def _connection(self) -> apsw.Connection:  # type: ignore[override]  # a reader's, made when asked for
        self._pending.write()
        return self._pending.connection

    def _note(self, noun: str, op: Op, record_id: str) -> None:
        self._pending.add(_FEED, (noun, op.value, record_id, self._tenant, self._clock()))

    def _own(self, item: Record | SideRecord) -> None:
        if item.tenant != self._tenant:
            raise InvalidInput(f"A unit of tenant {self._tenant!r} cannot write for tenant {item.tenant!r}.")

    def add(self, record: Record) -> None:
        self._own(record)
        table = table_of(type(record))
        try:
            self._pending.add(table.insert, table.encode(record))
        except _NAMED_AT_ONCE as error:
            raise translate(error, self._location) from error
        self._note(table.noun, Op.ADD, record.id)
        self._added.add(record.id)
        if isinstance(record, Trajectory) and (row := task_rows.row_of(record)):
            self._pending.add(task_rows.TASK, row)

    def revise(self, record: Record) -> None:
        self._own(record)
        table = table_of(type(record))
        current = self.get(Memory, [record.id]).get(record.id) if isinstance(record, Memory) else None
        # Asked for outside: what waits is written then, and a row of that which fails is not this record's fault.
        connection = self._connection
        try:
            connection.execute(table.update_sql, (*table.encode(record), record.id, self._tenant))
        except _NAMED_AT_ONCE as error:
            raise translate(error, self._location) from error
        if not connection.changes():
            raise NotFound(f"There is no {table.noun} {record.id!r} here.")
        if isinstance(record, Memory) and current is not None:
            self._set_aside(current, record)
        if isinstance(record, Trajectory):
            task_rows.renew(connection, record)
        self._note(table.noun, Op.REVISE, record.id)

    def _set_aside(self, current: Memory, coming: Memory) -> None:
        self.add_earlier(current)
        if any(getattr(current, name) != getattr(coming, name) for name in _TEXT_FIELDS):
            self._connection.execute("DELETE FROM vectors WHERE memory_id = ?", (coming.id,))

    def add_earlier(self, revision: Memory) -> None:
        self._own(revision)
        table = table_of(Memory)
        self._pending.add(_REVISION, table.encode(revision))

    def add_side_records(self, items: Sequence[SideRecord]) -> int:
        added = 0
        for item in items:
            self._own(item)
            name, _ = SIDE_TABLES[type(item)]
            values = {f.name: getattr(item, f.name) for f in fields(item)}
            listed, marks = ", ".join(values), ", ".join("?" * len(values))
            same = " AND ".join(f"{column} IS ?" for column in values)
            self._connection.execute(
                f"INSERT OR IGNORE INTO {name} ({listed}) SELECT {marks} "
                f"WHERE NOT EXISTS (SELECT 1 FROM {name} WHERE {same})",
                (*values.values(), *values.values()),
            )
            added += self._connection.changes()
        return added

    def rewrite(self, record: Record) -> None:
        self._own(record)
        table = table_of(type(record))
        values = (*table.encode(record), record.id, self._tenant)
        try:
            if isinstance(record, Memory):
                for name in (table.name, "revisions"):
                    sql = f"{table.update_sql.replace(table.name, name, 1)} AND revision = ?"
                    self._connection.execute(sql, (*values, record.revision))
                    if self._connection.changes():
                        break
            else:
                self._connection.execute(table.update_sql, values)
        except _NAMED_AT_ONCE as error:
            raise translate(error, self._location) from error
        if not self._connection.changes():
            raise NotFound(f"There is no {table.noun} {record.id!r} here.")
        if isinstance(record, Memory):
            # They were made of what it said before.
            self._connection.execute("DELETE FROM vectors WHERE memory_id = ?", (record.id,))
        drop_replies_about(self._connection, self._tenant, record.id)
        self.has_erased = True
        self._note(table.noun, Op.REVISE, record.id)

    def rewrite_side_record(self, before: SideRecord, after: SideRecord) -> None:
        self._own(before)
        name, _ = SIDE_TABLES[type(before)]
        same = " AND ".join(f"{f.name} IS ?" for f in fields(before))
        values = [getattr(before, f.name) for f in fields(before)]
        self._connection.execute(f"DELETE FROM {name} WHERE {same}", values)
        self.has_erased = True
        self.add_side_records([after])

    def remove(self, kind: type[R], record_id: str) -> None:
        table = table_of(kind)
        self._remove_dependents(kind, record_id)
        self._connection.execute(f"DELETE FROM {table.name} WHERE id = ? AND tenant = ?", (record_id, self._tenant))
        if not self._connection.changes():
            raise NotFound(f"There is no {table.noun} {record_id!r} here.")
        self._connection.execute(
            "INSERT OR REPLACE INTO tombstones (id, tenant, kind, at) VALUES (?, ?, ?, ?)",
            (record_id, self._tenant, table.noun, self._clock()),
        )
        if kind in (Memory, Trajectory):
            self.has_erased = True
            drop_replies_about(self._connection, self._tenant, record_id)
        self._note(table.noun, Op.REMOVE, record_id)

    def keep_trust(self, memory: Memory, level: int, marks: Sequence[int] = ()) -> None:
        self._own(memory)
        self._pending.add(_TRUST, (self._tenant, memory.id, int(level)))
        if memory.revision > 1:
            self._connection.execute(
                "DELETE FROM kin WHERE tenant = ? AND memory_id = ?"
                f" AND parent_id NOT IN ({', '.join('?' * len(memory.parents))})",
                (self._tenant, memory.id, *memory.parents),
            )
        for parent in memory.parents:
            self._pending.add(_KIN, (self._tenant, parent, memory.id))
        self._pending.mark(memory.id, marks)

    def _remove_dependents(self, kind: type[R], record_id: str) -> None:
        for dependent, name in dependents_of(kind_of(kind)):
            if dependent.prefix:
                of: type[Any] = dependent.record_type
                for one in self.select(of, {name: record_id}):
                    self.remove(of, one.id)
            else:
                self._connection.execute(
                    f"DELETE FROM {dependent.table} WHERE {name} = ? AND tenant = ?", (record_id, self._tenant)
                )
        if kind is Memory:
            # Marks are found by mark only: this reads all of them, which an erasure may take, and only trust has any.
            self._connection.execute(
                "DELETE FROM marks WHERE memory = (SELECT num FROM memories WHERE id = ? AND tenant = ?) "
                "AND EXISTS (SELECT 1 FROM trust WHERE tenant = ? AND memory_id = ?)",
                (record_id, self._tenant, self._tenant, record_id),
            )
            # What hung under it keeps hanging under its id, so that its descendants can still be found.
            for name, column in _OF_A_MEMORY:
                self._connection.execute(
                    f"DELETE FROM {name} WHERE {column} = ? AND tenant = ?", (record_id, self._tenant)
                )
        elif kind is Job:
            self._connection.execute("DELETE FROM leases WHERE job_id = ? AND tenant = ?", (record_id, self._tenant))
        elif kind is Trajectory:
            self._connection.execute(
                "DELETE FROM tasks WHERE trajectory_id = ? AND tenant = ?", (record_id, self._tenant)
            )

    def claim(self, owner: str, *, now: float, latest: float, limit: int) -> list[Lease]:
        return leases.claim(self._connection, self._tenant, owner, now=now, latest=latest, limit=limit)

    def change_lease(self, old: Lease | None, new: Lease | None) -> bool:
        for lease in (old, new):
            if lease is not None and lease.tenant != self._tenant:
                raise InvalidInput(f"A unit of tenant {self._tenant!r} cannot write for tenant {lease.tenant!r}.")
        return leases.change(self._connection, old, new)

    def keep_vectors(self, identity: EmbedderIdentity, memory_id: str, vectors: Mapping[str, bytes]) -> None:
        if memory_id not in self._added and not self.get(Memory, [memory_id]):
            return
        for facet, vector in vectors.items():
            self._pending.add(_VECTOR, (memory_id, self._tenant, str(identity), facet, vector))

    def kept_reply(self, caller: str, key: str) -> KeptReply | None:
        return reply_in(self._connection, self._tenant, caller, key)

    def keep_reply(self, reply: KeptReply, *, drop_before: float) -> None:
        put_reply(self._connection, self._tenant, reply, drop_before)
