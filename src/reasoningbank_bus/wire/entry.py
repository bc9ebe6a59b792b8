"""Signed entries: what banks exchange. Encoding, decoding, ids, places and signatures of them.

An entry is immutable and named by the hash of what its author signed, so a set of entries is merged by union. Here are
shape and limits. What is in a body is known in `bus.exchange`, who may write what in `authority.rights`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from reasoningbank.core.digest import blake2b
from reasoningbank.core.drafts import MAX_NAME_CHARS, clean_namespace
from reasoningbank.core.errors import InvalidInput
from reasoningbank_bus.wire.refusals import BusRefusal
from reasoningbank_bus.wire.signing import KEY_BYTES, SIGNATURE_BYTES, SigningKey, is_signed

ENTRY_VERSION = 1
MAX_ENTRY_BYTES = 4 * 1024 * 1024
MAX_RECORD_ID_CHARS = 128
MAX_NUMBER = 2**53 - 1
"""The greatest number that every language can hold exactly."""
ID_BYTES = 32
PLACE_BYTES = 32
KINDS = ("memory", "node", "edge", "signal", "erased", "grant", "revoked")
SCOPES = ("org", "team")
"""Scopes that are shared."""
OF_AUTHORITY = ("grant", "revoked")
"""Kinds that belong to no namespace: they say who may do what in all of them."""
_DOMAIN = b"reasoningbank bus entry 1\0"
_WHOLE, _UNSIGNED = b"\x9b", b"\x9a"
"""An array of eleven, and of ten."""
_SIGNATURE_HEAD = b"\xc4\x40"

PublicKey = Annotated[bytes, Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
Signature = Annotated[bytes, Meta(min_length=SIGNATURE_BYTES, max_length=SIGNATURE_BYTES)]
Number = Annotated[int, Meta(ge=0, le=MAX_NUMBER)]


class RecordName(Struct, array_like=True, frozen=True, forbid_unknown_fields=True, gc=False):
    """A record's name everywhere: who wrote its first version, and its id there."""

    author: PublicKey
    id: Annotated[str, Meta(min_length=1, max_length=MAX_RECORD_ID_CHARS)]


class Entry(Struct, array_like=True, frozen=True, forbid_unknown_fields=True, gc=False):
    version: int
    author: PublicKey
    at: Number
    """Milliseconds since 1970 by the author's clock."""
    kind: Literal["memory", "node", "edge", "signal", "erased", "grant", "revoked"]
    namespace: Annotated[str, Meta(max_length=MAX_NAME_CHARS)]
    scope: Annotated[str, Meta(max_length=16)]
    record: RecordName
    revision: Number
    intent: Annotated[bytes, Meta(max_length=ID_BYTES)]
    """The id of the grant under which it was written; empty: in the author's own right, which only its root takes."""
    body: bytes
    signature: Signature


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Entry)


def encode_entry(entry: Entry) -> bytes:
    return _ENCODER.encode(entry)


def decode_entry(raw: bytes) -> Entry:
    """The entry in these bytes, its shape checked but not its signature."""
    if len(raw) > MAX_ENTRY_BYTES:
        raise BusRefusal("too_long", f"an entry of {len(raw):,} bytes; the limit is {MAX_ENTRY_BYTES:,}")
    check_version(raw, ENTRY_VERSION, "an entry")
    try:
        entry = _DECODER.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BusRefusal("malformed", f"an entry: {error}") from None
    # Numbers, texts and arrays can be written in several ways. Only the shortest is taken: what is signed and hashed
    # is then the bytes that came.
    if _ENCODER.encode(entry) != raw:
        raise BusRefusal("malformed", "an entry that is not written in the shortest way")
    _check_contents(entry)
    return entry


def check_version(raw: bytes, version: int, what: str) -> None:
    """Refuse what is not an array that begins with a version, or begins with one that is not known here."""
    # A newer version may have more elements, written as a longer array.
    at = 3 if raw[:1] == b"\xdc" else 1
    if len(raw) <= at or (at == 1 and raw[0] & 0xF0 != 0x90) or raw[at] > 0x7F:
        raise BusRefusal("malformed", f"{what} that does not begin with its version")
    if raw[at] != version:
        raise BusRefusal("version", f"{what} of version {raw[at]}; known here is {version}")


