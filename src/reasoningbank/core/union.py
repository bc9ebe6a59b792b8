"""Union of two feeds: the records of two banks as one, whichever comes first and however often.

A bank's truth is a set of versions: what each record said at each of its revisions. Sets are united by keeping every
version of either, so the union is commutative, associative and idempotent; an erasure wins over every version of what
it names. Which version counts is told by the set alone (`current_records`), so whoever has the same set sees the same
records. State is no part of it: leases, settings, jobs and counters of spending are only of use where they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from reasoningbank.core.digest import blake2b
from reasoningbank.core.frozen import dataclass, field, fields
from reasoningbank.core.record_kinds import Keeping, RecordKind, kind_of
from reasoningbank.core.types import Record, SideRecord, Tombstone

Name = tuple[str, str]
"""The noun of a record and its id; what is kept beside the records has none of its own."""
Version = tuple[str, str, int, bytes]
"""The same with a revision and the hash of what it says: two contents under one number are two versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSet:
    versions: Mapping[Version, Record | SideRecord] = field(default_factory=dict)
    erased: Mapping[Name, Tombstone] = field(default_factory=dict)


def gather_records(items: Iterable[Record | SideRecord]) -> RecordSet:
    """Records, their earlier revisions, what lies beside them and tombstones, in any order, as one set."""
    versions: dict[Version, Record | SideRecord] = {}
    tombstones: dict[Name, Tombstone] = {}
    for item in items:
        if isinstance(item, Tombstone):
            _erase(tombstones, item)
        elif (kind := kind_of(type(item))).keeping is not Keeping.STATE:
            versions[_version(kind, item)] = item
    return _without_erased(versions, tombstones)


def unite(records: RecordSet, other: RecordSet) -> RecordSet:
    """The versions that either set holds, without what either has erased."""
    tombstones = dict(records.erased)
    for tombstone in other.erased.values():
        _erase(tombstones, tombstone)
    return _without_erased({**records.versions, **other.versions}, tombstones)


def current_records(records: RecordSet) -> dict[Name, Record]:
    """The version of each record that counts: the highest revision, then the latest time, then the greater hash.

    What cannot be without a record that is not there is left out, as if it had gone with it.
    """
    best: dict[Name, tuple[tuple[int, float, bytes], RecordKind, Any]] = {}
    for (noun, record_id, revision, content), item in records.versions.items():
        kind = kind_of(type(item))
        if kind.prefix:
            place = (revision, _changed_at(kind, item), content)
            previous = best.get((noun, record_id))
            if previous is None or previous[0] < place:
                best[noun, record_id] = (place, kind, item)
    current = {name: item for name, (_, _, item) in best.items()}
    while orphans := [name for name, item in current.items() if not _has_all_it_needs(current, item)]:
        for name in orphans:
            del current[name]
    return current


def _has_all_it_needs(records: Mapping[Name, Any], item: Any) -> bool:
    kind = kind_of(type(item))
    return all(
        any((kind_of(of).noun, getattr(item, name)) in records for of in kind.refers[name]) for name in kind.needs
    )


def _erase(tombstones: dict[Name, Tombstone], tombstone: Tombstone) -> None:
    """Adds a tombstone; of two of one record the earlier counts."""
    name = (tombstone.kind, tombstone.id)
    previous = tombstones.get(name)
    if previous is None or (tombstone.at, tombstone.tenant) < (previous.at, previous.tenant):
        tombstones[name] = tombstone


def _without_erased(versions: Mapping[Version, Record | SideRecord], tombstones: Mapping[Name, Tombstone]) -> RecordSet:
    return RecordSet(
        versions={v: item for v, item in versions.items() if (v[0], v[1]) not in tombstones}, erased=tombstones
    )


def _version(kind: RecordKind, item: Any) -> Version:
    return kind.noun, item.id if kind.prefix else "", getattr(item, "revision", 1), content_of(item)


def _changed_at(kind: RecordKind, item: Any) -> float:
    return max((at for name in (kind.changed_at, kind.made_at) if name and (at := getattr(item, name))), default=0.0)


def content_of(item: Record | SideRecord) -> bytes:
    """A hash of all that a record says."""
    contents = {f.name: getattr(item, f.name) for f in fields(item)}
    text = json.dumps(contents, ensure_ascii=False, sort_keys=True, default=_plain)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else dict(value)
