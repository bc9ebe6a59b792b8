"""Write the test vectors of the bus: python scripts/bus_vectors.py [FILE], tests/bus/vectors.json if none is named.

Keys, grants, revocations, entries and frames with fixed contents, each with its bytes and what follows from them, and
bytes that must be refused, each with its code. A stranger's program that agrees with them speaks this protocol.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from reasoningbank_bus.authority.intent import (
    Intent,
    encode_intent,
    encode_revocation,
    intent_id,
    intent_line,
    sign_intent,
    sign_revocation,
)
from reasoningbank_bus.authority.keys import fingerprint, public_text
from reasoningbank_bus.wire import frame as frames
from reasoningbank_bus.wire.entry import Entry, RecordName, encode_entry, entry_id, place_of, sign_entry
from reasoningbank_bus.wire.signing import SigningKey

FILE = Path(__file__).resolve().parent.parent / "tests" / "bus" / "vectors.json"
DAY_MS = 24 * 3600 * 1000
BEGIN_MS = 1_790_000_000_000
ROOT, OFFICE, LAPTOP = (SigningKey(bytes([number]) * 32) for number in (1, 2, 3))


def grants() -> tuple[Intent, Intent]:
    first = sign_intent(
        ROOT,
        OFFICE.public,
        actions=["record", "signal", "link", "search"],
        namespaces=["team/*", "default"],
        caps={"records": 1000, "bytes": 10_000_000},
        period=86_400,
        not_before=BEGIN_MS,
        expires=BEGIN_MS + 90 * DAY_MS,
        delegable=True,
        nonce=bytes(range(16)),
    )
    second = sign_intent(
        OFFICE,
        LAPTOP.public,
        actions=["record", "search"],
        namespaces=["team/web"],
        scopes=["team"],
        caps={"records": 100, "bytes": 1_000_000},
        period=86_400,
        not_before=BEGIN_MS + DAY_MS,
        expires=BEGIN_MS + 30 * DAY_MS,
        parent=intent_id(first),
        nonce=bytes(range(16, 32)),
    )
    return first, second


def entries() -> dict[str, Entry]:
    first, second = grants()
    name = RecordName(LAPTOP.public, "mem_01M7FR2X0000000000000000")
    body = msgspec.msgpack.encode({"title": "Größe prüfen", "content": "Check the size before the upload."})
    at = BEGIN_MS + 2 * DAY_MS
    place: dict[str, Any] = {"namespace": "team/web", "scope": "team"}
    nowhere: dict[str, Any] = {"namespace": "", "scope": "", "revision": 0}
    revocation = sign_revocation(ROOT, at=at, intent=intent_id(second))
    granted = RecordName(OFFICE.public, intent_id(second).hex())
    ended = RecordName(ROOT.public, intent_id(second).hex())
    under_second = {"intent": intent_id(second)}
    return {
        "memory": sign_entry(LAPTOP, at=at, kind="memory", **place, record=name, revision=1, **under_second, body=body),
        "signal": sign_entry(
            ROOT,
            at=at + 1,
            kind="signal",
            **place,
            record=RecordName(ROOT.public, "sig_1"),
            revision=0,
            intent=b"",
            body=b"\x80",
        ),
        "erased": sign_entry(
            LAPTOP, at=at + 2, kind="erased", **place, record=name, revision=2, **under_second, body=b""
        ),
        "grant": sign_entry(
            OFFICE, at=at, kind="grant", **nowhere, record=granted, intent=intent_id(first), body=encode_intent(second)
        ),
        "revoked": sign_entry(
            ROOT, at=at, kind="revoked", **nowhere, record=ended, intent=b"", body=encode_revocation(revocation)
        ),
    }


def example_frames() -> list[frames.Frame]:
    place, fingerprint_ = bytes(range(32)), bytes(range(32, 64))
    news = frames.MemberNews(OFFICE.public, "office.example:7447", "suspect", 3, LAPTOP.public)
    return [
        frames.Hello(
            (1, 1),
            LAPTOP.public,
            name="laptop",
            listen="192.0.2.7:7447",
            intents=tuple(encode_intent(intent) for intent in reversed(grants())),
            namespaces=("team/web",),
            now=BEGIN_MS,
            incarnation=2,
            nonce=bytes(16),
            auth=bytes(64),
        ),
        frames.Refusal("expired", "The grant that this names has expired.", intent_id(grants()[1])),
        frames.Bye(),
        frames.Ping(7, (news,)),
        frames.Ack(7),
        frames.PingFor(8, ROOT.public),
        frames.Digest((frames.NamespaceSum("team:team/web", 300, fingerprint_),), (OFFICE.public,)),
        frames.Ranges(
            "team:team/web",
            (frames.PlaceRange(b"", place, 200, fingerprint_), frames.PlaceRange(place, b"", 1, b"", (place,))),
        ),
        frames.Want("team:team/web", (place,)),
        frames.EntryBatch(tuple(encode_entry(entry) for entry in entries().values()), 5),
        frames.Have(2, 5),
        frames.Ask(1, "how do I …", "team/web", 5),
        frames.Hits(1, (b"\x81\xa5title\xa1x",)),
        frames.Offer("team:team/web", (place,)),
    ]


def refused() -> list[dict[str, str]]:
    """Bytes that a reader must refuse, what they were meant to be, and the code."""
    memory, grant = encode_entry(entries()["memory"]), encode_intent(grants()[1])
    listed = [
        ("entry", b"", "malformed", "nothing"),
        ("entry", memory[:-1], "malformed", "cut short"),
        ("entry", memory + b"\0", "malformed", "something behind it"),
        ("entry", memory[:1] + b"\x02" + memory[2:], "version", "a newer version"),
        (
            "entry",
            memory[:1] + b"\xcc\x01" + memory[2:],
            "malformed",
            "a number that is not written in the shortest way",
        ),
        ("entry", b"\xdc\x00\x0b" + memory[1:], "malformed", "an array that is not written in the shortest way"),
        ("entry", memory.replace(b"\xa8team/web", b"\xd9\x08team/web"), "malformed", "a text that is not, either"),
        ("entry", memory.replace(b"\xa8team/web", b"\xa8team/w\xffb"), "malformed", "a text that is no UTF-8"),
        ("entry", memory.replace(b"\xa8team/web", b"\xa8team/we\0"), "malformed", "a namespace that no bank has"),
        ("entry", memory.replace(b"\xa4team\x92", b"\xa7project\x92"), "wrong_scope", "of a project"),
        ("intent", grant.replace(b"\xa6record\xa6search", b"\xa6search\xa6record"), "malformed", "a list not sorted"),
        ("intent", b"\x9e\x02" + grant[2:], "version", "a newer version"),
        ("frame", b"\x92\x63\x01", "malformed", "an unknown type below 128"),
        ("frame", b"\x81\x01\x01", "malformed", "no array"),
        ("frame", b"\x92\x0b\xd0\xff", "malformed", "a negative count"),
        ("frame", b"\x92\x0b\x01\x00", "malformed", "something behind it"),
        ("frame", b"\x92\x0a\xdd\xff\xff\xff\xff", "malformed", "a list that claims four thousand million entries"),
    ]
    return [{"is": what, "bytes": raw.hex(), "code": code, "because": why} for what, raw, code, why in listed]


def vectors() -> dict[str, Any]:
    first, second = grants()
    revocation = sign_revocation(ROOT, at=BEGIN_MS, holder=OFFICE.public)
    return {
        "keys": [
            {
                "seed": key.seed.hex(),
                "public": key.public.hex(),
                "text": public_text(key.public),
                "fingerprint": fingerprint(key.public),
            }
            for key in (ROOT, OFFICE, LAPTOP)
        ],
        "intents": [
            {
                "fields": plain(intent),
                "bytes": encode_intent(intent).hex(),
                "id": intent_id(intent).hex(),
                "line": intent_line(line),
            }
            for intent, line in ((first, [first]), (second, [second, first]))
        ],
        "revocations": [{"fields": plain(revocation), "bytes": encode_revocation(revocation).hex()}],
        "entries": [
            {
                "fields": plain(entry),
                "bytes": encode_entry(entry).hex(),
                "id": entry_id(entry).hex(),
                "place": place_of(entry).hex(),
            }
            for entry in entries().values()
        ],
        "frames": [
            {"name": type(frame).__name__, "fields": plain(frame), "bytes": frames.encode_frame(frame).hex()}
            for frame in example_frames()
        ],
        "skipped": [{"bytes": "92cc8001"}, {"bytes": "91cd0190"}],
        "refused": refused(),
    }


def plain(value: Any) -> Any:
    """Fields by name as JSON can hold them: bytes in hexadecimal, behind `0x`."""
    if isinstance(value, msgspec.Struct):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    return value


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    target.write_text(json.dumps(vectors(), indent=1, ensure_ascii=False) + "\n", "utf-8")