def _check_contents(entry: Entry) -> None:
    if len(entry.intent) not in (0, ID_BYTES):
        raise BusRefusal("malformed", f"an intent's id of {len(entry.intent)} bytes")
    if entry.kind in OF_AUTHORITY:
        if entry.namespace or entry.scope:
            raise BusRefusal("malformed", f"a {entry.kind} entry belongs to no namespace and no scope")
    elif not is_namespace(entry.namespace):
        raise BusRefusal("malformed", "an entry whose namespace no bank could have")
    if entry.scope not in SCOPES and (entry.scope or entry.kind == "memory"):
        raise BusRefusal("wrong_scope", about=entry.author)
    if entry.kind == "erased" and entry.body:
        raise BusRefusal("malformed", "an erasure that holds a body")
    if not entry.record.id.isprintable():
        raise BusRefusal("malformed", "a record's id with control characters")


@lru_cache(maxsize=4096)
def reaches_everywhere(erasure: Entry) -> bool:
    """True if an erasure takes its record wherever it stands; one by another than its author does in its own
    namespace alone, since the right to it was given there.
    """
    return erasure.author == erasure.record.author


def is_namespace(name: str) -> bool:
    """True if a bank could have a namespace of exactly this name."""
    try:
        return clean_namespace(name) == name
    except InvalidInput:
        return False


def _signed_part(raw: bytes) -> bytes:
    """The bytes that the author signed: an encoded entry without its last element, behind a line that says what it
    is.
    """
    return b"".join((_DOMAIN, _UNSIGNED, memoryview(raw)[1 : -SIGNATURE_BYTES - len(_SIGNATURE_HEAD)]))


def entry_id(entry: Entry) -> bytes:
    return id_of_encoded(_ENCODER.encode(entry))


def id_of_encoded(raw: bytes) -> bytes:
    """The id of an entry from its bytes, which `decode_entry` took or `encode_entry` made."""
    return blake2b(_signed_part(raw), digest_size=ID_BYTES).digest()


def place_of(entry: Entry, id_: bytes | None = None) -> bytes:
    """Where an entry stands in the order in which ranges of a namespace are reconciled: by author, time and id."""
    return entry.author[:8] + entry.at.to_bytes(8, "big") + (id_ or entry_id(entry))[:16]


def sign_entry(  # noqa: PLR0913 - what an entry says
    key: SigningKey,
    *,
    at: int,
    kind: str,
    namespace: str,
    scope: str,
    record: RecordName,
    revision: int,
    intent: bytes,
    body: bytes,
) -> Entry:
    """An entry of this key's holder. Raises `BusRefusal` for what no receiver would take."""
    draft = Entry(
        ENTRY_VERSION,
        key.public,
        at,
        kind,  # type: ignore[arg-type]  # checked below, with all else
        namespace,
        scope,
        record,
        revision,
        intent,
        body,
        bytes(SIGNATURE_BYTES),
    )
    raw = _ENCODER.encode(draft)
    decode_entry(raw)
    return msgspec.structs.replace(draft, signature=key.sign(_signed_part(raw)))


def verify_entry(entry: Entry, raw: bytes = b"") -> None:
    """Raise unless its author signed it; `raw` are its bytes, where they are at hand."""
    if not is_signed(_signed_part(raw or _ENCODER.encode(entry)), entry.signature, entry.author):
        raise BusRefusal("signature", about=entry_id(entry))


def open_entries(batch: Sequence[bytes]) -> list[tuple[Entry, bytes] | BusRefusal]:
    """Each entry with its id, decoded and verified in one pass over its bytes, or why it was refused."""
    results: list[tuple[Entry, bytes] | BusRefusal] = []
    for raw in batch:
        try:
            entry = decode_entry(raw)
        except BusRefusal as refusal:
            results.append(refusal)
            continue
        message = _signed_part(raw)
        id_ = blake2b(message, digest_size=ID_BYTES).digest()
        if is_signed(message, entry.signature, entry.author):
            results.append((entry, id_))
        else:
            results.append(BusRefusal("signature", about=id_))
    return results
