"""Exports every record of a bank as a line of JSON, what others refer to first."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from reasoningbank.context import BankContext
from reasoningbank.core.frozen import fields
from reasoningbank.core.record_kinds import KINDS, Keeping, RecordKind
from reasoningbank.core.types import Consolidation, Record, SideRecord
from reasoningbank.exchange.jsonl import header_line, record_line
from reasoningbank.ports import Reader

ROWS_PER_PAGE = 1_000
R = TypeVar("R", bound=Record)
_OF_THE_WHOLE = (Consolidation,)
"""In no export of one namespace, though they name one: what they changed may lie in others."""


def export_lines(context: BankContext, namespace: str | None = None) -> Generator[str, None, None]:
    """The whole tenant, or one namespace with what belongs to it."""
    yield header_line(context.tenant, context.clock())
    named_by_others = {of for kind in KINDS for name in kind.needs for of in kind.refers[name]}
    ids_by_type: dict[type[Record | SideRecord], set[str]] = {of: set() for of in named_by_others}
    with context.read_for_output() as reader:
        for kind in KINDS:
            for record in _records_of(reader, kind, namespace) if kind.exported else ():
                if not all(
                    any(getattr(record, name) in ids_by_type[of] for of in kind.refers[name]) for name in kind.needs
                ):
                    continue
                if kind.record_type in ids_by_type:
                    ids_by_type[kind.record_type].add(record.id)
                yield record_line(kind.noun, record)
                if kind.keeping is Keeping.REVISED and record.revision > 1:
                    for earlier in reader.revisions(type(record), record.id):
                        yield record_line(kind.noun_of_earlier, earlier)


def _records_of(reader: Reader, kind: RecordKind, namespace: str | None) -> Iterable[Any]:
    of: type[Any] = kind.record_type
    where: dict[str, str] = {}
    if namespace is not None and not kind.needs:
        if of in _OF_THE_WHOLE or all(f.name != "namespace" for f in fields(of)):
            return ()
        where["namespace"] = namespace
    return _pages(reader, of, where) if kind.prefix else reader.side_records(of)


def _pages(reader: Reader, kind: type[R], where: Mapping[str, str]) -> Iterator[R]:
    after: str | None = None
    while page := reader.select(kind, where, after=after, limit=ROWS_PER_PAGE):
        yield from page
        after = page[-1].id
