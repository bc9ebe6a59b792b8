"""The self-signed X.509 certificate of a node's Ed25519 key, made in memory, and the key in the certificate of
another.

TLS wants a certificate; the bus only wants to know the key in it. So everything else in it is constant: name, number
and years say nothing. The few lines of DER that this takes are written here; nothing is written to disk.
"""

from __future__ import annotations

from reasoningbank_bus.wire.signing import KEY_BYTES, SigningKey

_INTEGER, _BITS, _OCTETS, _UTF8, _TIME, _SEQUENCE, _SET = 0x02, 0x03, 0x04, 0x0C, 0x18, 0x30, 0x31
_VERSION = 0xA0
_OID_ED25519 = bytes.fromhex("06032b6570")
_OID_COMMON_NAME = bytes.fromhex("0603550403")
_SHORT_LENGTH = 0x80
_WHOLE_BYTES = b"\0"
"""First byte of a bit string: no bits of its last byte are unused."""


def _der(tag: int, *parts: bytes) -> bytes:
    contents = b"".join(parts)
    length = len(contents)
    if length < _SHORT_LENGTH:
        return bytes((tag, length)) + contents
    digits = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes((tag, _SHORT_LENGTH | len(digits))) + digits + contents


_ED25519 = _der(_SEQUENCE, _OID_ED25519)
_NAME = _der(_SEQUENCE, _der(_SET, _der(_SEQUENCE, _OID_COMMON_NAME, _der(_UTF8, b"reasoningbank bus"))))
_ALWAYS = _der(_SEQUENCE, _der(_TIME, b"20200101000000Z"), _der(_TIME, b"99991231235959Z"))
"""RFC 5280's own word for "does not expire": a key is taken back by revoking it, not by a date."""
_KEY_HEAD = bytes.fromhex("302a300506032b6570032100")


def make_certificate(key: SigningKey) -> bytes:
    """The certificate, in DER, that says: this is my key."""
    contents = _der(
        _SEQUENCE,
        _der(_VERSION, _der(_INTEGER, b"\x02")),
        _der(_INTEGER, b"\x01"),
        _ED25519,
        _NAME,
        _ALWAYS,
        _NAME,
        _KEY_HEAD + key.public,
    )
    return _der(_SEQUENCE, contents, _ED25519, _der(_BITS, _WHOLE_BYTES, key.sign(contents)))


def make_private_key(key: SigningKey) -> bytes:
    """The private half in the form that TLS libraries read (PKCS #8, in DER)."""
    return _der(_SEQUENCE, _der(_INTEGER, b"\x00"), _ED25519, _der(_OCTETS, _der(_OCTETS, key.seed)))


def find_key(public_key_info: bytes) -> bytes | None:
    """The Ed25519 key in a certificate's public key info; None if it holds a key of another kind."""
    head, key = public_key_info[:-KEY_BYTES], public_key_info[-KEY_BYTES:]
    return key if head == _KEY_HEAD else None
