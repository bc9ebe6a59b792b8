"""Keys, grants and entries for tests: the same in every run, valid unless a test says otherwise."""

from __future__ import annotations

from typing import Any

from reasoningbank_bus.authority.intent import Intent, intent_id, sign_intent
from reasoningbank_bus.wire.entry import Entry, RecordName, sign_entry
from reasoningbank_bus.wire.signing import SigningKey

NOW = 1_790_000_000_000
DAY = 24 * 3600 * 1000
ROOT, OFFICE, LAPTOP, STRANGER = (SigningKey(bytes([number]) * 32) for number in (11, 12, 13, 14))


def grant(issuer: SigningKey = ROOT, holder: SigningKey = OFFICE, **other: Any) -> Intent:
    said: dict[str, Any] = {
        "actions": ["record", "signal", "link", "search"],
        "namespaces": ["team/*"],
        "not_before": NOW - DAY,
        "expires": NOW + DAY,
        "nonce": bytes(16),
    }
    return sign_intent(issuer, holder.public, **said | other)


def entry(author: SigningKey, under: Intent | None = None, number: int = 0, **other: Any) -> Entry:
    said: dict[str, Any] = {
        "at": NOW,
        "kind": "memory",
        "namespace": "team/web",
        "scope": "team",
        "record": RecordName(author.public, f"mem_{number}"),
        "revision": 1,
        "intent": b"" if under is None else intent_id(under),
        "body": b"\x80",
    }
    return sign_entry(author, **said | other)
