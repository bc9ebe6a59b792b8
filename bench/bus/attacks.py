"""One node under attack: hostile frames of every kind, from a peer that has rights, and what becomes of them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec

from bench.bus.simulator import EPOCH_MS, NAMESPACE, YEAR_MS
from reasoningbank_bus.authority.intent import Intent, encode_intent, intent_id, sign_intent
from reasoningbank_bus.authority.rights import Rights
from reasoningbank_bus.log.memory import MemoryLog
from reasoningbank_bus.node.effects import Close, Effect, Send, Took
from reasoningbank_bus.node.node import BusNode
from reasoningbank_bus.node.settings import NodeSettings
from reasoningbank_bus.wire.entry import Entry, RecordName, encode_entry, sign_entry
from reasoningbank_bus.wire.frame import (
    CONTROL,
    MEMORIES,
    Ask,
    EntryBatch,
    Have,
    Hello,
    Hits,
    MemberNews,
    Offer,
    Ping,
    PlaceRange,
    Ranges,
    Refusal,
    Want,
    decode_frame,
    encode_frame,
)
from reasoningbank_bus.wire.signing import SigningKey

NEVER_SEEN = EPOCH_MS + 5 * YEAR_MS


class Scene:
    """A node, an honest peer, and one that has rights and uses them badly."""

    def __init__(self, seed: int, **settings: Any) -> None:
        self.chance = Random(seed)
        self.now = 0.0
        keys = [SigningKey(bytes([number]) * 32) for number in range(1, 8)]
        self.root, self.own, self.honest, self.insider, self.stranger, self.visitor, self.former = keys
        self.rights = Rights(self.own.public, [self.root.public])
        self.log = MemoryLog()
        limits = {"frames_per_second": 10**9, "entries_per_second": 10**9, "bytes_per_second": 10**12} | settings
        self.node = BusNode(
            key=self.own,
            rights=self.rights,
            log=self.log,
            settings=NodeSettings(**limits),
            seed=seed,
            now_ms=lambda now: EPOCH_MS + int(now * 1000),
        )
        self.grants = {key.public: self._grant(self.root, key.public) for key in (self.honest, self.insider)}
        self.foreign = self._grant(self.stranger, self.visitor.public)
        """Of another tenant's root."""
        self.past = self._grant(self.root, self.former.public, expires=EPOCH_MS - YEAR_MS // 6)
        self.rights.add(self.past)
        self.frames_until_shut_out = 0
        self._sent = 0
        self._numbers = 0
        self._old: tuple[int, bytes] | None = None
        for key in (self.honest, self.insider):
            self.node.connected(key.public, 0.0)
            self.deliver(key, CONTROL, encode_frame(self.hello(key)))

    def _grant(self, issuer: SigningKey, holder: bytes, expires: int = EPOCH_MS + YEAR_MS) -> Intent:
        return sign_intent(
            issuer,
            holder,
            actions=("record", "search"),
            namespaces=(NAMESPACE,),
            scopes=("team",),
            not_before=EPOCH_MS - YEAR_MS,
            expires=expires,
            nonce=self.chance.randbytes(16),
        )

    def hello(self, key: SigningKey) -> Hello:
        return Hello((1, 1), key.public, intents=(encode_intent(self.grants[key.public]),), now=EPOCH_MS, incarnation=1)

    def number(self) -> int:
        self._numbers += 1
        return self._numbers

    def entry(self, key: SigningKey, **changes: Any) -> Entry:
        grant = self.grants.get(key.public)
        fields: dict[str, Any] = {
            "at": EPOCH_MS + self.number(),
            "kind": "memory",
            "namespace": NAMESPACE,
            "scope": "team",
            "record": RecordName(key.public, f"mem_{self._numbers}"),
            "revision": 1,
            "intent": intent_id(grant) if grant else b"",
            "body": self.chance.randbytes(200),
        }
        return sign_entry(key, **(fields | changes))

    def entries(self, count: int) -> list[Entry]:
        return [self.entry(self.honest) for _ in range(count)]

    def honest_work(self, batches: int, size: int) -> None:
        for number in range(batches):
            frame = encode_frame(EntryBatch(tuple(map(encode_entry, self.entries(size))), 10_000_000 + number))
            self._old = (MEMORIES, frame)
            self.deliver(self.honest, MEMORIES, frame)
        # The insider has sent one good batch as well, which it will send again and again.
        good = encode_frame(EntryBatch((encode_entry(self.entry(self.insider)),), 10_000_000))
        self._old = (MEMORIES, good)
        self.deliver(self.insider, MEMORIES, good)

    def ids(self) -> set[bytes]:
        return {id_ for _, _, _, id_ in self.log.places()}

    def state(self) -> tuple[object, ...]:
        """All that a hostile frame could have changed for good."""
        members = sorted((key, m.state, m.address) for key, m in self.node.members.members.items())
        status = self.node.status(self.now)
        return sorted(self.ids()), len(self.rights.intents()), len(self.rights.revocations()), members, status.entries

    def deliver(self, key: SigningKey, channel: int, frame: bytes) -> list[Effect]:
        effects = self.node.receive(key.public, channel, frame, self.now)
        if key is self.insider:
            self._sent += 1
            if not self.frames_until_shut_out and any(isinstance(effect, Close) for effect in effects):
                self.frames_until_shut_out = self._sent
        return effects

    def make(self, attack: Attack) -> tuple[int, bytes]:
        return attack(self)

    def send(self, attack: Attack) -> tuple[Counter[str], float]:
        """Send one; what it was refused with, and how long that took."""
        channel, frame = attack(self)
        before = Counter(self.node.status(self.now).refused)
        self.now += 0.001
        begun = time.process_time()
        effects = self.deliver(self.insider, channel, frame)
        seconds = time.process_time() - begun
        assert not any(isinstance(effect, Took) for effect in effects)
        codes = Counter(self.node.status(self.now).refused) - before
        for effect in effects:
            told = decode_frame(effect.frame) if isinstance(effect, Send) else None
            if isinstance(told, Have) and told.count == 0 and not codes:
                codes["nothing new"] += 1
            elif isinstance(told, Refusal) and not codes:
                codes[told.code] += 1
        return codes, seconds

    def batch(self, *entries: bytes) -> tuple[int, bytes]:
        return MEMORIES, encode_frame(EntryBatch(entries, self.number() + 20_000_000))

    @property
    def old(self) -> tuple[int, bytes]:
        assert self._old is not None
        return self._old


Attack = Callable[[Scene], tuple[int, bytes]]


def random_bytes(scene: Scene) -> tuple[int, bytes]:
    return scene.chance.randrange(-3, 8), b"\xc1" + scene.chance.randbytes(scene.chance.randrange(0, 300))


def cut_frame(scene: Scene) -> tuple[int, bytes]:
    channel, frame = scene.old
    return channel, frame[: scene.chance.randrange(1, len(frame))]


def flipped_entry(scene: Scene) -> tuple[int, bytes]:
    encoded = bytearray(encode_entry(scene.entry(scene.insider)))
    encoded[scene.chance.randrange(len(encoded))] ^= 1 << scene.chance.randrange(8)
    return scene.batch(bytes(encoded))


def unknown_type(scene: Scene) -> tuple[int, bytes]:
    return CONTROL, msgspec.msgpack.encode([scene.chance.randrange(15, 128), 1, 2])


def replayed_batch(scene: Scene) -> tuple[int, bytes]:
    return scene.old


def replayed_entry(scene: Scene) -> tuple[int, bytes]:
    frame = decode_frame(scene.old[1])
    assert isinstance(frame, EntryBatch)
    return scene.batch(*frame.encoded)


def second_hello(scene: Scene) -> tuple[int, bytes]:
    return CONTROL, encode_frame(scene.hello(scene.honest))


def forged_author(scene: Scene) -> tuple[int, bytes]:
    name = RecordName(scene.honest.public, f"mem_{scene.number()}")
    entry = scene.entry(scene.insider, intent=intent_id(scene.grants[scene.honest.public]), record=name)
    return scene.batch(encode_entry(msgspec.structs.replace(entry, author=scene.honest.public)))


def forged_signature(scene: Scene) -> tuple[int, bytes]:
    entry = scene.entry(scene.insider)
    return scene.batch(encode_entry(msgspec.structs.replace(entry, signature=scene.chance.randbytes(64))))


def stolen_grant(scene: Scene) -> tuple[int, bytes]:
    return scene.batch(encode_entry(scene.entry(scene.visitor, intent=intent_id(scene.grants[scene.honest.public]))))


def record_of_another(scene: Scene) -> tuple[int, bytes]:
    name = RecordName(scene.honest.public, "mem_1")
    return scene.batch(encode_entry(scene.entry(scene.insider, record=name, revision=99)))


def erasure_without_right(scene: Scene) -> tuple[int, bytes]:
    name = RecordName(scene.honest.public, "mem_1")
    return scene.batch(encode_entry(scene.entry(scene.insider, record=name, kind="erased", body=b"")))


def widened_grant(scene: Scene) -> tuple[int, bytes]:
    child = sign_intent(
        scene.insider,
        scene.insider.public,
        actions=("record", "search", "erase", "bus:admin"),
        namespaces=("*",),
        not_before=EPOCH_MS - YEAR_MS,
        expires=NEVER_SEEN,
        parent=intent_id(scene.grants[scene.insider.public]),
        nonce=scene.chance.randbytes(16),
    )
    name = RecordName(scene.insider.public, f"grant_{scene.number()}")
    return scene.batch(
        encode_entry(
            scene.entry(scene.insider, kind="grant", namespace="", scope="", record=name, body=encode_intent(child))
        )
    )


def wrong_tenant(scene: Scene) -> tuple[int, bytes]:
    return scene.batch(encode_entry(scene.entry(scene.visitor, intent=intent_id(scene.foreign))))


def stranger_entry(scene: Scene) -> tuple[int, bytes]:
    return scene.batch(encode_entry(scene.entry(scene.stranger)))


def wrong_namespace(scene: Scene) -> tuple[int, bytes]:
    return scene.batch(encode_entry(scene.entry(scene.insider, namespace="private")))


def wrong_scope(scene: Scene) -> tuple[int, bytes]:
    return scene.batch(encode_entry(scene.entry(scene.insider, scope="org")))


def from_the_future(scene: Scene) -> tuple[int, bytes]:
    return scene.batch(encode_entry(scene.entry(scene.insider, at=EPOCH_MS + YEAR_MS // 2)))


def long_expired(scene: Scene) -> tuple[int, bytes]:
    at = scene.past.expires - scene.number()
    return scene.batch(encode_entry(scene.entry(scene.former, intent=intent_id(scene.past), at=at)))


def downgraded_hello(scene: Scene) -> tuple[int, bytes]:
    return CONTROL, encode_frame(msgspec.structs.replace(scene.hello(scene.insider), versions=(0, 0)))


def downgraded_entry(scene: Scene) -> tuple[int, bytes]:
    encoded = encode_entry(scene.entry(scene.insider))
    return scene.batch(encoded[:1] + b"\x00" + encoded[2:])


def over_long_control(_: Scene) -> tuple[int, bytes]:
    return CONTROL, encode_frame(Offer("team:shared", tuple(bytes(32) for _ in range(2_500))))


def over_long_batch(_: Scene) -> tuple[int, bytes]:
    return MEMORIES, encode_frame(EntryBatch((bytes(200_000), bytes(100_000)), 1))


def too_many_wanted(scene: Scene) -> tuple[int, bytes]:
    return -9, encode_frame(Want("team:shared", tuple(scene.chance.randbytes(32) for _ in range(1_000))))


def wanted_without_right(_: Scene) -> tuple[int, bytes]:
    return -9, encode_frame(Want("team:private", (bytes(32),)))


def asked_without_right(_: Scene) -> tuple[int, bytes]:
    return -9, encode_frame(Ask(1, "passwords", "private", 10))


def unasked_hits(_: Scene) -> tuple[int, bytes]:
    return 5, encode_frame(Hits(77, (b"\x80",)))


def overlapping_ranges(_: Scene) -> tuple[int, bytes]:
    parts = (PlaceRange(b"a", b"c", 1, bytes(16)), PlaceRange(b"b", b"d", 1, bytes(16)))
    return CONTROL, encode_frame(Ranges("team:shared", parts))


def unasked_entries(scene: Scene) -> tuple[int, bytes]:
    return 4_000_000, encode_frame(EntryBatch((encode_entry(scene.entry(scene.insider)),)))


def false_news(scene: Scene) -> tuple[int, bytes]:
    news = tuple(MemberNews(scene.chance.randbytes(32), "host:1", "alive", 1) for _ in range(600))
    return CONTROL, encode_frame(Ping(0, news))


KINDS: tuple[Attack, ...] = (
    random_bytes,
    cut_frame,
    flipped_entry,
    unknown_type,
    replayed_batch,
    replayed_entry,
    second_hello,
    forged_author,
    forged_signature,
    stolen_grant,
    record_of_another,
    erasure_without_right,
    widened_grant,
    wrong_tenant,
    stranger_entry,
    wrong_namespace,
    wrong_scope,
    from_the_future,
    long_expired,
    downgraded_hello,
    downgraded_entry,
    over_long_control,
    over_long_batch,
    too_many_wanted,
    wanted_without_right,
    asked_without_right,
    unasked_hits,
    overlapping_ranges,
    unasked_entries,
    false_news,
)
