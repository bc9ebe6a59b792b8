"""What the transport costs beside bare qh3: 0-RTT to the first answer, a hundred streams with one stalled, bulk."""

from __future__ import annotations

import asyncio
import json
import socket
import statistics
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from qh3._hazmat import Certificate, Ed25519PrivateKey
from qh3.asyncio import QuicConnectionProtocol, connect
from qh3.asyncio._transport import create_optimized_datagram_transport
from qh3.asyncio.server import QuicServer
from qh3.quic import events
from qh3.quic.configuration import QuicConfiguration
from qh3.quic.connection import QuicConnection
from qh3.tls import SessionTicket

from bench.report import Report
from reasoningbank_bus.node.effects import Effect, Send
from reasoningbank_bus.quic.asking import ask_once
from reasoningbank_bus.quic.certificate import make_certificate, make_private_key
from reasoningbank_bus.quic.channel import OPENING_FRAME
from reasoningbank_bus.quic.connection import client_configuration
from reasoningbank_bus.quic.dialling import open_socket
from reasoningbank_bus.quic.endpoint import BusEndpoint
from reasoningbank_bus.quic.limits import TransportLimits
from reasoningbank_bus.quic.link import PeerLink
from reasoningbank_bus.quic.tickets import KeptTickets
from reasoningbank_bus.wire.frame import CONTROL, Ask, Hello, Hits, decode_frame, encode_frame
from reasoningbank_bus.wire.signing import SigningKey
from reasoningbank_bus.wire.stream import with_length

BARE = "bare/1"
MOST_MS_BEYOND = 1.0
LEAST_SHARE = 0.7
STREAMS = 100
MOST_SLOWER = 1.25
"""With one stream stalled, against none; two equal halves of a run differ by up to this on a busy machine."""
FIRST_CHANNEL = 4
FRAME_BYTES = 256 * 1024 - 64
WAIT_SECONDS = 120.0


def measure_transport(report: Report, small: bool) -> None:
    asyncio.run(_measure_early(report, 15 if small else 200))
    asyncio.run(_measure_streams(report, 6 if small else 60))
    asyncio.run(_measure_bulk(report, 16 if small else 128, 3 if small else 5))


class _Echo:
    """A node that answers questions at once and counts what it is given."""

    def __init__(self, key: SigningKey) -> None:
        self.key = key
        self.bytes = 0
        self.answers: dict[int, float] = {}
        self.progress = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def connected(self, peer: bytes, now: float, *, address: str = "") -> list[Effect]:
        del address
        return [Send(peer, CONTROL, encode_frame(Hello((1, 1), self.key.public)))]

    def tell_of_second(self, peer: bytes, now: float) -> list[Effect]:
        del peer, now
        return []

    def disconnected(self, peer: bytes, now: float) -> list[Effect]:
        return []

    def receive(self, peer: bytes, channel: int, frame: bytes, now: float) -> list[Effect]:
        self.bytes += len(frame)
        if len(frame) >= FRAME_BYTES:
            self._loop.call_soon_threadsafe(self.progress.set)
            return []
        told = decode_frame(frame)
        if isinstance(told, Ask):
            return [Send(peer, channel, encode_frame(Hits(told.request, ())), True)]
        if isinstance(told, Hits):
            self.answers[told.request] = time.perf_counter()
            self._loop.call_soon_threadsafe(self.progress.set)
        return []

    def tick(self, now: float) -> list[Effect]:
        return []

    def next_tick(self, now: float) -> float:
        return now + 3600

    async def wait(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT_SECONDS):
            while not is_so():
                self.progress.clear()
                await self.progress.wait()


@asynccontextmanager
async def _endpoint(listen: bool, limits: TransportLimits | None = None) -> AsyncIterator[tuple[BusEndpoint, _Echo]]:
    node = _Echo(SigningKey.generate())
    endpoint = BusEndpoint(on_effect=lambda _: None, limits=limits)
    await endpoint.start(("127.0.0.1", 0) if listen else None, node, node.key)
    try:
        yield endpoint, node
    finally:
        await endpoint.stop()


def _where(endpoint: BusEndpoint) -> tuple[str, int]:
    host, _, port = endpoint.address.rpartition(":")
    return host, int(port)


@asynccontextmanager
async def _linked(limits: TransportLimits | None = None) -> AsyncIterator[tuple[PeerLink, _Echo, _Echo]]:
    """The dialler's link, its node, and the other node."""
    async with _endpoint(True, limits) as (server, theirs), _endpoint(False, limits) as (client, ours):
        peer = await client.dial(_where(server), theirs.key.public)
        while peer not in client.links or not server.links:  # noqa: ASYNC110 - a moment, before anything is measured
            await asyncio.sleep(0.01)
        yield client.links[peer], ours, theirs


# ---------------------------------------------------------------- bare qh3


class _BareServer(QuicConnectionProtocol):
    def quic_event_received(self, event: events.QuicEvent) -> None:
        if isinstance(event, events.StreamDataReceived) and event.end_stream:
            self._quic.send_stream_data(event.stream_id, b"x" * 8, True)
            self._transmit_soon()


