"""Bad ones: garbage, floods, slow streams, ten thousand streams, a peer that is killed. The others do not notice."""

from __future__ import annotations

import asyncio
import random
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from reasoningbank_bus.quic.connection import BusConnection, client_configuration
from reasoningbank_bus.quic.limits import TransportLimits
from reasoningbank_bus.wire.frame import Ask, EntryBatch, Hello, Hits, encode_frame
from reasoningbank_bus.wire.signing import SigningKey
from reasoningbank_bus.wire.stream import with_length
from tests.bus.quic.bare_client import BareClient, bare_client, wait_for_nonce
from tests.bus.quic.small_node import PATIENT, Side, running, until

GARBAGE = 100_000
BURST = 250


@asynccontextmanager
async def known_client(side: Side) -> AsyncIterator[BareClient]:
    """A client that has proved its key, and does what it likes then."""
    async with bare_client(side.where) as client:
        await wait_for_nonce(client)
        key = SigningKey.generate()
        client.greet(key, side.public)
        await until(lambda: key.public in side.node.connections, "it was known")
        yield client


async def is_answered(dialler: Side, server: Side, request: int) -> None:
    dialler.send(server, 1000 + request, Ask(request, "what", "team", 3), last=True)
    await until(
        lambda: any(isinstance(told, Hits) and told.request == request for _, _, told in dialler.node.frames),
        "the honest one was answered",
    )


def garbage(rng: random.Random, number: int) -> bytes:
    """A datagram of noise, of a cut packet, or of what begins like a packet of QUIC."""
    if number % 3 == 0:
        return rng.randbytes(rng.choice((1, 8, 21, 60, 400)))
    if number % 3 == 1 or number % 60:
        return bytes([0x40 | rng.getrandbits(6)]) + rng.randbytes(rng.choice((8, 30, 200)))
    version = b"\0\0\0\1" if number % 120 else rng.randbytes(4)
    ids = b"\x08" + rng.randbytes(8) + b"\x08" + rng.randbytes(8)
    return bytes([0xC0 | rng.getrandbits(4)]) + version + ids + b"\0\x44\x9e" + rng.randbytes(1182)


def test_a_hundred_thousand_datagrams_of_garbage_leave_nothing_behind() -> None:
    async def scene() -> None:
        rng = random.Random(19)
        async with running() as one, running(listen=False) as honest:
            await honest.endpoint.dial(one.where, one.public)
            listener = one.endpoint._listener
            assert listener is not None
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                for number in range(GARBAGE):
                    sock.sendto(garbage(rng, number), one.where)
                    if number % BURST == 0:
                        await asyncio.sleep(0)
            await is_answered(honest, one, 1)
            assert not listener.half_open
            assert set(listener._links.values()) == {one.endpoint.links[honest.public]}
            assert one.node.connections == [honest.public]

    asyncio.run(scene())


def test_a_flood_of_begun_handshakes_is_bounded_and_does_not_shut_the_honest_out() -> None:
    async def scene() -> None:
        limits = replace(PATIENT, half_open=64, half_open_freely=8)
        async with running(limits=limits) as one, running(listen=False) as honest:
            listener = one.endpoint._listener
            assert listener is not None
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                for _ in range(200):
                    quic = BusConnection(configuration=client_configuration("reasoningbank-bus/1", limits))
                    quic.connect(one.where, 0.0)
                    for datagram, _ in quic.datagrams_to_send(0.0):
                        sock.sendto(datagram, one.where)
                    await asyncio.sleep(0)
                await until(lambda: listener.half_open, "some were begun")
                # Beyond the first few a client must come back with the token that was sent to its address.
                assert len(listener.half_open) <= limits.half_open_freely
                await honest.endpoint.dial(one.where, one.public)
                await is_answered(honest, one, 1)

    asyncio.run(scene())


def test_a_handshake_that_is_begun_and_left_is_forgotten() -> None:
    async def scene() -> None:
        limits = TransportLimits(handshake_seconds=0.5)
        async with running(limits=limits) as one:
            listener = one.endpoint._listener
            assert listener is not None
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                quic = BusConnection(configuration=client_configuration("reasoningbank-bus/1", limits))
                quic.connect(one.where, 0.0)
                for datagram, _ in quic.datagrams_to_send(0.0):
                    sock.sendto(datagram, one.where)
                await until(lambda: listener.half_open, "it was begun")
                await until(lambda: not listener.half_open, "it was forgotten")

    asyncio.run(scene())


def test_a_peer_that_opens_streams_without_end_is_slowed_and_keeps_nobody_from_an_answer() -> None:
    async def scene() -> None:
        limits = replace(PATIENT, streams_per_second=100)
        async with running(limits=limits) as one, running(listen=False) as honest:
            await honest.endpoint.dial(one.where, one.public)
            async with known_client(one) as client:
                opened, began = 0, asyncio.get_running_loop().time()

                async def open_streams() -> None:
                    nonlocal opened
                    while client.closed is None and opened < 10_000:
                        if client._quic.max_concurrent_bidi_streams > 4 + opened:
                            frame = encode_frame(Ask(opened, "what", "team", 3))
                            client.write(16 + 4 * opened, with_length(frame), end=True)
                            opened += 1
                        await asyncio.sleep(0)

                flood = asyncio.create_task(open_streams())
                await until(lambda: opened > 2 * limits.streams_at_once, "more came than is taken in a second")
                await is_answered(honest, one, 1)
                flood.cancel()
                await asyncio.gather(flood, return_exceptions=True)
                seconds = asyncio.get_running_loop().time() - began
                assert opened <= limits.streams_per_second * (seconds + 1) + 2 * limits.streams_at_once
                assert client.closed is None

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\xff\xff\xff\xff", "too_long"),
        (b"\0\0\0\0", "malformed"),
        (with_length(b"\x90")[:-1], "over_limit"),
        (with_length(encode_frame(Ask(1, "what", "team", 3)))[:9], "over_limit"),
    ],
    ids=["four gigabytes announced", "an empty frame", "a frame never ended", "a frame left in the middle"],
)
def test_a_stream_that_is_no_frame_or_never_becomes_one_ends_its_link(data: bytes, code: str) -> None:
    async def scene() -> None:
        async with running(limits=replace(PATIENT, frame_seconds=0.5)) as one, known_client(one) as client:
            client.write(16, data)
            await until(lambda: client.closed, "it was closed")
            assert client.closed is not None
            assert client.closed.reason_phrase.startswith(f"{code}: ")

    asyncio.run(scene())


