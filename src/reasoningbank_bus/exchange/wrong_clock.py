"""Signs again what this node signed while its clock was ahead: everybody would refuse it until that moment has come."""

from __future__ import annotations

from reasoningbank_bus.authority.metering import Spend
from reasoningbank_bus.authority.rights import ACTION_OF_KIND, SKEW_MS, Rights
from reasoningbank_bus.ports import EntryLog
from reasoningbank_bus.wire.entry import OF_AUTHORITY, Entry, encode_entry, id_of_encoded, sign_entry
from reasoningbank_bus.wire.signing import SigningKey

SIGNED_UNTIL = "signed until"
"""In the state of the log: when something was signed last, in milliseconds by the clock of then."""
_ENTRIES_AT_ONCE = 2_000


def is_put_back(log: EntryLog, now: int) -> bool:
    """True if the clock was ahead when something was signed, and no longer is."""
    until = log.state(SIGNED_UNTIL)
    return until is not None and int(until) > now + SKEW_MS


def sign_again(log: EntryLog, key: SigningKey, rights: Rights, now: int) -> list[Entry]:
    """Sign the entries of this node that are from the future as of now, durably. Grants and revocations hold moments of
    their own, which their user chose by that clock: they stay.
    """
    entries, number = [], 0
    while batch := log.after(number, _ENTRIES_AT_ONCE):
        number = batch[-1][0]
        own = [entry for _, entry in batch if entry.author == key.public and entry.kind not in OF_AUTHORITY]
        entries += [_entry_as_of(entry, key, rights, now) for entry in own if entry.at > now + SKEW_MS]
    spends: list[Spend] = []
    for entry in entries:
        raw = encode_entry(entry)
        spends += rights.spends(entry, id_of_encoded(raw), len(raw), ())
    return log.add(entries, spent=spends, state={SIGNED_UNTIL: b"%d" % now})


def _entry_as_of(entry: Entry, key: SigningKey, rights: Rights, now: int) -> Entry:
    action = ACTION_OF_KIND.get(entry.kind, "record")
    return sign_entry(
        key,
        at=now,
        kind=entry.kind,
        namespace=entry.namespace,
        scope=entry.scope,
        record=entry.record,
        revision=entry.revision,
        intent=rights.intent_to_name(action, entry.namespace, entry.scope, now),
        body=entry.body,
    )
