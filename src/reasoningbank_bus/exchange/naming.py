"""Names of records everywhere, and what this bank knows of each that came or went over the bus.

A record's name is the author of its first version and its id there. At home it keeps its id; in any other bank its id
is derived from the name, so that nobody can take or overwrite the id of another's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from reasoningbank.core.ids import derived_id
from reasoningbank.core.origins import PEER
from reasoningbank.core.record_kinds import BY_NOUN, kind_of
from reasoningbank_bus.authority.keys import fingerprint
from reasoningbank_bus.ports import EntryLog
from reasoningbank_bus.wire.entry import Entry, RecordName
from reasoningbank_bus.wire.refusals import BusRefusal

_TENANT = "tenant"
SHARED_NOUNS = ("memory", "node", "edge", "signal")
Version = tuple[int, int, bytes]
"""Revision, moment and author: the greatest of a record's versions counts, the same everywhere."""


class KnownRecord(Struct, array_like=True, frozen=True, gc=False):
    """A record that has a local id here, as the bus knows it."""

    name: RecordName
    namespace: str
    scope: str
    version: Version
    """The greatest that was seen."""
    revision: int
    """Revision of the record in this bank when it was last published or applied, as is the moment: another one is an
    edit.
    """
    updated_at: float
    state: str = ""
    """The state that a memory was given then. Another one is a decision of this bank, and stays."""
    intent: bytes = b""
    """Under which it was published."""


_DECODER = msgspec.msgpack.Decoder(KnownRecord)


def local_id(name: RecordName, noun: str, own: bytes) -> str:
    """The id that a record has in the bank with the key `own`."""
    if name.author == own:
        return name.id
    return derived_id(BY_NOUN[noun].prefix, f"{name.author.hex()}\n{name.id}")


def bind_tenant(log: EntryLog, tenant: str) -> None:
    """Make a log the tenant's, or refuse: a bus belongs to one tenant of its bank."""
    owner = log.state(_TENANT)
    if owner is None:
        log.keep_state({_TENANT: tenant.encode()})
    elif owner != tenant.encode():
        raise BusRefusal("wrong_tenant", f"this bus is that of {owner.decode()!r}")


@lru_cache(maxsize=4096)
def origin_of_author(author: bytes) -> str:
    return f"{PEER}:{fingerprint(author)}"


def version_of(entry: Entry) -> Version:
    return entry.revision, entry.at, entry.author


def changed_at(record: Any) -> float:
    """When this version of a record was made."""
    entry = kind_of(type(record))
    return float(getattr(record, entry.changed_at or entry.made_at))


def known_records(log: EntryLog, ids: Iterable[str]) -> dict[str, KnownRecord]:
    rows = {_row(record_id): record_id for record_id in ids}
    return {rows[name]: _DECODER.decode(row) for name, row in log.states(rows).items()}


def rows_of(records: Mapping[str, KnownRecord]) -> dict[str, bytes]:
    """Rows for the state of the log, one for each record."""
    return {_row(record_id): msgspec.msgpack.encode(record) for record_id, record in records.items()}


def _row(record_id: str) -> str:
    return f"record {record_id}"
