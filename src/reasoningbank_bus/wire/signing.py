"""Ed25519 keys that sign and verify messages of the bus, at libsodium's own speed.

All in memory; where a key is kept is the business of `authority.keys`. Of PyNaCl the bindings are used: its classes
cost as much again as verifying does.
"""

from __future__ import annotations

import os

from nacl.bindings import crypto_sign, crypto_sign_open, crypto_sign_seed_keypair
from nacl.exceptions import BadSignatureError

SEED_BYTES = 32
KEY_BYTES = 32
SIGNATURE_BYTES = 64


class SigningKey:
    """The private half of an Ed25519 key pair, which neither `repr` nor an error shows."""

    __slots__ = ("_secret", "public", "seed")

    def __init__(self, seed: bytes) -> None:
        self.seed = seed
        self.public: bytes
        self.public, self._secret = crypto_sign_seed_keypair(seed)

    @classmethod
    def generate(cls) -> SigningKey:
        return cls(os.urandom(SEED_BYTES))

    def sign(self, message: bytes) -> bytes:
        return crypto_sign(message, self._secret)[:SIGNATURE_BYTES]

    def __repr__(self) -> str:
        return f"SigningKey(public={self.public.hex()})"

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("A private key is not written down by pickling.")


def is_signed(message: bytes, signature: bytes, public: bytes) -> bool:
    """True if the holder of the public key's other half signed exactly these bytes."""
    # The bindings do not look at lengths, and would read beyond the end.
    if len(signature) != SIGNATURE_BYTES or len(public) != KEY_BYTES:
        return False
    try:
        crypto_sign_open(signature + message, public)
    except BadSignatureError:
        return False
    return True
