"""Scrubs a bank that holds secrets already: finds them in every kind of record, and really removes them.

A record is rewritten where it lies: same id, same revision, new hash, a new number in the feed. Earlier revisions are
no exception, nor is what is kept beside the records. What is reported is the kind of a secret and its place, never the
secret.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from reasoningbank.core.drafts import MAX_TITLE_CHARS
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.record_kinds import RECORDS, SIDE_RECORDS, Keeping
from reasoningbank.core.types import Memory, SideRecord
from reasoningbank.guard.fields import scrubbed_record
from reasoningbank.guard.secrets import Scrubber
from reasoningbank.ports import Store, Writer

ROWS_PER_PAGE = 500
OWED = "index_owed"
"""A setting: secrets were removed, and the index that was built while they were there is still in use."""

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretPlace:
    kind: str
    """memory, signal, step …"""
    id: str
    revision: int | None
    """Revision of what is revised: a memory, a session, an edge."""
    found: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    looked_at: int
    places: tuple[SecretPlace, ...]
    applied: bool

    @property
    def found(self) -> Mapping[str, int]:
        total: Counter[str] = Counter()
        for place in self.places:
            total.update(place.found)
        return dict(total)


def sweep(store: Store, tenant: str, scrubber: Scrubber, *, apply: bool, progress: Progress | None = None) -> Swept:
    looked_at = 0
    places: list[SecretPlace] = []
    for records in _pages(store, tenant):
        changes: list[tuple[Any, Any]] = []
        for record in records:
            clean, counts = scrubbed_record(scrubber, record)
            if counts:
                changes.append((record, clean))
                places.append(_place(record, counts))
        looked_at += len(records)
        if changes and apply:
            # Before the first is gone: whoever comes after a kill finds no secret, and must know what is left to do.
            _owe_index(store)
            store.write(tenant, partial(_rewrite_all, changes))
        if progress is not None:
            progress(looked_at)
    return Swept(looked_at=looked_at, places=tuple(places), applied=apply and bool(places))


def _owe_index(store: Store) -> None:
    if not is_index_owed(store):
        store.set_setting(OWED, "yes")


def is_index_owed(store: Store) -> bool:
    return store.setting(OWED) == "yes"


def index_paid(store: Store) -> None:
    store.set_setting(OWED, "no")


def _pages(store: Store, tenant: str) -> Iterator[Sequence[Any]]:
    """Everything of a tenant. Each page is read in a transaction of its own, since it may be rewritten meanwhile."""
    for kind in RECORDS:
        of: type[Any] = kind.record_type
        after: str | None = None
        while True:
            with store.read(tenant) as reader:
                page = reader.select(of, {}, after=after, limit=ROWS_PER_PAGE)
                with_history = [record for record in page if kind.keeping is Keeping.REVISED and record.revision > 1]
                earlier = [
                    revision for record in with_history for revision in reader.revisions(type(record), record.id)
                ]
            if not page:
                break
            yield [*page, *earlier]
            after = page[-1].id
    for kind in SIDE_RECORDS:
        of = kind.record_type
        with store.read(tenant) as reader:
            beside: Sequence[Any] = reader.side_records(of)
        for start in range(0, len(beside), ROWS_PER_PAGE):
            yield beside[start : start + ROWS_PER_PAGE]


def _place(record: Any, counts: Mapping[str, int]) -> SecretPlace:
    record_id = str(getattr(record, "id", None) or getattr(record, "memory_id", ""))
    revision = getattr(record, "revision", None)
    return SecretPlace(kind=type(record).__name__.lower(), id=record_id, revision=revision, found=counts)


def _rewrite_all(changes: Sequence[tuple[Any, Any]], writer: Writer) -> None:
    for before, after in changes:
        if isinstance(before, SideRecord):
            writer.rewrite_side_record(before, after)
        else:
            writer.rewrite(_with_own_key(writer, before, after) if isinstance(after, Memory) else after)


def _with_own_key(writer: Writer, before: Memory, after: Memory) -> Memory:
    """Two keys may differ in nothing but their secrets; the second then takes its memory's id along."""
    if after.key is None or after.key == before.key:
        return after
    rivals = writer.select(Memory, {"namespace": after.namespace, "key": after.key})
    if all(other.id == after.id for other in rivals):
        return after
    return replace(after, key=f"{after.key[: MAX_TITLE_CHARS - len(after.id) - 1]} {after.id}")
