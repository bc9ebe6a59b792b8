"""Signed grants ("intents") and revocations: who may do what, where, how much and until when; and their text to
paste.

Here is one grant, and a pair of parent and child. Whether a chain of them reaches a root is known in
`authority.rights`.
"""

from __future__ import annotations

import os
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from reasoningbank.core.digest import blake2b
from reasoningbank.core.drafts import MAX_NAME_CHARS
from reasoningbank.core.errors import InvalidInput
from reasoningbank_bus.authority.keys import parse_bytes
from reasoningbank_bus.wire.entry import (
    ID_BYTES,
    MAX_NUMBER,
    SCOPES,
    Number,
    PublicKey,
    Signature,
    check_version,
    is_namespace,
)
from reasoningbank_bus.wire.refusals import BusRefusal
from reasoningbank_bus.wire.signing import SIGNATURE_BYTES, SigningKey, is_signed

INTENT_VERSION = 1
ACTIONS = ("bus:admin", "erase", "link", "record", "search", "signal")
CAPS = ("bytes", "records", "searches", "tokens")
EVERY = "*"
LINE_PREFIX = "rbi1"
MAX_CHAIN = 8
"""From the one that is used to the one that a root gave."""
MAX_INTENT_BYTES = 16_384
_NONCE_BYTES = 16
_INTENT_DOMAIN = b"reasoningbank bus intent 1\0"
_REVOCATION_DOMAIN = b"reasoningbank bus revocation 1\0"

Action = Literal["bus:admin", "erase", "link", "record", "search", "signal"]
Pattern = Annotated[str, Meta(min_length=1, max_length=MAX_NAME_CHARS)]


