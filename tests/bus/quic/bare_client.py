"""A client that speaks QUIC but not our manners: it sends what a test tells it to, and remembers what comes."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from qh3.asyncio import QuicConnectionProtocol, connect
from qh3.quic import events
from qh3.quic.connection import QuicConnectionError
from qh3.tls import SessionTicket

from reasoningbank_bus.quic.connection import PEERS, client_configuration
from reasoningbank_bus.quic.link import NONCE_STREAM
from reasoningbank_bus.quic.proof import with_proof
from reasoningbank_bus.wire.frame import Hello, encode_frame
from reasoningbank_bus.wire.signing import SigningKey
from reasoningbank_bus.wire.stream import with_length
from tests.bus.quic.small_node import PATIENT


class BareClient(QuicConnectionProtocol):
    def __init__(self, quic: Any, stream_handler: Any = None) -> None:
        super().__init__(quic, stream_handler)
        self.data: dict[int, bytes] = defaultdict(bytes)
        self.closed: events.ConnectionTerminated | None = None

    def quic_event_received(self, event: events.QuicEvent) -> None:
        if isinstance(event, events.StreamDataReceived):
            self.data[event.stream_id] += event.data
        elif isinstance(event, events.ConnectionTerminated):
            self.closed = event

    @property
    def nonce(self) -> bytes:
        return self.data[NONCE_STREAM]

    def write(self, stream: int, data: bytes, end: bool = False) -> None:
        with contextlib.suppress(QuicConnectionError):  # it may have been closed meanwhile
            self._quic.send_stream_data(stream, data, end)
        self.transmit()

    def greet(self, key: SigningKey, server: bytes) -> None:
        hello = encode_frame(Hello((1, 1), key.public))
        self.write(0, with_length(with_proof(hello, key=key, server=server, nonce=self.nonce)))


@asynccontextmanager
async def bare_client(
    where: tuple[str, int],
    *,
    alpn: str = PEERS,
    ticket: SessionTicket | None = None,
    tickets: list[SessionTicket] | None = None,
    wait: bool = True,
) -> AsyncIterator[BareClient]:
    configuration = client_configuration(alpn, PATIENT, ticket)
    keep = tickets.append if tickets is not None else None
    async with connect(
        *where,
        configuration=configuration,
        create_protocol=BareClient,
        session_ticket_handler=keep,
        wait_connected=wait,
    ) as client:
        assert isinstance(client, BareClient)
        yield client


async def wait_for_nonce(client: BareClient) -> None:
    for _ in range(2_000):
        if len(client.nonce) == 32:
            return
        await asyncio.sleep(0.005)
    raise AssertionError("no nonce came")
