"""Scrubs every record on its way into a store, and on its way out to a caller.

Whoever writes through `CleanStore` keeps no secret, whether or not it was thought of; whoever reads through
`CleanReader` hands out none that was kept before it was known to be one. A record that was scrubbed just before is
known as clean (`guard.fields`), so a second look costs next to nothing. Independent of what is written, and why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from reasoningbank.core.frozen import replace
from reasoningbank.core.types import Edge, Lease, Memory, Node, Record, SideRecord
from reasoningbank.guard.fields import outgoing, scrubbed_record
from reasoningbank.guard.secrets import Scrubber
from reasoningbank.ports import Reader, Store, Writer

T = TypeVar("T")
R = TypeVar("R", bound=Record)
S = TypeVar("S", bound=SideRecord)


class CleanWriter:
    """A unit of change that scrubs what it keeps. What is rewritten was decided by a sweep and stays as it is given."""

    __slots__ = ("__weakref__", "_scrubber", "_writer")

    def __init__(self, writer: Writer, scrubber: Scrubber) -> None:
        self._writer, self._scrubber = writer, scrubber

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)

    def add(self, record: Record) -> None:
        self._writer.add(scrubbed_record(self._scrubber, record)[0])

    def revise(self, record: Record) -> None:
        self._writer.revise(scrubbed_record(self._scrubber, record)[0])

    def add_earlier(self, revision: Record) -> None:
        self._writer.add_earlier(scrubbed_record(self._scrubber, revision)[0])

    def add_side_records(self, items: Sequence[SideRecord]) -> int:
        return self._writer.add_side_records([scrubbed_record(self._scrubber, item)[0] for item in items])

    def change_lease(self, old: Lease | None, new: Lease | None) -> bool:
        if new is not None and new.error:
            new = replace(new, error=self._scrubber.scrub(new.error).text)
        return self._writer.change_lease(old, new)


class CleanStore:
    """A store of which every unit of change is a `CleanWriter`; all else is the store's own."""

    __slots__ = ("_scrubber", "_store")

    def __init__(self, store: Store, scrubber: Scrubber) -> None:
        self._store, self._scrubber = store, scrubber

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def write(self, tenant: str, change: Callable[[Writer], T], *, alone: bool = False, adds_only: bool = False) -> T:
        scrubber = self._scrubber

        def clean_change(writer: Writer) -> T:
            return change(cast("Writer", CleanWriter(writer, scrubber)))

        return self._store.write(tenant, clean_change, alone=alone, adds_only=adds_only)


class CleanReader:
    """Records as they may be shown to whoever asks."""

    __slots__ = ("_reader", "_scrubber")

    def __init__(self, reader: Reader, scrubber: Scrubber) -> None:
        self._reader, self._scrubber = reader, scrubber

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    def get(self, kind: type[R], ids: Sequence[str]) -> dict[str, R]:
        return {name: outgoing(self._scrubber, record) for name, record in self._reader.get(kind, ids).items()}

    def select(self, kind: type[R], *where: Any, **how: Any) -> list[R]:
        return [outgoing(self._scrubber, record) for record in self._reader.select(kind, *where, **how)]

    def select_either(self, kind: type[R], *where: Any) -> list[list[R]]:
        return [
            [outgoing(self._scrubber, record) for record in records]
            for records in self._reader.select_either(kind, *where)
        ]

    def strongest_edges(self, *args: Any, **how: Any) -> list[list[Edge]]:
        edge_lists = self._reader.strongest_edges(*args, **how)
        return [[outgoing(self._scrubber, edge) for edge in edges] for edges in edge_lists]

    def trust_and_memories(self, *args: Any) -> tuple[dict[str, int], dict[str, Memory]]:
        levels, memories = self._reader.trust_and_memories(*args)
        return levels, {name: outgoing(self._scrubber, memory) for name, memory in memories.items()}

    def nodes_between(self, *window: Any, **how: Any) -> list[Node]:
        return [outgoing(self._scrubber, node) for node in self._reader.nodes_between(*window, **how)]

    def tally(self, kind: type[R], *by: Any) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for name, number in self._reader.tally(kind, *by).items():
            counts[self._scrubber.scrub(name).text if type(name) is str else name] += number
        return dict(counts)

    def revisions(self, kind: type[R], record_id: str) -> list[R]:
        return [outgoing(self._scrubber, record) for record in self._reader.revisions(kind, record_id)]

    def side_records(self, kind: type[S]) -> list[S]:
        return [outgoing(self._scrubber, record) for record in self._reader.side_records(kind)]

    def leases(self, job_ids: Sequence[str] | None = None) -> list[Lease]:
        return [outgoing(self._scrubber, lease) for lease in self._reader.leases(job_ids)]


@contextmanager
def reading_out(store: Store, tenant: str, scrubber: Scrubber) -> Iterator[Reader]:
    """A reader for answers: what it gives was scrubbed."""
    with store.read(tenant) as reader:
        yield cast("Reader", CleanReader(reader, scrubber))
