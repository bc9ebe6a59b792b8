"""The UDP port on which a node is dialled: sorts datagrams to their links, and lets new ones in within bounds.

A datagram that is no QUIC, or that nobody here can decrypt, costs its header being read, and leaves nothing behind.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from qh3._hazmat import Buffer
from qh3.quic.configuration import QuicConfiguration
from qh3.quic.packet import QuicHeader, QuicPacketType, encode_quic_version_negotiation, pull_quic_header
from qh3.tls import SessionTicket

from reasoningbank_bus.quic.connection import CONNECTION_ID_BYTES, BusConnection, server_configuration
from reasoningbank_bus.quic.limits import TransportLimits
from reasoningbank_bus.quic.link import LinkOwner, PeerLink
from reasoningbank_bus.quic.retry import RetryTokens
from reasoningbank_bus.quic.tickets import GivenTickets
from reasoningbank_bus.wire.signing import SigningKey

_LONG_HEADER = 0x80
_LEAST_FIRST_BYTES = 1200


class Listener(asyncio.DatagramProtocol):
    def __init__(self, owner: LinkOwner, key: SigningKey, limits: TransportLimits) -> None:
        self._owner, self._key, self._limits = owner, key, limits
        self._configuration: QuicConfiguration = server_configuration(key, limits)
        self._links: dict[bytes, PeerLink] = {}
        """Links by each connection id that a datagram may carry."""
        self._tickets = GivenTickets()
        self._retry = RetryTokens()
        self._now = asyncio.get_running_loop().time
        self._transport: Any = None
        self.half_open: set[PeerLink] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def datagram_received(self, data: bytes | str, addr: Any) -> None:
        if isinstance(data, bytes):
            self.datagrams_received([data], addr)

    def datagrams_received(self, data: list[bytes], addr: Any) -> None:
        """Datagrams from one address, in the order in which they came."""
        link: PeerLink | None = None
        batch: list[bytes] = []
        for datagram in data:
            addressee = self._link_of(datagram)
            if addressee is None or addressee is not link:
                if link is not None:
                    link.datagrams_received(batch, addr)
                link, batch = addressee, []
            if addressee is None:
                self._begin(datagram, addr)
            else:
                batch.append(datagram)
        if link is not None:
            link.datagrams_received(batch, addr)

    def _link_of(self, datagram: bytes) -> PeerLink | None:
        if len(datagram) < 1 + CONNECTION_ID_BYTES:
            return None
        if not datagram[0] & _LONG_HEADER:
            return self._links.get(datagram[1 : 1 + CONNECTION_ID_BYTES])
        return self._links.get(datagram[6 : 6 + datagram[5]])

    def _begin(self, datagram: bytes, addr: Any) -> None:
        """Let somebody new in, if that is what this datagram asks for."""
        if len(datagram) < _LEAST_FIRST_BYTES or not datagram[0] & _LONG_HEADER:
            return
        try:
            header = pull_quic_header(Buffer(data=datagram), host_cid_length=CONNECTION_ID_BYTES)
        except ValueError:
            return
        versions = self._configuration.supported_versions
        if header.version is not None and header.version not in versions:
            self._transport.sendto(
                encode_quic_version_negotiation(header.destination_cid, header.source_cid, versions), addr
            )
        elif header.packet_type == QuicPacketType.INITIAL and len(self.half_open) < self._limits.half_open:
            first, retry_id = header.destination_cid, None
            if header.token:
                ids = self._retry.read_token(header.token, addr, self._now())
                if ids is None:
                    return
                first, retry_id = ids
            elif len(self.half_open) >= self._limits.half_open_freely:
                self._transport.sendto(self._retry.make_retry(header, addr, self._now()), addr)
                return
            self._let_in(self._make_link(first, retry_id), header, datagram, addr)

    def _make_link(self, first: bytes, retry_id: bytes | None) -> PeerLink:
        def fetch(name: bytes) -> SessionTicket | None:
            entry = self._tickets.take(name)
            if entry is None:
                return None
            ticket, link.resumed, link.hello = entry
            return ticket

        def give(ticket: SessionTicket) -> None:
            if link.resumed is not None and link.hello is not None:
                # Only whoever had the last secret can make out this one.
                self._tickets.give(ticket, link.resumed, link.hello)
            else:
                link.settled.add_done_callback(lambda _: self._bind(link, ticket))

        quic = BusConnection(
            configuration=self._configuration,
            original_destination_connection_id=first,
            retry_source_connection_id=retry_id,
            session_ticket_fetcher=fetch,
            session_ticket_handler=give,
        )
        link = PeerLink(quic, self._owner, self._key, self._limits)
        return link

    def _bind(self, link: PeerLink, ticket: SessionTicket) -> None:
        """A ticket counts once its connection's client has proved its key, and only where questions are asked."""
        if link.is_open and link.is_asking and link.peer is not None and link.hello is not None:
            self._tickets.give(ticket, link.peer, link.hello)

    def _let_in(self, link: PeerLink, header: QuicHeader, datagram: bytes, addr: Any) -> None:
        link.connection_made(self._transport)
        link.follow_ids(partial(self._add, link), self._forget, partial(self._forget_link, link))
        link.address = addr
        self._links[header.destination_cid] = self._links[link.quic.host_cid] = link
        link.datagram_received(datagram, addr)
        if not link.quic.is_heard:
            self._forget_link(link)
            link.forget()
        elif not link.settled.done():
            self.half_open.add(link)
            link.settled.add_done_callback(lambda _: self.half_open.discard(link))

    def _add(self, link: PeerLink, name: bytes) -> None:
        self._links[name] = link

    def _forget(self, name: bytes) -> None:
        self._links.pop(name, None)

    def _forget_link(self, link: PeerLink) -> None:
        for name in [name for name, other in self._links.items() if other is link]:
            del self._links[name]