class _BareClient(QuicConnectionProtocol):
    def __init__(self, quic: Any, stream_handler: Any = None) -> None:
        super().__init__(quic, stream_handler)
        self.quic = quic
        self.answered = asyncio.get_running_loop().create_future()

    def quic_event_received(self, event: events.QuicEvent) -> None:
        if isinstance(event, events.StreamDataReceived) and not self.answered.done():
            self.answered.set_result(None)

    def leave(self) -> None:
        """Close without waiting until QUIC is sure that the end was heard."""
        self.close()
        if self._transport is not None:
            self._transport.close()


@asynccontextmanager
async def _bare_server() -> AsyncIterator[tuple[str, int]]:
    key = SigningKey.generate()
    limits = TransportLimits()
    configuration = QuicConfiguration(
        is_client=False,
        alpn_protocols=[BARE],
        certificate=Certificate(make_certificate(key)),
        private_key=Ed25519PrivateKey(make_private_key(key)),
        max_data=limits.window_bytes,
        max_stream_data=limits.window_bytes,
    )
    tickets: dict[bytes, SessionTicket] = {}
    # The same socket as ours: with the system's small buffers qh3 alone loses datagrams and is slower by far.
    sock = open_socket(socket.AF_INET, local=("127.0.0.1", 0))
    transport, _ = await create_optimized_datagram_transport(
        asyncio.get_running_loop(),
        lambda: QuicServer(
            configuration=configuration,
            create_protocol=_BareServer,
            session_ticket_fetcher=lambda name: tickets.pop(name, None),
            session_ticket_handler=lambda ticket: tickets.update({ticket.ticket: ticket}),
        ),
        sock=sock,
    )
    try:
        yield sock.getsockname()
    finally:
        transport.close()


@asynccontextmanager
async def _bare_client(address: tuple[str, int]) -> AsyncIterator[_BareClient]:
    """With the same socket as ours, again; qh3's own `connect` makes one with small buffers."""
    quic = QuicConnection(configuration=client_configuration(BARE, TransportLimits()))
    _, client = await create_optimized_datagram_transport(
        asyncio.get_running_loop(), lambda: _BareClient(quic), sock=open_socket(socket.AF_INET, remote=address)
    )
    assert isinstance(client, _BareClient)
    client.connect(address)
    await asyncio.wait_for(client.wait_connected(), WAIT_SECONDS)
    try:
        yield client
    finally:
        client.leave()


class _State(dict[str, bytes]):
    """What a log would keep, in memory: the disk is not measured here."""

    def state(self, name: str) -> bytes | None:
        return self.get(name)

    def keep_state(self, values: Mapping[str, bytes | None]) -> None:
        for name, value in values.items():
            if value is None:
                self.pop(name, None)
            else:
                self[name] = value


# ---------------------------------------------------------------- what is measured


async def _measure_early(report: Report, rounds: int) -> None:
    bare: list[float] = []
    ours: list[float] = []
    kept: list[SessionTicket] = []
    question = Ask(1, "what", "team", 3)
    key, state = SigningKey.generate(), _State()
    async with _servers() as (address, where, public):
        for number in range(rounds + 2):
            began = time.perf_counter()
            await _bare_question(address, kept, with_length(encode_frame(question)))
            bare.append(1e3 * (time.perf_counter() - began))
            await asyncio.sleep(0.01)
            began = time.perf_counter()
            await ask_once(
                where,
                public,
                question,
                key=key,
                hello=Hello((1, 1), key.public),
                tickets=KeptTickets(state),
            )
            ours.append(1e3 * (time.perf_counter() - began))
            await asyncio.sleep(0.01)
            if number == 0:
                report.add("bus", "a question over a new connection, first of all", ours[0], "ms")
    library, with_us = statistics.median(bare[2:]), statistics.median(ours[2:])
    report.add("bus", "0-RTT to the first answer, bare qh3, p50", library, "ms")
    report.add("bus", "0-RTT to the first answer, a question of the bus, p50", with_us, "ms")
    report.add(
        "bus", "0-RTT to the first answer beyond the library's own", with_us - library, "ms", limit=MOST_MS_BEYOND
    )


