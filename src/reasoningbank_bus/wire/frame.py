"""Frames of the bus: every message that goes over a stream, its type number and its limits; encoded and decoded.

A frame is a msgpack array that begins with the number of its type. On a stream it follows its length (`wire.stream`).
Here are shapes and sizes only: what a frame asks for is answered in `bus.node`.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from reasoningbank.core.drafts import MAX_NAME_CHARS
from reasoningbank_bus.wire.entry import MAX_ENTRY_BYTES, PLACE_BYTES, Number, PublicKey
from reasoningbank_bus.wire.refusals import BusRefusal
from reasoningbank_bus.wire.signing import KEY_BYTES

PROTOCOL_VERSION = 1
MAX_FRAME_BYTES = 64 * 1024
MAX_BATCH_BYTES = 256 * 1024
"""Limit of a frame with entries or hits. One entry alone may take as much as an entry may."""
MAX_BATCH_ENTRIES = 4096
LEAST_ENTRY_BYTES = 64
"""A signature alone is as long; shorter ones would cost more to refuse than to send."""
MAX_STREAM_FRAME_BYTES = MAX_ENTRY_BYTES + 32
OPTIONAL_FROM = 128
"""A frame of an unknown type is skipped when its number is this or more; otherwise it is refused."""
CONTROL, MEMORIES, LINKS, SIGNALS, FIRST_EXCHANGE = range(5)
"""Channels; from the last on, one exchange each."""

Address = Annotated[str, Meta(max_length=260)]
Name = Annotated[str, Meta(max_length=MAX_NAME_CHARS)]
SetName = Annotated[str, Meta(max_length=MAX_NAME_CHARS + 8)]
"""A scope, a colon and a namespace; only the colon for grants and revocations."""
Fingerprint = Annotated[bytes, Meta(max_length=32)]
Bound = Annotated[bytes, Meta(max_length=PLACE_BYTES)]
Place = Annotated[bytes, Meta(min_length=PLACE_BYTES, max_length=PLACE_BYTES)]
EncodedEntry = Annotated[bytes, Meta(min_length=LEAST_ENTRY_BYTES, max_length=MAX_ENTRY_BYTES)]
Chunk = Annotated[bytes, Meta(max_length=MAX_ENTRY_BYTES)]


class MemberNews(Struct, array_like=True, frozen=True, forbid_unknown_fields=True, gc=False):
    """News of a peer: SWIM's alive, suspect or dead, of one incarnation."""

    key: PublicKey
    address: Address
    state: Literal["alive", "suspect", "dead"]
    incarnation: Number
    by: Annotated[bytes, Meta(max_length=KEY_BYTES)] = b""
    """Who suspects it by itself: so many suspicions that do not rest on each other end the waiting sooner."""


class NamespaceSum(Struct, array_like=True, frozen=True, forbid_unknown_fields=True, gc=False):
    namespace: SetName
    count: Number
    fingerprint: Fingerprint


class PlaceRange(Struct, array_like=True, frozen=True, forbid_unknown_fields=True, gc=False):
    """The places from `low` to before `high` (empty: to the end): by their sum or, without one, place by place."""

    low: Bound
    high: Bound
    count: Number
    fingerprint: Fingerprint = b""
    places: tuple[Place, ...] = ()


class Hello(Struct, array_like=True, frozen=True, forbid_unknown_fields=True, tag=1):
    """The first frame of either side on the control stream."""

    versions: tuple[Number, Number]
    """The least and the greatest version of the protocol that it speaks."""
    key: PublicKey
    name: Name = ""
    listen: Address = ""
    intents: Annotated[tuple[Chunk, ...], Meta(max_length=256)] = ()
    """Encoded, every one that its rights rest on, with those that they were derived from."""
    namespaces: Annotated[tuple[Name, ...], Meta(max_length=1024)] = ()
    now: Number = 0
    incarnation: Number = 0
    nonce: Annotated[bytes, Meta(max_length=64)] = b""
    auth: Annotated[bytes, Meta(max_length=512)] = b""


class Refusal(Struct, array_like=True, frozen=True, forbid_unknown_fields=True, tag=2):
    code: Annotated[str, Meta(max_length=40)]
    sentence: Annotated[str, Meta(max_length=1000)]
    about: Annotated[bytes, Meta(max_length=64)] = b""


class Bye(Struct, array_like=True, frozen=True, forbid_unknown_fields=True, tag=3):
    pass


class Ping(Struct, array_like=True, frozen=True, forbid_unknown_fields=True, tag=4):
    number: Number
    news: tuple[MemberNews, ...] = ()


