"""The existing records that a chunk of an import refers to, fetched in one query.

Asked once for the whole chunk and kept in step with what the chunk adds: asking for each record would be two questions
a line, and before each the rows that wait would have to be written. Decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar, cast

from reasoningbank.core.errors import BankDamaged
from reasoningbank.core.record_kinds import kind_of
from reasoningbank.core.types import Memory, Record, Ruling, SideRecord, Tombstone
from reasoningbank.exchange.import_trust import ImportTrust, add, revise
from reasoningbank.ports import Writer

R = TypeVar("R", bound=Record)
Name = tuple[type[Record], str]


class Existing:
    def __init__(self, writer: Writer, claims: ImportTrust, coming: Iterable[Record | SideRecord]) -> None:
        self.writer, self.claims = writer, claims
        ids_by_type: dict[type[Record], set[str]] = {}
        for item in coming:
            entry = kind_of(type(item))
            if not isinstance(item, SideRecord):
                ids_by_type.setdefault(type(item), set()).add(item.id)
            for place in entry.needs:
                for kind in entry.refers[place]:
                    ids_by_type.setdefault(kind, set()).add(getattr(item, place))
        self._known: dict[Name, Record | None] = {}
        for kind, ids in ids_by_type.items():
            self._learn(kind, sorted(ids))
        self._side_records: dict[type[SideRecord], list[SideRecord]] = {}
        self._put_back: set[str] = set()
        self._doubtful: set[str] = set()
        self._erased = writer.erased(sorted(set().union(*ids_by_type.values())))

    def _learn(self, kind: type[Record], ids: list[str]) -> None:
        try:
            records = self.writer.get(kind, ids)
        except BankDamaged:
            # One row is unreadable. Each is asked for when its turn comes, so that only its own line is refused.
            return
        self._known.update({(kind, record_id): records.get(record_id) for record_id in ids})

    def get(self, kind: type[R], record_id: str) -> R | None:
        name = (cast("type[Record]", kind), record_id)
        if name not in self._known:
            self._known[name] = self.writer.get(kind, [record_id]).get(record_id)
        return cast("R | None", self._known[name])

    def is_erased(self, record_id: str) -> bool:
        return record_id in self._erased

    def add(self, record: Record) -> Memory | None:
        """The memory as it was kept, when it came in untrusted."""
        memory = add(self.claims, self.writer, record)
        self._note(record, is_new=True)
        # What is kept may differ: it was examined. Asked for again when it matters.
        del self._known[type(record), record.id]
        return memory

    def revise(self, there: Record, record: Record) -> None:
        revise(self.claims, self.writer, there, record)
        self._note(record, is_new=False)
        del self._known[type(record), record.id]

    def _note(self, record: Record, *, is_new: bool) -> None:
        if isinstance(record, Memory) and self.claims.restore:
            self._put_back.add(record.id)
            if record.parents or not is_new:
                self._doubtful.add(record.id)
        elif isinstance(record, Ruling):
            self._doubtful.update(record.memories)

    def doubtful(self) -> set[str]:
        """The memories that a restore may have put back with a wrong level of trust, and those it was put under.

        One that hangs under nothing, that nothing hangs under and that nobody ruled about is worth its origin.
        """
        return self._doubtful.union(self.writer.derived_ids(sorted(self._put_back)) if self._put_back else ())

    def add_side_record(self, item: SideRecord) -> None:
        """To be written with the others of the chunk."""
        self._side_records.setdefault(type(item), []).append(item)
        if isinstance(item, Tombstone):
            self._erased.add(item.id)

    def write_side_records(self) -> dict[str, tuple[int, int]]:
        """How many of each noun were new, and how many were there already."""
        counts = {}
        for kind, items in self._side_records.items():
            additions = self.writer.add_side_records(items)
            counts[kind_of(kind).noun] = additions, len(items) - additions
        return counts
