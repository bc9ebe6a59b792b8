"""qh3's QUIC connection, as the bus configures it: Ed25519 only, our ALPN, and reading that can be held.

The one file that reaches behind the library's public face: to hold back what has arrived, so that flow control slows
the sender down, and to ask whether a packet was authentic, what is on its way, and whether the end has begun. All of
it has tests that fail if the library moves it.
"""

from __future__ import annotations

import logging
import ssl
from contextlib import suppress

from qh3._hazmat import Certificate, Ed25519PrivateKey
from qh3.quic.configuration import QuicConfiguration
from qh3.quic.connection import QuicConnection, QuicConnectionError
from qh3.tls import SessionTicket, SignatureAlgorithm

from reasoningbank_bus.quic.certificate import find_key, make_certificate, make_private_key
from reasoningbank_bus.quic.limits import TransportLimits
from reasoningbank_bus.wire.signing import SigningKey

PEERS = "reasoningbank-bus/1"
ASKING = "reasoningbank-bus-ask/1"
"""A connection that only asks: the node does not take it for the peer's own."""
CONNECTION_ID_BYTES = 8
_MAX_DATAGRAM_BYTES = 1280

# How a peer closed is told by us, in our words; the library would write a warning for each.
logging.getLogger("quic").setLevel(logging.ERROR)


class BusConnection(QuicConnection):
    """One QUIC connection whose arriving data can be held."""

    _is_held = False

    def hold(self) -> None:
        """Take no more from the peer. It may send until its window is full, acknowledgements go on."""
        self._is_held = True

    def release(self) -> None:
        self._is_held = False
        self._drain_core()

    def move(self) -> bool:
        """Take another connection id, so that the paths cannot be told to be one's. False if the peer gave none."""
        try:
            with suppress(QuicConnectionError):
                self.change_connection_id()
        except ValueError:
            return False
        return True

    @property
    def is_held(self) -> bool:
        return self._is_held

    @property
    def is_heard(self) -> bool:
        """True if at least one packet was decrypted, so that there is somebody who speaks QUIC."""
        return self._core is not None and bool(self._core.received_authenticated_packet)

    @property
    def last_words(self) -> str | None:
        """Why either side closed; None as long as neither did."""
        return None if self._close_event is None else self._close_event.reason_phrase

    @property
    def is_flushed(self) -> bool:
        """True if the peer has acknowledged all that was sent."""
        return self._core is None or (self.get_send_buffer_size() == 0 and self._core.bytes_in_flight == 0)

    @property
    def server_key(self) -> bytes | None:
        """The key that the server proved in this handshake; None if it resumed an earlier one, or has another kind."""
        certificate = self.get_peercert()
        return None if certificate is None else find_key(certificate.public_key())

    def _drain_core(self) -> None:
        if not (self._is_held and self._handshake_complete):
            super()._drain_core()


def server_configuration(key: SigningKey, limits: TransportLimits) -> QuicConfiguration:
    return QuicConfiguration(
        is_client=False,
        alpn_protocols=[PEERS, ASKING],
        connection_id_length=CONNECTION_ID_BYTES,
        certificate=Certificate(make_certificate(key)),
        private_key=Ed25519PrivateKey(make_private_key(key)),
        idle_timeout=limits.idle_seconds,
        max_data=limits.window_bytes,
        max_stream_data=limits.window_bytes,
        max_datagram_size=_MAX_DATAGRAM_BYTES,
    )


def client_configuration(alpn: str, limits: TransportLimits, ticket: SessionTicket | None = None) -> QuicConfiguration:
    return QuicConfiguration(
        is_client=True,
        alpn_protocols=[alpn],
        connection_id_length=CONNECTION_ID_BYTES,
        signature_algorithms=[SignatureAlgorithm.ED25519],
        # There is no authority to ask: the key in the certificate is compared with the one expected.
        verify_mode=ssl.CERT_NONE,
        session_ticket=ticket,
        idle_timeout=limits.idle_seconds,
        max_data=limits.window_bytes,
        max_stream_data=limits.window_bytes,
        max_datagram_size=_MAX_DATAGRAM_BYTES,
    )
