"""Cursors of pages and of the feed: encrypted for one tenant.

The feed numbers the changes of all tenants in one sequence, so a bare number would tell one tenant how much the others
do. A cursor hides it: the same place gives the same cursor, and one that was altered or is another tenant's is refused.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b

from reasoningbank.core.errors import InvalidInput

_TAG_BYTES = 12
KEY_BYTES = 32


class Seal:
    def __init__(self, key: bytes) -> None:
        self._key = key

    def closed(self, tenant: str, purpose: str, place: bytes) -> str:
        tag = self._tag(tenant, purpose, place)
        return urlsafe_b64encode(tag + self._mask(tag, place)).decode().rstrip("=")

    def opened(self, tenant: str, purpose: str, cursor: str) -> bytes:
        try:
            raw = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        except ValueError:
            raise _unknown() from None
        tag, hidden = raw[:_TAG_BYTES], raw[_TAG_BYTES:]
        place = self._mask(tag, hidden)
        if len(hidden) > 64 or not hmac.compare_digest(tag, self._tag(tenant, purpose, place)):
            raise _unknown()
        return place

    def _tag(self, tenant: str, purpose: str, place: bytes) -> bytes:
        message = b"\0".join((tenant.encode(), purpose.encode(), place))
        return blake2b(message, key=self._key, digest_size=_TAG_BYTES, person=b"rbk-cursor-tag").digest()

    def _mask(self, tag: bytes, text: bytes) -> bytes:
        stream = blake2b(tag, key=self._key, digest_size=64, person=b"rbk-cursor-mask").digest()
        return bytes(a ^ b for a, b in zip(text, stream, strict=False))

    # ------------------------------------------------------------ numbers

    def number(self, tenant: str, purpose: str, number: int) -> str:
        return self.closed(tenant, purpose, number.to_bytes(8, "big"))

    def opened_number(self, tenant: str, purpose: str, cursor: str) -> int:
        return int.from_bytes(self.opened(tenant, purpose, cursor), "big")


def _unknown() -> InvalidInput:
    return InvalidInput("This cursor is not one of this list: begin without one.")
