"""QUIC's Retry: a token that a client must bring back, which shows that its address is its own. Nothing is kept."""

from __future__ import annotations

import hmac
import os
from typing import Any

from qh3.quic.packet import QuicHeader, encode_quic_retry

from reasoningbank_bus.quic.connection import CONNECTION_ID_BYTES

_VALID_SECONDS = 10
_MAC_BYTES = 16


class RetryTokens:
    def __init__(self) -> None:
        self._secret = os.urandom(32)

    def make_retry(self, header: QuicHeader, address: Any, now: float) -> bytes:
        """The datagram that asks a client to come again."""
        source = os.urandom(CONNECTION_ID_BYTES)
        payload = int(now).to_bytes(8, "big") + source + header.destination_cid
        return encode_quic_retry(
            version=header.version or 0,
            source_cid=source,
            destination_cid=header.source_cid,
            original_destination_cid=header.destination_cid,
            retry_token=self._mac(payload, address) + payload,
        )

    def read_token(self, token: bytes, address: Any, now: float) -> tuple[bytes, bytes] | None:
        """The connection ids that a token stands for: the client's first, and the one that we named. None if it is no
        token of ours for this address.
        """
        mac, payload = token[:_MAC_BYTES], token[_MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac(payload, address)):
            return None
        if now - int.from_bytes(payload[:8], "big") > _VALID_SECONDS:
            return None
        ids = payload[8:]
        return ids[CONNECTION_ID_BYTES:], ids[:CONNECTION_ID_BYTES]

    def _mac(self, payload: bytes, address: Any) -> bytes:
        return hmac.digest(self._secret, repr(address[:2]).encode() + payload, "sha256")[:_MAC_BYTES]