class Ack(Struct, array_like=True, frozen=True, forbid_unknown_fields=True, tag=5):
    number: Number
    news: tuple[MemberNews, ...] = ()


class PingFor(Struct, array_like=True, frozen=True, forbid_unknown_fields=True, tag=6):
    number: Number
    target: PublicKey


class Digest(Struct, array_like=True, frozen=True, forbid_unknown_fields=True, tag=7):
    namespaces: tuple[NamespaceSum, ...]
    without: tuple[PublicKey, ...] = ()
    """Authors whose entries are left out of the sums, because more of them is not taken now."""


class Ranges(Struct, array_like=True, frozen=True, forbid_unknown_fields=True, tag=8):
    namespace: SetName
    ranges: tuple[PlaceRange, ...]
    without: tuple[PublicKey, ...] = ()


class Want(Struct, array_like=True, frozen=True, forbid_unknown_fields=True, tag=9):
    namespace: SetName
    places: tuple[Place, ...]


class EntryBatch(Struct, array_like=True, frozen=True, forbid_unknown_fields=True, tag=10):
    encoded: Annotated[tuple[EncodedEntry, ...], Meta(max_length=MAX_BATCH_ENTRIES)]
    number: Number = 0
    """Number of a batch that was not asked for: `Have` acknowledges it by this."""


class Have(Struct, array_like=True, frozen=True, forbid_unknown_fields=True, tag=11):
    """Acknowledgement: `count` entries of the batch were new and are durable now."""

    count: Number
    number: Number = 0


class Ask(Struct, array_like=True, frozen=True, forbid_unknown_fields=True, tag=12):
    request: Number
    query: Annotated[str, Meta(min_length=1, max_length=10_000)]
    namespace: Name
    limit: Annotated[int, Meta(ge=1, le=100)]


class Hits(Struct, array_like=True, frozen=True, forbid_unknown_fields=True, tag=13):
    request: Number
    hits: Annotated[tuple[Chunk, ...], Meta(max_length=100)]
    """Each a msgpack map that `bus.exchange` knows."""


class Offer(Struct, array_like=True, frozen=True, forbid_unknown_fields=True, tag=14):
    """Places where the sender has entries; a peer wants those that it lacks."""

    namespace: SetName
    places: tuple[Place, ...]


Frame = Hello | Refusal | Bye | Ping | Ack | PingFor | Digest | Ranges | Want | EntryBatch | Have | Ask | Hits | Offer
KNOWN_TYPES = range(1, 15)
_LONG_TYPES = (10, 13)
_ENCODER = msgspec.msgpack.Encoder()
_DECODER: msgspec.msgpack.Decoder[Frame] = msgspec.msgpack.Decoder(Frame)


def encode_frame(frame: Frame) -> bytes:
    return _ENCODER.encode(frame)


def decode_frame(raw: bytes) -> Frame | None:
    """The frame in these bytes; None for one of a type that may be skipped."""
    number = _type_of(raw)
    if len(raw) > (MAX_STREAM_FRAME_BYTES if number in _LONG_TYPES else MAX_FRAME_BYTES):
        raise BusRefusal("too_long", f"a frame of type {number} with {len(raw):,} bytes")
    if number not in KNOWN_TYPES:
        if number >= OPTIONAL_FROM:
            return None
        raise BusRefusal("malformed", f"a frame of the unknown type {number}")
    try:
        frame = _DECODER.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BusRefusal("malformed", f"a frame of type {number}: {error}") from None
    if len(raw) > MAX_BATCH_BYTES and not (isinstance(frame, EntryBatch) and len(frame.encoded) == 1):
        raise BusRefusal("too_long", f"{len(raw):,} bytes of more than one entry")
    return frame


def _type_of(raw: bytes) -> int:
    """The number that the array begins with, however long the array is."""
    head = raw[:8]
    if not head or (head[0] & 0xF0 != 0x90 and head[0] not in (0xDC, 0xDD)):
        raise BusRefusal("malformed", "a frame that is no array")
    start = {0xDC: 3, 0xDD: 5}.get(head[0], 1)
    number = head[start : start + 3]
    if number and number[0] < OPTIONAL_FROM:
        return number[0]
    if len(number) > 1 and number[0] == 0xCC:
        return number[1]
    if len(number) > 2 and number[0] == 0xCD:
        return number[1] << 8 | number[2]
    raise BusRefusal("malformed", "a frame that does not begin with its type")
