"""What is still to be published: records that did not fit into a cap, and erasures of what stands in the log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from reasoningbank.core.types import Change, Op
from reasoningbank_bus.ports import EntryLog
from reasoningbank_bus.wire.entry import RecordName

_RECORDS, _ERASURES = "owed records", "owed erasures"


class OwedErasure(Struct, array_like=True, frozen=True):
    """A record that was erased here and still stands in the log."""

    name: RecordName
    noun: str
    namespace: str
    scope: str
    revision: int


Owed = tuple[str, str]
"""A record by its noun and its id."""


def owed_changes(log: EntryLog, tenant: str) -> list[Change]:
    """Records that did not fit, as changes that are looked at again."""
    return [Change(seq=0, kind=noun, op=Op.REVISE, id=i, tenant=tenant, at=0.0) for noun, i in _records(log)]


def owed_erasures(log: EntryLog) -> list[OwedErasure]:
    owed = _erasures(log)
    there = log.erased([(one.name, one.namespace) for one in owed])
    return [one for one in owed if (one.name, one.namespace) not in there]


def _records(log: EntryLog) -> list[Owed]:
    kept = log.state(_RECORDS)
    return [] if kept is None else msgspec.msgpack.decode(kept, type=list[Owed])


def _erasures(log: EntryLog) -> list[OwedErasure]:
    kept = log.state(_ERASURES)
    return [] if kept is None else msgspec.msgpack.decode(kept, type=list[OwedErasure])


def owed_records_state(log: EntryLog, tried: Iterable[Owed], left: Sequence[Owed]) -> Mapping[str, bytes | None]:
    """The state of the log when some were tried, of which some are left."""
    before, done = _records(log), set(tried)
    owed = list(dict.fromkeys([*(one for one in before if one not in done), *left]))
    return {} if owed == before else {_RECORDS: msgspec.msgpack.encode(owed) if owed else None}


def owed_erasures_state(
    log: EntryLog, tried: Iterable[OwedErasure], left: Sequence[OwedErasure]
) -> Mapping[str, bytes | None]:
    before, names = _erasures(log), {one.name for one in tried}
    owed = {one.name: one for one in (*(one for one in before if one.name not in names), *left)}
    if list(owed.values()) == before:
        return {}
    return {_ERASURES: msgspec.msgpack.encode(list(owed.values())) if owed else None}
