"""Another program that speaks the protocol, written from docs/bus.md alone: own msgpack, own hashes, other signatures.

It imports nothing of the package, so that agreement with it says something.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

ENTRY = b"reasoningbank bus entry 1\0"
INTENT = b"reasoningbank bus intent 1\0"
REVOCATION = b"reasoningbank bus revocation 1\0"
FRAMES = [
    *("Hello", "Refusal", "Bye", "Ping", "Ack", "PingFor", "Digest", "Ranges", "Want", "EntryBatch", "Have"),
    *("Ask", "Hits", "Offer"),
]
"""Numbered from 1 on."""


def pack(value: Any) -> bytes:
    """msgpack, everything in its shortest form; maps sorted by key."""
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        if value < 128:
            return bytes([value])
        width = next(width for width in (1, 2, 4, 8) if value < 256**width)
        return bytes([{1: 0xCC, 2: 0xCD, 4: 0xCE, 8: 0xCF}[width]]) + value.to_bytes(width, "big")
    if isinstance(value, str):
        raw = value.encode()
        return (bytes([0xA0 | len(raw)]) if len(raw) < 32 else _head(len(raw), 0xD9, 0xDA, 0xDB)) + raw
    if isinstance(value, bytes):
        return _head(len(value), 0xC4, 0xC5, 0xC6) + value
    if isinstance(value, dict):
        assert len(value) < 16
        return bytes([0x80 | len(value)]) + b"".join(pack(key) + pack(value[key]) for key in sorted(value))
    head = bytes([0x90 | len(value)]) if len(value) < 16 else _head(len(value), 0, 0xDC, 0xDD)
    return head + b"".join(pack(part) for part in value)


def _head(length: int, one: int, two: int, four: int) -> bytes:
    if one and length < 256:
        return bytes([one, length])
    if length < 65536:
        return bytes([two]) + length.to_bytes(2, "big")
    return bytes([four]) + length.to_bytes(4, "big")


def in_order(fields: Any) -> Any:
    """A vector's fields as nested lists, in their order; maps stay maps where the protocol has one."""
    if isinstance(fields, dict):
        return [value if name == "caps" else in_order(value) for name, value in fields.items()]
    if isinstance(fields, list):
        return [in_order(part) for part in fields]
    return bytes.fromhex(fields[2:]) if isinstance(fields, str) and fields.startswith("0x") else fields


def signed_part(domain: bytes, fields: Any) -> bytes:
    return domain + pack(in_order(fields)[:-1])


def hash_of(raw: bytes, size: int = 32) -> bytes:
    return hashlib.blake2b(raw, digest_size=size).digest()


def public_of(seed: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def sign(seed: bytes, raw: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(seed).sign(raw)


def is_signed(public: bytes, signature: bytes, raw: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, raw)
    except InvalidSignature:
        return False
    return True


def fingerprint(public: bytes) -> str:
    letters = base64.b32encode(hash_of(b"reasoningbank bus key\0" + public, 10)).decode().lower()
    return f"rb1-{letters[:4]}-{letters[4:8]}-{letters[8:12]}-{letters[12:]}"


def text(prefix: str, raw: bytes) -> str:
    return prefix + base64.urlsafe_b64encode(raw).decode().rstrip("=")
