"""Queue of what is still to be published: records that did not fit into a cap, and erasures of what stands in the
log.
"""

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
    there = log.erased([(erasure.name, erasure.namespace) for erasure in owed])
    return [erasure for erasure in owed if (erasure.name, erasure.namespace) not in there]


def _records(log: EntryLog) -> list[Owed]:
    raw = log.state(_RECORDS)
    return [] if raw is None else msgspec.msgpack.decode(raw, type=list[Owed])


def _erasures(log: EntryLog) -> list[OwedErasure]:
    raw = log.state(_ERASURES)
    return [] if raw is None else msgspec.msgpack.decode(raw, type=list[OwedErasure])


def owed_records_state(
    log: EntryLog, attempts: Iterable[Owed], remaining: Sequence[Owed]
) -> Mapping[str, bytes | None]:
    """The state of the log when `attempts` were made, and `remaining` is left of them."""
    before, keys = _records(log), set(attempts)
    owed = list(dict.fromkeys([*(record for record in before if record not in keys), *remaining]))
    return {} if owed == before else {_RECORDS: msgspec.msgpack.encode(owed) if owed else None}


def owed_erasures_state(
    log: EntryLog, attempts: Iterable[OwedErasure], remaining: Sequence[OwedErasure]
) -> Mapping[str, bytes | None]:
    before, names = _erasures(log), {erasure.name for erasure in attempts}
    earlier = [erasure for erasure in before if erasure.name not in names]
    owed = {erasure.name: erasure for erasure in (*earlier, *remaining)}
    if list(owed.values()) == before:
        return {}
    return {_ERASURES: msgspec.msgpack.encode(list(owed.values())) if owed else None}
