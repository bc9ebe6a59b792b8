"""How a client proves its key: a signature over the server's key, its own, and a nonce of the server's, in its Hello.

The server's key is under the signature, so a proof that was made for one server is worth nothing at another that it
is relayed to; the nonce is fresh in every connection, so a proof cannot be kept for later.
"""

from __future__ import annotations

import msgspec

from reasoningbank_bus.wire.frame import Hello, decode_frame, encode_frame
from reasoningbank_bus.wire.refusals import BusRefusal
from reasoningbank_bus.wire.signing import SigningKey, is_signed

NONCE_BYTES = 32
_DOMAIN = b"reasoningbank bus client 1\0"


def with_proof(frame: bytes, *, key: SigningKey, server: bytes, nonce: bytes) -> bytes:
    """A client's first frame, which is its Hello, with the proof in it."""
    hello = decode_frame(frame)
    assert isinstance(hello, Hello), "the first frame of either side is its Hello"
    proof = key.sign(_DOMAIN + server + key.public + nonce)
    return encode_frame(msgspec.structs.replace(hello, key=key.public, auth=proof))


def check_proof(frame: bytes, *, server: bytes, nonce: bytes, ticket_key: bytes | None = None) -> bytes:
    """The key that a client's first frame proves; raises if it proves none, or another than it resumed."""
    hello = decode_frame(frame)
    if not isinstance(hello, Hello):
        raise BusRefusal("not_authenticated", "the first frame is no Hello")
    if hello.key == server:
        raise BusRefusal("not_authenticated", "it claims the key of this side")
    if not is_signed(_DOMAIN + server + hello.key + nonce, hello.auth, hello.key):
        raise BusRefusal("not_authenticated", "the proof is not of this key for this connection")
    if ticket_key not in (None, hello.key):
        raise BusRefusal("not_authenticated", "the connection that was resumed was another key's")
    return hello.key
