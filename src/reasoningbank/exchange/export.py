"""Exports every record of a bank as a line of JSON, what others refer to first."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from reasoningbank.context import BankContext
from reasoningbank.core.types import (
    Consolidation,
    Edge,
    Exposure,
    KeptVector,
    Membership,
    Memory,
    Record,
    Ruling,
    SideRecord,
    Signal,
    Step,
    Tombstone,
    Trajectory,
)
from reasoningbank.exchange.jsonl import header_line, record_line
from reasoningbank.ports import Reader

ROWS_PER_PAGE = 1_000
R = TypeVar("R", bound=Record)


def export_lines(context: BankContext, namespace: str | None = None) -> Generator[str, None, None]:
    """The whole tenant, or one namespace with what belongs to it."""
    yield header_line(context.tenant, context.clock())
    with context.store.read(context.tenant) as reader:
        chosen = {} if namespace is None else {"namespace": namespace}
        for noun, record in _records(reader, chosen):
            yield record_line(noun, context.scrub_for_output(record))
        yield from (
            record_line("membership", context.scrub_for_output(one)) for one in _pages(reader, Membership, chosen)
        )
        if namespace is None:
            yield from (record_line("ruling", ruling) for ruling in _pages(reader, Ruling))
            yield from (record_line("consolidation", unit) for unit in _pages(reader, Consolidation))
            yield from (record_line("erased", tombstone) for tombstone in reader.side_records(Tombstone))


def _records(reader: Reader, where: Mapping[str, str]) -> Iterator[tuple[str, Record | SideRecord]]:
    kept: set[str] = set()
    for memory in _pages(reader, Memory, where):
        kept.add(memory.id)
        yield "memory", memory
        for revision in reader.revisions(memory.id) if memory.revision > 1 else ():
            yield "revision", revision
    yield from _about(kept, "signal", _pages(reader, Signal), "memory_id")
    sessions: set[str] = set()
    for trajectory in _pages(reader, Trajectory, where):
        sessions.add(trajectory.id)
        yield "trajectory", trajectory
    yield from _about(sessions | kept, "step", _pages(reader, Step), "trajectory_id")
    yield from _about(kept, "edge", _pages(reader, Edge), "source_id", "target_id")
    yield from _about(kept, "vector", reader.side_records(KeptVector), "memory_id")
    yield from _about(kept, "shown", reader.side_records(Exposure), "memory_id")


def _about(ids: set[str], noun: str, items: Iterable[Any], *fields: str) -> Iterator[tuple[str, Any]]:
    """Those items of which every named field is one of the ids."""
    for item in items:
        if all(getattr(item, field) in ids for field in fields):
            yield noun, item


def _pages(reader: Reader, kind: type[R], where: Mapping[str, str] | None = None) -> Iterator[R]:
    after: str | None = None
    while page := reader.select(kind, where or {}, after=after, limit=ROWS_PER_PAGE):
        yield from page
        after = page[-1].id