@asynccontextmanager
async def _servers() -> AsyncIterator[tuple[tuple[str, int], tuple[str, int], bytes]]:
    """Both servers in a process of their own, as a server is: where the bare one and ours are, and our key."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "bench.bus.transport",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        bare, ours, public = json.loads(await asyncio.wait_for(process.stdout.readline(), WAIT_SECONDS))
        yield ("127.0.0.1", bare), ("127.0.0.1", ours), bytes.fromhex(public)
    finally:
        process.stdin.close()
        await asyncio.wait_for(process.wait(), WAIT_SECONDS)


async def _serve() -> None:
    """Be those servers until nobody listens any more."""
    async with _bare_server() as address, _endpoint(True) as (server, node):
        print(json.dumps([address[1], _where(server)[1], node.key.public.hex()]), flush=True)
        await asyncio.to_thread(sys.stdin.read)


async def _bare_question(address: tuple[str, int], kept: list[SessionTicket], data: bytes) -> None:
    configuration = client_configuration(BARE, TransportLimits(), kept.pop() if kept else None)
    manager = connect(
        *address,
        configuration=configuration,
        create_protocol=_BareClient,
        session_ticket_handler=kept.append,
        wait_connected=False,
    )
    client = await manager.__aenter__()
    assert isinstance(client, _BareClient)
    client.quic.send_stream_data(0, data, True)
    client.transmit()
    await asyncio.wait_for(client.answered, WAIT_SECONDS)
    client.leave()


async def _measure_streams(report: Report, rounds: int) -> None:
    times: dict[bool, list[float]] = {False: [], True: []}
    async with _linked() as (free, ours, _), _linked() as (stalled, also_ours, _):
        _stall(stalled)
        sides = [(False, free, ours), (True, stalled, also_ours)]
        for number in range(rounds + 2):
            sides.reverse()
            for is_stalled, link, node in sides:
                took = await _ask_at_once(link, node, number)
                if number >= 2:
                    times[is_stalled] += took
    for is_stalled, what in ((False, "none stalled"), (True, "one stalled")):
        ordered = sorted(times[is_stalled])
        report.add("bus", f"{STREAMS - 5} questions at once, {what}, p50", statistics.median(ordered), "ms")
        report.add("bus", f"{STREAMS - 5} questions at once, {what}, p99", ordered[int(len(ordered) * 0.99)], "ms")
    slower = statistics.median(times[True]) / statistics.median(times[False])
    report.add(
        "bus", f"{STREAMS} streams, one stalled: the others' latency, against none", slower, "×", limit=MOST_SLOWER
    )


def _stall(link: PeerLink) -> None:
    """Begin a frame of a megabyte and leave it there."""
    link.send(FIRST_CHANNEL, OPENING_FRAME)
    link.transmit()
    stream = link.table.by_number[FIRST_CHANNEL].stream
    assert stream is not None
    link.quic.send_stream_data(stream, with_length(bytes(1024 * 1024))[:1000])
    link.transmit()


async def _ask_at_once(link: PeerLink, node: _Echo, number: int) -> list[float]:
    """With the four fixed ones and one that may be stalled, a hundred streams are open."""
    first = FIRST_CHANNEL + 1 + number * STREAMS
    requests = range(first, first + STREAMS - 5)
    began = time.perf_counter()
    for request in requests:
        link.send(request, encode_frame(Ask(request, "what", "team", 3)), last=True)
    await node.wait(lambda: all(request in node.answers for request in requests))
    await asyncio.sleep(0.02)
    return [1e3 * (node.answers[request] - began) for request in requests]


async def _measure_bulk(report: Report, mib: int, rounds: int) -> None:
    bare: list[float] = []
    ours: list[float] = []
    for _ in range(rounds):
        bare.append(await _bare_bulk(mib))
        ours.append(await _bulk(mib))
    library, with_us = statistics.median(bare), statistics.median(ours)
    report.add("bus", f"bulk, {mib} MiB, bare qh3", library, "MB/s")
    report.add("bus", f"bulk, {mib} MiB, frames of 256 KiB through the node", with_us, "MB/s")
    report.add(
        "bus",
        "bulk, as a share of qh3's own",
        with_us / library,
        "×",
        limit=LEAST_SHARE,
        at_least=True,
        detail="qh3's own server takes datagrams one by one, ours as many as lie there",
    )


async def _bare_bulk(mib: int) -> float:
    piece = bytes(256 * 1024)
    async with _bare_server() as address, _bare_client(address) as client:
        began = time.perf_counter()
        for number in range(4 * mib):
            client.quic.send_stream_data(0, piece, number == 4 * mib - 1)
            client.transmit()
            while client.quic.get_send_buffer_size() > 4 * len(piece):  # noqa: ASYNC110 - the loop sends meanwhile
                await asyncio.sleep(0)
        await asyncio.wait_for(client.answered, WAIT_SECONDS)
        return mib * 1.048576 / (time.perf_counter() - began)


async def _bulk(mib: int) -> float:
    limits = TransportLimits(bytes_per_second=1 << 40)
    frame = encode_frame(Hits(1, (bytes(FRAME_BYTES),)))
    async with _linked(limits) as (link, _, theirs):
        frames = mib * 1024 * 1024 // len(frame)
        theirs.bytes = 0
        began = time.perf_counter()
        for _ in range(frames):
            link.send(FIRST_CHANNEL, frame)
            while link.outbox_bytes > 4 * len(frame):  # noqa: ASYNC110 - the same for both
                await asyncio.sleep(0)
        await theirs.wait(lambda: theirs.bytes >= frames * len(frame))
        return frames * len(frame) / 1e6 / (time.perf_counter() - began)


if __name__ == "__main__":
    asyncio.run(_serve())
