"""One atomic unit of change to one tenant's records: each gets its line in the feed here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from reasoningbank.core.errors import InvalidInput, NotFound
from reasoningbank.core.frozen import replace
from reasoningbank.core.types import (
    EmbedderIdentity,
    KeptReply,
    Lease,
    Memory,
    Node,
    Op,
    Record,
    SideRecord,
    Trajectory,
)
from reasoningbank.store.coding import RecordTable, table_of
from reasoningbank.store.records.cascades import delete_records
from reasoningbank.store.records.leases import change_lease, claim
from reasoningbank.store.records.reader import RecordReader
from reasoningbank.store.records.side_records import row_of, side_table_of
from reasoningbank.store.records.tasks import fold_task
from reasoningbank.store.records.trust import put_trust
from reasoningbank.store.selection import Selection, equal
from reasoningbank.store.tables import FEED, REPLIES, VECTORS, IfTaken, Table

if TYPE_CHECKING:
    from reasoningbank.store.engine import Row, RowTransaction

R = TypeVar("R", bound=Record)
_SAID_OF_A_SESSION = ("namespace", "task", "agent", "outcome", "started_at", "ended_at")
_REPLY_FIELDS = REPLIES.written[1:]
_TEXT_FIELDS = ("title", "description", "content")


class RecordWriter(RecordReader):
    def __init__(self, rows: RowTransaction, location: str, remedy: str, clock: Callable[[], float]) -> None:
        super().__init__(rows, location, remedy)
        self._tenant = rows.tenant
        self._clock = clock
        self._added: set[str] = set()
        self._read: dict[tuple[type[Any], str], Record] = {}
        """Records that were read of kinds with revisions, to set them aside when they are revised."""

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

    def get(self, kind: type[R], ids: Sequence[str]) -> dict[str, R]:
        records = super().get(kind, ids)
        if table_of(kind).earlier is not None:
            self._read.update({(kind, record_id): record for record_id, record in records.items()})
        return records

    def revise(self, record: Record) -> None:
        self._own(record)
        coding = table_of(type(record))
        # A unit sees every change to what it has read: nobody else writes meanwhile.
        current: Any = None
        if coding.earlier is not None:
            current = self._read.pop((type(record), record.id), None) or super().get(type(record), [record.id]).get(
                record.id
            )
            record = _next_revision(current, record)
        if not self._rows.update(coding.table, equal(id=record.id), coding.row, coding.encode(record)):
            raise NotFound(f"There is no {coding.noun} {record.id!r} here.")
        if current is not None and not (isinstance(record, Trajectory) and _only_adds(current, record)):
            self.add_earlier(current)
        if isinstance(record, Memory) and any(getattr(current, name) != getattr(record, name) for name in _TEXT_FIELDS):
            self._rows.delete(VECTORS, equal(memory_id=record.id))
        if isinstance(record, Trajectory):
            fold_task(self._rows, record, is_new=False)
        self._note(coding.noun, Op.REVISE, record.id)

    def add_earlier(self, revision: Record) -> None:
        self._own(revision)
        coding = table_of(type(revision))
        if coding.earlier is None:
            raise InvalidInput(f"A {coding.noun} has no earlier revisions.")
        self._rows.put(coding.earlier, (coding.encode(revision),), IfTaken.KEEP)

    def rewrite(self, record: Record) -> None:
        self._own(record)
        coding: RecordTable[Any] = table_of(type(record))
        row = coding.encode(record)
        self._read.pop((type(record), record.id), None)
        this_one = equal(id=record.id)
        if coding.earlier is not None:
            this_one = equal(id=record.id, revision=cast("Memory", record).revision)
        count = self._rows.update(coding.table, this_one, coding.row, row)
        if not count and coding.earlier is not None:
            count = self._rows.update(coding.earlier, this_one, coding.row, row)
        if not count:
            raise NotFound(f"There is no {coding.noun} {record.id!r} here.")
        if isinstance(record, Memory):
            # They were made of what it said before.
            self._rows.delete(VECTORS, equal(memory_id=record.id))
        self._drop_replies_about(record.id)
        self._rows.leave_no_trace()
        self._note(coding.noun, Op.REVISE, record.id)

    def remove(self, kind: type[R], record_id: str) -> None:
        self._read.clear()
        if not delete_records(self._rows, kind, [record_id], self._clock()):
            raise NotFound(f"There is no {table_of(kind).noun} {record_id!r} here.")
        if kind in (Memory, Trajectory, Node):
            self._rows.leave_no_trace()
            self._drop_replies_about(record_id)

    # ------------------------------------------------------------ beside them

    def add_side_records(self, items: Sequence[SideRecord]) -> int:
        by_table: dict[Table, list[Row]] = {}
        for item in items:
            self._own(item)
            table = side_table_of(type(item))
            by_table.setdefault(table, []).append(row_of(table, item))
        return sum(self._add_new(table, rows) for table, rows in by_table.items())

    def _add_new(self, table: Table, rows: Sequence[Row]) -> int:
        """Add rows whose key is not there yet (in a table without one, whose values are not); returns how many."""
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
        rows = [(memory_id, self._tenant, str(identity), facet, vector) for facet, vector in vectors.items()]
        self._rows.put(VECTORS, rows, IfTaken.REPLACE)

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
        for row in self._rows.scan(Selection(REPLIES, _REPLY_FIELDS, equal(caller=caller, key=key))):
            return KeptReply(**dict(zip(_REPLY_FIELDS, row, strict=True)))
        return None

    def keep_reply(self, reply: KeptReply, *, drop_before: float | None) -> None:
        if drop_before is not None:
            self._rows.of_all_tenants().delete(REPLIES, (("at", "<", drop_before),))
        self._rows.put(REPLIES, [(self._tenant, *(getattr(reply, field) for field in _REPLY_FIELDS))])

    def _drop_replies_about(self, record_id: str) -> None:
        """Drop answers about an erased record: it must not live on in them."""
        self._rows.delete(REPLIES, (("body", "holds", record_id.encode("utf-8", "surrogatepass")),))


def _next_revision(current: Any, coming: Any) -> Any:
    """The record with its revision: one that says no later revision than the one it replaces is the next. Memories
    are numbered by verbs.
    """
    if current is None or isinstance(coming, Memory) or coming.revision > current.revision:
        return coming
    return replace(coming, revision=current.revision + 1)


def _only_adds(current: Trajectory, coming: Trajectory) -> bool:
    """True if a session still says all that it said, as one does that has ended: then nothing need be set aside.

    What is noted beside one that is under way grows with every look at its transcript, and is not set aside either.
    """
    for name in _SAID_OF_A_SESSION:
        before, now = getattr(current, name), getattr(coming, name)
        if before is not None and before != now:
            return False
    return current.ended_at is None or all(
        name in coming.metadata and coming.metadata[name] == value for name, value in current.metadata.items()
    )