class Intent(Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    """A grant. Lists are sorted and without repeats, so that one grant has one encoding."""

    version: int
    issuer: PublicKey
    holder: PublicKey
    actions: Annotated[tuple[Action, ...], Meta(min_length=1, max_length=len(ACTIONS))]
    namespaces: Annotated[tuple[Pattern, ...], Meta(min_length=1, max_length=64)]
    """`*`, a name, or `name/*` for all that begins with `name/`."""
    scopes: Annotated[tuple[Literal["org", "team"], ...], Meta(max_length=2)]
    caps: dict[str, Number]
    """Limits; what is missing is not limited."""
    period: Number
    """Seconds after which caps begin anew, counted from `not_before`; 0: never."""
    not_before: Number
    expires: Number
    """Both in milliseconds since 1970; `expires` is the first moment at which it no longer holds."""
    delegable: bool
    parent: Annotated[bytes, Meta(max_length=ID_BYTES)]
    """The id of the one it was derived from; empty: given by a root."""
    nonce: Annotated[bytes, Meta(min_length=_NONCE_BYTES, max_length=_NONCE_BYTES)]
    signature: Signature

    def __hash__(self) -> int:
        return hash(self.signature)


class Revocation(Struct, array_like=True, frozen=True, forbid_unknown_fields=True, gc=False):
    """Ends a grant (by its id), or all grants of a holder (by its key) that the issuer stands above."""

    version: int
    issuer: PublicKey
    at: Number
    what: Literal["intent", "holder"]
    target: Annotated[bytes, Meta(min_length=32, max_length=32)]
    signature: Signature


_ENCODER = msgspec.msgpack.Encoder(order="deterministic")
_INTENTS = msgspec.msgpack.Decoder(Intent)
_REVOCATIONS = msgspec.msgpack.Decoder(Revocation)
T = TypeVar("T", Intent, Revocation)
_LINES = msgspec.msgpack.Decoder(list[bytes])


def encode_intent(intent: Intent) -> bytes:
    return _ENCODER.encode(intent)


def decode_intent(raw: bytes) -> Intent:
    """The grant in these bytes, its shape checked but not its signature."""
    intent = _decode(raw, _INTENTS, "a grant")
    for names in (intent.actions, intent.namespaces, intent.scopes):
        if list(names) != sorted(set(names)):
            raise BusRefusal("malformed", "a grant whose lists are not sorted, or say something twice")
    if not intent.caps.keys() <= set(CAPS):
        raise BusRefusal("malformed", f"a grant that limits something else than {', '.join(CAPS)}")
    if not all(is_pattern(pattern) for pattern in intent.namespaces):
        raise BusRefusal("malformed", "a grant for a namespace that no bank could have")
    if len(intent.parent) not in (0, ID_BYTES):
        raise BusRefusal("malformed", f"a grant with a parent of {len(intent.parent)} bytes")
    if intent.expires <= intent.not_before:
        raise BusRefusal("malformed", "a grant that ends before it begins")
    return intent


def encode_revocation(revocation: Revocation) -> bytes:
    return _ENCODER.encode(revocation)


def decode_revocation(raw: bytes) -> Revocation:
    return _decode(raw, _REVOCATIONS, "a revocation")


def _decode(raw: bytes, decoder: msgspec.msgpack.Decoder[T], what: str) -> T:
    if len(raw) > MAX_INTENT_BYTES:
        raise BusRefusal("too_long", f"{what} of {len(raw):,} bytes")
    check_version(raw, INTENT_VERSION, what)
    try:
        value = decoder.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BusRefusal("malformed", f"{what}: {error}") from None
    if _ENCODER.encode(value) != raw:
        raise BusRefusal("malformed", f"{what} that is not written in the shortest way")
    return value


# Every entry asks for those of its chain.
@lru_cache(maxsize=4096)
def intent_id(intent: Intent) -> bytes:
    return blake2b(_signed_part(intent, _INTENT_DOMAIN), digest_size=ID_BYTES).digest()


def _signed_part(value: Intent | Revocation, domain: bytes) -> bytes:
    """The bytes that the issuer signed: the array without its last element, behind a line that says what it is."""
    raw = _ENCODER.encode(value)
    return b"".join((domain, bytes((raw[0] - 1,)), memoryview(raw)[1 : -SIGNATURE_BYTES - 2]))


def sign_intent(  # noqa: PLR0913 - what a grant says
    key: SigningKey,
    holder: bytes,
    *,
    actions: Iterable[str],
    namespaces: Iterable[str],
    not_before: int,
    expires: int,
    scopes: Iterable[str] = SCOPES,
    caps: Mapping[str, int] | None = None,
    period: int = 0,
    delegable: bool = False,
    parent: bytes = b"",
    nonce: bytes = b"",
) -> Intent:
    """A grant of this key's holder to another. Raises `BusRefusal` for what nobody would take."""
    values = (
        INTENT_VERSION,
        key.public,
        holder,
        tuple(sorted(set(actions))),
        tuple(sorted(set(namespaces))),
        tuple(sorted(set(scopes))),
        dict(caps or {}),
        period,
        not_before,
        expires,
        delegable,
        parent,
        nonce or os.urandom(_NONCE_BYTES),
        bytes(SIGNATURE_BYTES),
    )
    draft = decode_intent(_ENCODER.encode(values))
    return msgspec.structs.replace(draft, signature=key.sign(_signed_part(draft, _INTENT_DOMAIN)))


def verify_intent(intent: Intent) -> None:
    if not is_signed(_signed_part(intent, _INTENT_DOMAIN), intent.signature, intent.issuer):
        raise BusRefusal("signature", "a grant", about=intent_id(intent))


def sign_revocation(key: SigningKey, *, at: int, intent: bytes = b"", holder: bytes = b"") -> Revocation:
    """The end of one grant by its id, or of all grants of a holder that this key's holder stands above."""
    if bool(intent) == bool(holder):
        raise InvalidInput("Revoke either a grant or a holder.")
    what = "intent" if intent else "holder"
    values = (INTENT_VERSION, key.public, at, what, intent or holder, bytes(SIGNATURE_BYTES))
    draft = decode_revocation(_ENCODER.encode(values))
    return msgspec.structs.replace(draft, signature=key.sign(_signed_part(draft, _REVOCATION_DOMAIN)))


def verify_revocation(revocation: Revocation) -> None:
    if not is_signed(_signed_part(revocation, _REVOCATION_DOMAIN), revocation.signature, revocation.issuer):
        raise BusRefusal("signature", "a revocation", about=revocation.target)


def is_pattern(pattern: str) -> bool:
    """True if this is `*`, a namespace, or the beginning of some with `/*` behind it."""
    return pattern == EVERY or is_namespace(pattern)


def covers(pattern: str, namespace: str) -> bool:
    """True if a namespace, or all that another pattern names, lies within a pattern."""
    if pattern == EVERY:
        return True
    return namespace.startswith(pattern[:-1]) if pattern.endswith("/*") else namespace == pattern


def narrow(parent: Intent, child: Intent) -> None:
    """Raise unless the child was derived from the parent by its holder and gives nothing more than it, in anything."""
    id_ = intent_id(child)
    if child.parent != intent_id(parent) or child.issuer != parent.holder:
        raise BusRefusal("widened", "it is not derived from this one by its holder", about=id_)
    if not parent.delegable:
        raise BusRefusal("widened", "that one may not be passed on", about=id_)
    # A shorter period gives the same again more often; none at all is the longest.
    shorter = (child.period or MAX_NUMBER) < (parent.period or MAX_NUMBER)
    wider = {
        "actions": not set(child.actions) <= set(parent.actions),
        "namespaces": not all(any(covers(wide, name) for wide in parent.namespaces) for name in child.namespaces),
        "scopes": not set(child.scopes) <= set(parent.scopes),
        "caps": any(child.caps.get(what, MAX_NUMBER + 1) > cap for what, cap in parent.caps.items()),
        "period": bool(parent.caps) and shorter,
        "life": child.not_before < parent.not_before or child.expires > parent.expires,
    }
    if any(wider.values()):
        dimensions = ", ".join(name for name, is_wider in wider.items() if is_wider)
        raise BusRefusal("widened", f"it gives more in: {dimensions}", about=id_)


def intent_line(chain: Sequence[Intent]) -> str:
    """A grant with those that it was derived from, the one that is used first, as one word that can be pasted."""
    raw = _ENCODER.encode([encode_intent(intent) for intent in chain])
    return LINE_PREFIX + urlsafe_b64encode(raw).decode("ascii").rstrip("=")


def parse_intent_line(line: str) -> tuple[Intent, ...]:
    """The grants in a pasted word, each with a signature that holds."""
    word = "".join(line.split())
    if not word.startswith(LINE_PREFIX) or len(word) > 2 * MAX_CHAIN * MAX_INTENT_BYTES:
        raise InvalidInput(
            f"This is no grant: one begins with {LINE_PREFIX} and is printed by: reasoningbank bus grant"
        )
    try:
        parts = _LINES.decode(parse_bytes(word.removeprefix(LINE_PREFIX)))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise InvalidInput("This grant was cut or changed on its way; paste the whole line.") from None
    chain = tuple(decode_intent(part) for part in parts[: MAX_CHAIN + 1])
    if not 0 < len(chain) <= MAX_CHAIN:
        raise InvalidInput(f"This line holds no grant, or more than {MAX_CHAIN} that follow from one another.")
    for intent in chain:
        verify_intent(intent)
    for child, parent in pairwise(chain):
        narrow(parent, child)
    return chain