def test_slow_streams_that_drip_do_not_live_longer_for_it() -> None:
    async def scene() -> None:
        async with running(limits=replace(PATIENT, frame_seconds=0.5)) as one, running(listen=False) as honest:
            await honest.endpoint.dial(one.where, one.public)
            async with known_client(one) as client:
                piece = with_length(bytes(60_000))
                for stream in range(16, 16 + 4 * 50, 4):
                    client.write(stream, piece[:4])
                at = 4
                while client.closed is None and at < len(piece):
                    for stream in range(16, 16 + 4 * 50, 4):
                        client.write(stream, piece[at : at + 1])
                    at += 1
                    await asyncio.sleep(0.02)
                assert client.closed is not None
                assert client.closed.reason_phrase.startswith("over_limit: ")
            await is_answered(honest, one, 1)

    asyncio.run(scene())


def test_frames_that_are_begun_on_many_streams_take_bounded_memory() -> None:
    async def scene() -> None:
        limits = replace(PATIENT, partial_bytes=1024 * 1024)
        async with running(limits=limits) as one, known_client(one) as client:
            for stream in range(16, 16 + 4 * 40, 4):
                client.write(stream, with_length(bytes(200_000))[:100_000])
            await until(lambda: client.closed, "it was closed")
            assert client.closed is not None
            assert client.closed.reason_phrase.startswith("over_limit: ")

    asyncio.run(scene())


def test_whoever_sends_much_before_its_proof_is_closed() -> None:
    async def scene() -> None:
        async with running() as one, bare_client(one.where) as client:
            for stream in range(16, 16 + 4 * 20, 4):
                client.write(stream, with_length(encode_frame(EntryBatch((bytes(50_000),)))))
            await until(lambda: client.closed, "it was closed")
            assert client.closed is not None
            assert client.closed.reason_phrase.startswith("not_authenticated: ")
            assert not one.node.frames

    asyncio.run(scene())


def test_a_stream_that_is_reset_ends_and_no_other() -> None:
    async def scene() -> None:
        async with running() as one, known_client(one) as client:
            client.write(16, with_length(encode_frame(EntryBatch((bytes(5_000),))))[:1000])
            client._quic.reset_stream(16, 0)
            client.write(20, with_length(encode_frame(Ask(1, "what", "team", 3))), end=True)
            await until(lambda: client.data[20], "the other was answered")
            assert not one.node.partings

    asyncio.run(scene())


PEER = """
import asyncio, sys
from reasoningbank_bus.node.effects import Send
from reasoningbank_bus.wire.frame import EntryBatch, Hello, encode_frame
from reasoningbank_bus.wire.signing import SigningKey
from tests.bus.quic.small_node import running, until

async def main(port, seed):
    async with running(listen=False, key=SigningKey(bytes.fromhex(seed))) as side:
        server = await side.endpoint.dial(("127.0.0.1", port))
        await until(lambda: side.node.heard(Hello), "greeted")
        frame = encode_frame(EntryBatch((bytes(200_000),)))
        while True:
            side.endpoint.links[server].send(1, frame)
            await asyncio.sleep(0.001)

asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
"""


def test_a_peer_that_is_killed_in_the_middle_is_missed_by_nobody_and_may_come_again() -> None:
    async def scene() -> None:
        seed = SigningKey.generate().seed.hex()
        limits = replace(PATIENT, flush_seconds=0.1)
        async with running(limits=limits) as one, running(listen=False) as honest:
            await honest.endpoint.dial(one.where, one.public)
            for life in range(2):
                peer = await asyncio.create_subprocess_exec(sys.executable, "-c", PEER, str(one.where[1]), seed)
                kept = len(one.node.kept)
                await until(lambda: len(one.node.kept) > kept + 3, "it was in the middle")  # noqa: B023
                peer.kill()
                await is_answered(honest, one, life)
                await peer.wait()
            # Its second life was not kept waiting until the first one's link had timed out.
            other = SigningKey(bytes.fromhex(seed)).public
            assert one.node.connections.count(other) == 2

    asyncio.run(scene())


def test_the_hello_of_the_second_life_is_heard() -> None:
    async def scene() -> None:
        key = SigningKey.generate()
        async with running() as one:
            for life in range(2):
                async with running(listen=False, key=key) as other:
                    await other.endpoint.dial(one.where, one.public)
                    await until(lambda: len(one.node.heard(Hello)) == life + 1, "it had greeted")  # noqa: B023

    asyncio.run(scene())
