"""Loads what a node knows of rights from its log: grants and revocations, grants that were pasted, and its roots.

What was issued here or came over the bus are entries. What was pasted (`bus accept`) was issued by another, so it is no
entry of ours: it is kept beside them, and shown to whoever is to take what was written under it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import msgspec

from reasoningbank_bus.authority.intent import (
    Intent,
    decode_intent,
    decode_revocation,
    encode_intent,
    intent_id,
)
from reasoningbank_bus.authority.rights import Rights
from reasoningbank_bus.log.durable import DurableLog
from reasoningbank_bus.wire.entry import Entry
from reasoningbank_bus.wire.refusals import BusRefusal

ROOTS = "roots"
PASTED = "pasted grants"
_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(list[bytes])


def load_rights(log: DurableLog, own: bytes, bans: Mapping[str, int]) -> Rights:
    """`bans` are peers that the bank's user took out, by fingerprint, with the moment in milliseconds."""
    rights = Rights(own, roots_of(log))
    add_kept(rights, log, bans)
    return rights


def add_kept(rights: Rights, log: DurableLog, bans: Mapping[str, int]) -> list[Entry]:
    """Add to `rights` what the log holds, and return those entries; what is known already costs little."""
    rights.set_roots(roots_of(log))
    rights.bar(bans)
    entries = log.of_authority()
    of_entries = [decode_intent(entry.body) for entry in entries if entry.kind == "grant"]
    _add_in_order(rights, [*pasted_grants(log), *of_entries])
    for entry in entries:
        if entry.kind == "revoked":
            rights.revoke(decode_revocation(entry.body))
    return entries


def _add_in_order(rights: Rights, intents: Iterable[Intent]) -> None:
    """Add grants, those above before those that were derived from them."""
    waiting = {intent_id(intent): intent for intent in intents}
    for first in tuple(waiting):
        line: list[Intent] = []
        at = first
        while at in waiting:
            line.append(waiting.pop(at))
            at = line[-1].parent
        try:
            for intent in reversed(line):
                rights.add(intent)
        except BusRefusal:
            # It was taken once, and what stands above it is known better since.
            continue


def roots_of(log: DurableLog) -> list[bytes]:
    """The keys that the user has named, beside its own."""
    return [bytes.fromhex(root) for root in json.loads(log.state(ROOTS) or b"[]")]


def keep_roots(log: DurableLog, roots: Iterable[bytes]) -> None:
    log.keep_state({ROOTS: json.dumps(sorted({root.hex() for root in roots})).encode()})


def pasted_grants(log: DurableLog) -> list[Intent]:
    return [decode_intent(raw) for raw in _DECODER.decode(log.state(PASTED) or b"\x90")]


def keep_pasted(log: DurableLog, intents: Iterable[Intent]) -> None:
    grants = {intent_id(intent): encode_intent(intent) for intent in intents}
    log.keep_state({PASTED: _ENCODER.encode(list(grants.values()))})
