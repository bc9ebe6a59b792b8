"""One atomic unit of change to one tenant's records: each gets its line in the feed here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from reasoningbank.core.errors import InvalidInput, NotFound
from reasoningbank.core.types import EmbedderIdentity, KeptReply, Lease, Memory, Op, Record, SideRecord, Trajectory
from reasoningbank.store.coding import table_of
from reasoningbank.store.records.cascades import delete_records
from reasoningbank.store.records.leases import change_lease, claim
from reasoningbank.store.records.reader import RecordReader
from reasoningbank.store.records.replies import drop_replies_about, find_reply, put_reply
from reasoningbank.store.records.side_records import row_of, side_table_of
from reasoningbank.store.records.tasks import fold_task
from reasoningbank.store.records.trust import put_trust
from reasoningbank.store.selection import Selection, equal
from reasoningbank.store.tables import FEED, MEMORIES, REVISIONS, VECTORS, IfTaken, Table

if TYPE_CHECKING:
    from reasoningbank.store.engine import Row, RowTransaction

R = TypeVar("R", bound=Record)
_TEXT_FIELDS = ("title", "description", "content")


class RecordWriter(RecordReader):
    def __init__(self, rows: RowTransaction, location: str, remedy: str, clock: Callable[[], float]) -> None:
        super().__init__(rows, location, remedy)
        self._tenant = rows.tenant
        self._clock = clock
        self._added: set[str] = set()

    def _note(self, noun: str, op: Op, record_id: str) -> None:
        self._rows.put(FEED, ((noun, op.value, record_id, self._tenant, self._clock()),))

    def _own(self, item: Record | SideRecord | Lease) -> None:
        if item.tenant != self._tenant:
            raise InvalidInput(f"A unit of tenant {self._tenant!r} cannot write for tenant {item.tenant!r}.")

    # ------------------------------------------------------------ records

    def add(self, record: Record) -> None:
        self._own(record)
        coding = table_of(type(record))
        self._rows.put(coding.table, (coding.encode(record),))
        self._note(coding.noun, Op.ADD, record.id)
        self._added.add(record.id)
        if isinstance(record, Trajectory):
            fold_task(self._rows, record, is_new=True)

    def revise(self, record: Record) -> None:
        self._own(record)
        coding = table_of(type(record))
        current = self.get(Memory, [record.id]).get(record.id) if isinstance(record, Memory) else None
        if not self._rows.update(coding.table, equal(id=record.id), coding.row, coding.encode(record)):
            raise NotFound(f"There is no {coding.noun} {record.id!r} here.")
        if isinstance(record, Memory) and current is not None:
            self._set_aside(current, record)
        if isinstance(record, Trajectory):
            fold_task(self._rows, record, is_new=False)
        self._note(coding.noun, Op.REVISE, record.id)

    def _set_aside(self, current: Memory, coming: Memory) -> None:
        self.add_earlier(current)
        if any(getattr(current, name) != getattr(coming, name) for name in _TEXT_FIELDS):
            self._rows.delete(VECTORS, equal(memory_id=coming.id))

    def add_earlier(self, revision: Memory) -> None:
        self._own(revision)
        self._rows.put(REVISIONS, (table_of(Memory).encode(revision),), IfTaken.KEEP)

    def rewrite(self, record: Record) -> None:
        self._own(record)
        coding = table_of(type(record))
        row = coding.encode(record)
        if isinstance(record, Memory):
            this_one = equal(id=record.id, revision=record.revision)
            changed = self._rows.update(MEMORIES, this_one, coding.row, row) or self._rows.update(
                REVISIONS, this_one, coding.row, row
            )
        else:
            changed = self._rows.update(coding.table, equal(id=record.id), coding.row, row)
        if not changed:
            raise NotFound(f"There is no {coding.noun} {record.id!r} here.")
        if isinstance(record, Memory):
            # They were made of what it said before.
            self._rows.delete(VECTORS, equal(memory_id=record.id))
        drop_replies_about(self._rows, record.id)
        self._rows.leave_no_trace()
        self._note(coding.noun, Op.REVISE, record.id)

    def remove(self, kind: type[R], record_id: str) -> None:
        if not delete_records(self._rows, kind, [record_id], self._clock()):
            raise NotFound(f"There is no {table_of(kind).noun} {record_id!r} here.")
        if kind in (Memory, Trajectory):
            self._rows.leave_no_trace()
            drop_replies_about(self._rows, record_id)

    # ------------------------------------------------------------ beside them

    def add_side_records(self, items: Sequence[SideRecord]) -> int:
        by_table: dict[Table, list[Row]] = {}
        for item in items:
            self._own(item)
            table = side_table_of(type(item))
            by_table.setdefault(table, []).append(row_of(table, item))
        return sum(self._add_new(table, rows) for table, rows in by_table.items())

    def _add_new(self, table: Table, rows: Sequence[Row]) -> int:
        """Add rows whose key is not there yet; of a table without one, that are not there to the letter."""
        key = table.key or table.written
        positions = [table.written.index(column) for column in key]
        coming = {tuple([row[position] for position in positions]): row for row in reversed(rows)}
        texts = [(place, column) for place, column in enumerate(key) if table.columns[column] == "TEXT"]
        where = [(column, "in", sorted({name[place] for name in coming})) for place, column in texts]
        for there in self._rows.of_all_tenants().scan(Selection(table, key, tuple(where))):
            coming.pop(tuple(there), None)
        new = list(reversed(coming.values()))
        self._rows.put(table, new)
        return len(new)

    def rewrite_side_record(self, before: SideRecord, after: SideRecord) -> None:
        self._own(before)
        table = side_table_of(type(before))
        self._rows.delete(table, equal(**dict(zip(table.written, row_of(table, before), strict=True))))
        self._rows.leave_no_trace()
        self.add_side_records([after])

    def keep_vectors(self, identity: EmbedderIdentity, memory_id: str, vectors: Mapping[str, bytes]) -> None:
        if memory_id not in self._added and not self.get(Memory, [memory_id]):
            return
        kept = [(memory_id, self._tenant, str(identity), facet, vector) for facet, vector in vectors.items()]
        self._rows.put(VECTORS, kept, IfTaken.REPLACE)

    def keep_trust(self, memory: Memory, level: int, marks: Sequence[int] = ()) -> None:
        self._own(memory)
        put_trust(self._rows, memory, level, marks)

    # ------------------------------------------------------------ jobs and answers

    def claim(self, owner: str, *, now: float, latest: float, limit: int) -> list[Lease]:
        return claim(self._rows, owner, now=now, latest=latest, limit=limit)

    def change_lease(self, old: Lease | None, new: Lease | None) -> bool:
        for lease in (old, new):
            if lease is not None:
                self._own(lease)
        return change_lease(self._rows, old, new, is_fresh=new is not None and new.job_id in self._added)

    def kept_reply(self, caller: str, key: str) -> KeptReply | None:
        return find_reply(self._rows, caller, key)

    def keep_reply(self, reply: KeptReply, *, drop_before: float) -> None:
        put_reply(self._rows, reply, drop_before)
