"""What a bank has already, of everything that a chunk of an import names.

Asked once for the whole chunk and kept in step with what the chunk adds: asking for each record would be two questions
a line, and before each the rows that wait would have to be written. Decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar, cast

from reasoningbank.core.errors import BankDamaged
from reasoningbank.core.types import (
    Edge,
    Exposure,
    KeptVector,
    Memory,
    Record,
    Sidecar,
    Signal,
    Step,
    Tombstone,
    Trajectory,
)
from reasoningbank.ports import Writer

R = TypeVar("R", bound=Record)
Name = tuple[type[Record], str]


class Here:
    def __init__(self, writer: Writer, coming: Iterable[Record | Sidecar]) -> None:
        self.writer = writer
        named: dict[type[Record], set[str]] = {}
        for record in coming:
            for kind, record_id in _named(record):
                named.setdefault(kind, set()).add(record_id)
        self._known: dict[Name, Record | None] = {}
        for kind, ids in named.items():
            self._learn(kind, sorted(ids))
        self._erased = writer.erased(sorted(set().union(*named.values())))

    def _learn(self, kind: type[Record], ids: list[str]) -> None:
        try:
            found = self.writer.get(kind, ids)
        except BankDamaged:
            # One row is unreadable. Each is asked for when its turn comes, so that only its own line is refused.
            return
        self._known.update({(kind, record_id): found.get(record_id) for record_id in ids})

    def get(self, kind: type[R], record_id: str) -> R | None:
        name = (cast("type[Record]", kind), record_id)
        if name not in self._known:
            self._known[name] = self.writer.get(kind, [record_id]).get(record_id)
        return cast("R | None", self._known[name])

    def is_erased(self, record_id: str) -> bool:
        return record_id in self._erased

    def add(self, record: Record) -> None:
        self.writer.add(record)
        self._known[type(record), record.id] = record

    def revise(self, record: Record) -> None:
        self.writer.revise(record)
        self._known[type(record), record.id] = record

    def add_beside(self, item: Sidecar) -> int:
        added = self.writer.add_beside([item])
        if isinstance(item, Tombstone):
            self._erased.add(item.id)
        return added


def _named(record: Record | Sidecar) -> Iterator[Name]:
    """The record itself and those that it cannot be without."""
    match record:
        case Exposure() | KeptVector():
            yield Memory, record.memory_id
        case Tombstone():
            return
        case _:
            yield type(record), record.id
    match record:
        case Signal():
            yield Memory, record.memory_id
        case Step():
            yield Trajectory, record.trajectory_id
        case Edge():
            yield Memory, record.source_id
            yield Memory, record.target_id
