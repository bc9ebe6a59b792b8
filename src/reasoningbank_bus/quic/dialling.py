"""Dialling a peer: a socket of its own, a deadline on all of it, and one sentence for each way in which it fails."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

from qh3.asyncio._transport import create_optimized_datagram_transport
from qh3.tls import SessionTicket

from reasoningbank_bus.addresses import address_text
from reasoningbank_bus.authority.keys import fingerprint
from reasoningbank_bus.quic.connection import PEERS, BusConnection, client_configuration
from reasoningbank_bus.quic.limits import TransportLimits
from reasoningbank_bus.quic.link import REFUSED_PORT, LinkOwner, PeerLink
from reasoningbank_bus.quic.problems import PeerMistaken, PeerUnreachable
from reasoningbank_bus.wire.signing import SigningKey

_SOCKET_BUFFER_BYTES = 4 * 1024 * 1024


def open_socket(family: int, *, local: Any = None, remote: Any = None) -> socket.socket:
    """A UDP socket with room for a burst."""
    sock = socket.socket(family, socket.SOCK_DGRAM)
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        sock.setsockopt(socket.SOL_SOCKET, option, _SOCKET_BUFFER_BYTES)
    try:
        if local is not None:
            sock.bind(local)
        if remote is not None:
            sock.connect(remote)
    except OSError:
        sock.close()
        raise
    return sock


async def begin_link(
    address: tuple[str, int],
    owner: LinkOwner,
    key: SigningKey,
    limits: TransportLimits,
    *,
    peer_key: bytes | None = None,
    alpn: str = PEERS,
    ticket: SessionTicket | None = None,
    on_ticket: Callable[[SessionTicket], None] | None = None,
) -> PeerLink:
    """Send the first datagram to an address. The link is not open yet."""
    loop = asyncio.get_running_loop()
    host, port = address
    try:
        family, where = await _resolve(host, port, limits.handshake_seconds)
        sock = open_socket(family, remote=where)
    except TimeoutError:
        raise PeerUnreachable(
            f"The name {host} was not resolved within {limits.handshake_seconds:g} seconds."
        ) from None
    except OSError as error:
        raise PeerUnreachable(f"{address_text(host, port)} cannot be reached: {error.strerror or error}.") from None
    quic = BusConnection(configuration=client_configuration(alpn, limits, ticket), session_ticket_handler=on_ticket)
    _, link = await create_optimized_datagram_transport(
        loop, lambda: PeerLink(quic, owner, key, limits, peer_key=peer_key), sock=sock
    )
    assert isinstance(link, PeerLink)
    link.address, link.dialled_as = where, address_text(host, port)
    link.follow_ids(lambda _: None, lambda _: None, link.close_socket)
    link.connect(where)
    return link


async def _resolve(host: str, port: int, seconds: float) -> tuple[int, Any]:
    try:
        # An address in figures asks nobody, and need not wait for a thread.
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        addresses = await asyncio.wait_for(
            asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_DGRAM), timeout=seconds
        )
    return addresses[0][0], addresses[0][4]


async def wait_open(link: PeerLink) -> None:
    """Wait until it is known who answers; raises with one sentence if it is not whom we want, or nobody."""
    try:
        await asyncio.wait_for(asyncio.shield(link.settled), timeout=link.limits.handshake_seconds)
    except TimeoutError:
        link.end("nobody answered in time")
    if not link.is_open:
        link.forget()
        await asyncio.sleep(0)
        if link.peer is not None:
            raise PeerMistaken(_mistake(link, link.dialled_as))
        raise PeerUnreachable(_fault(link, link.dialled_as))


def _mistake(link: PeerLink, where: str) -> str:
    assert link.peer is not None
    if link.expected is None or link.peer == link.key.public:
        return f"{where} is this node itself."
    return (
        f"{where} answers with the key {fingerprint(link.peer)}, not with {fingerprint(link.expected)}: it is "
        "another node, or somebody stands in between. Nothing was sent to it."
    )


def _fault(link: PeerLink, where: str) -> str:
    if link.reason == REFUSED_PORT:
        return f"Nothing listens at {where}."
    if "ALPN" in link.reason:
        ours = ", ".join(link.quic.configuration.alpn_protocols or ())
        return f"{where} speaks QUIC, but not {ours}: it is another program, or another version."
    if link.quic.is_heard:
        return f"{where} speaks QUIC, but broke off: {link.reason or 'without a word'}."
    if link.datagrams:
        return f"{where} answers, but not in QUIC: something else listens there."
    return f"Nobody answers at {where} within {link.limits.handshake_seconds:g} seconds."


async def move_link(link: PeerLink) -> None:
    """Go on from another port, as after a change of networks: the peer knows the connection by its id."""
    family = socket.AF_INET6 if ":" in link.address[0] else socket.AF_INET
    try:
        sock = open_socket(family, remote=link.address)
    except OSError:
        return
    if not link.quic.move():
        sock.close()
        return
    old = link.socket
    try:
        await create_optimized_datagram_transport(asyncio.get_running_loop(), lambda: link, sock=sock)
    finally:
        # Also where the node stops meanwhile. What it had not sent yet is sent again.
        if old is not None:
            old.abort()
    if link.is_ended:
        link.close_socket()
    else:
        link.probe()
