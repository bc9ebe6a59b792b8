"""Early data (0-RTT): a question in the first datagram, never twice, and never anything that changes something."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Mapping

import pytest
from qh3.tls import SessionTicket

from reasoningbank.core.errors import Refused
from reasoningbank_bus.quic.asking import ask_once
from reasoningbank_bus.quic.connection import ASKING, BusConnection, client_configuration
from reasoningbank_bus.quic.limits import TransportLimits
from reasoningbank_bus.quic.problems import PeerMistaken
from reasoningbank_bus.quic.tickets import KeptTickets
from reasoningbank_bus.wire.frame import Ask, EntryBatch, Hits, Want, encode_frame
from reasoningbank_bus.wire.signing import SigningKey
from reasoningbank_bus.wire.stream import with_length
from tests.bus.quic.bare_client import bare_client
from tests.bus.quic.small_node import Side, hello_of, running, until


class State:
    """The log's state, as a dictionary."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}

    def state(self, name: str) -> bytes | None:
        return self.values.get(name)

    def keep_state(self, values: Mapping[str, bytes | None]) -> None:
        for name, value in values.items():
            if value is None:
                self.values.pop(name, None)
            else:
                self.values[name] = value


async def ask(side: Side, key: SigningKey, state: State, request: int = 1, expected: bytes | None = None) -> Hits:
    question = Ask(request, "what", "team", 3)
    server = side.public if expected is None else expected
    return await ask_once(side.where, server, question, key=key, hello=hello_of(key), tickets=KeptTickets(state))


async def ticket_of(side: Side, key: SigningKey) -> SessionTicket:
    state = State()
    await ask(side, key, state)
    ticket = KeptTickets(state).take(side.public)
    assert ticket is not None
    return ticket


def first_flight(side: Side, ticket: SessionTicket, frame: bytes) -> list[bytes]:
    """The datagrams that a client sends before it has heard anything."""
    quic = BusConnection(configuration=client_configuration(ASKING, TransportLimits(), ticket))
    quic.connect(side.where, 0.0)
    quic.send_stream_data(16, with_length(frame), end_stream=True)
    return [datagram for datagram, _ in quic.datagrams_to_send(0.0)]


def test_a_question_is_answered_over_a_connection_of_its_own() -> None:
    async def scene() -> None:
        key, state = SigningKey.generate(), State()
        async with running() as one:
            assert (await ask(one, key, state, 7)).request == 7
            await until(lambda: one.node.partings == [key.public], "its end was told")

    asyncio.run(scene())


def test_the_next_question_is_answered_before_the_handshake_is_over() -> None:
    async def scene() -> None:
        key = SigningKey.generate()
        async with running() as one:
            flight = first_flight(one, await ticket_of(one, key), encode_frame(Ask(2, "what", "team", 3)))
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                for datagram in flight:
                    sock.sendto(datagram, one.where)
                # Nothing more is sent: there is no handshake.
                await until(lambda: len(one.node.heard(Ask)) == 2, "the question had come")
            assert one.node.frames[-1][0] == key.public

    asyncio.run(scene())


def test_every_question_after_the_first_goes_early() -> None:
    async def scene() -> None:
        key, state = SigningKey.generate(), State()
        async with running() as one:
            for request in range(4):
                assert (await ask(one, key, state, request)).request == request
                assert len(state.values) == 1

    asyncio.run(scene())


def test_early_data_that_is_replayed_is_not_heard_a_second_time() -> None:
    async def scene() -> None:
        key = SigningKey.generate()
        async with running() as one:
            flight = first_flight(one, await ticket_of(one, key), encode_frame(Ask(2, "what", "team", 3)))
            with (
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock,
                socket.socket(type=socket.SOCK_DGRAM) as again,
            ):
                for datagram in flight:
                    sock.sendto(datagram, one.where)
                await until(lambda: len(one.node.heard(Ask)) == 2, "the question had come")
                for _ in range(3):
                    for datagram in flight:
                        again.sendto(datagram, one.where)
                        sock.sendto(datagram, one.where)
                await ask(one, SigningKey.generate(), State(), 3)
            assert [asked.request for asked in one.node.heard(Ask)] == [1, 2, 3]  # type: ignore[attr-defined]

    asyncio.run(scene())


@pytest.mark.parametrize(
    "frame", [EntryBatch((bytes(100),)), Want("team", (bytes(32),)), hello_of(SigningKey.generate())]
)
def test_what_is_no_question_is_refused_as_early_data(frame: EntryBatch | Want) -> None:
    async def scene() -> None:
        key = SigningKey.generate()
        async with running() as one:
            ticket = await ticket_of(one, key)
            async with bare_client(one.where, alpn=ASKING, ticket=ticket, wait=False) as client:
                client.write(16, with_length(encode_frame(frame)))
                await until(lambda: client.closed, "it was closed")
                assert client.closed is not None
                assert client.closed.reason_phrase.startswith("replayed_early: ")
            assert not one.node.kept
            assert len(one.node.frames) == 2  # the Hello and the question by which the ticket was had

    asyncio.run(scene())


def test_a_resumed_connection_without_a_proof_may_only_ask() -> None:
    async def scene() -> None:
        async with running() as one:
            ticket = await ticket_of(one, SigningKey.generate())
            async with bare_client(one.where, alpn=ASKING, ticket=ticket) as client:
                client.write(16, with_length(encode_frame(Ask(2, "what", "team", 3))))
                await until(lambda: client.data[16], "the question was answered")
                client.write(20, with_length(encode_frame(EntryBatch((bytes(100),)))))
                await until(lambda: client.closed, "it was closed")
                assert client.closed is not None
                assert client.closed.reason_phrase.startswith("not_authenticated: ")
            assert not one.node.kept

    asyncio.run(scene())


def test_a_server_that_started_anew_answers_all_the_same() -> None:
    async def scene() -> None:
        key, server, state = SigningKey.generate(), SigningKey.generate(), State()
        for request in range(2):
            async with running(key=server) as one:
                assert (await ask(one, key, state, request)).request == request

    asyncio.run(scene())


def test_a_ticket_of_one_key_is_worth_nothing_to_another() -> None:
    async def scene() -> None:
        thief = SigningKey.generate()
        async with running() as one:
            state = State()
            KeptTickets(state).keep(one.public, await ticket_of(one, SigningKey.generate()))
            with contextlib.suppress(Refused):
                await ask(one, thief, state, 2)
            # Early, it is the question of whose secret it was; the proof that follows is of another key, and refused.
            assert thief.public not in one.node.connections
            assert all(peer != thief.public for peer, _, _ in one.node.frames)

    asyncio.run(scene())


def test_a_question_to_another_key_than_expected_is_not_sent() -> None:
    async def scene() -> None:
        async with running() as one:
            with pytest.raises(PeerMistaken):
                await ask(one, SigningKey.generate(), State(), expected=SigningKey.generate().public)
            assert not one.node.heard(Ask)

    asyncio.run(scene())


def test_a_damaged_ticket_costs_a_round_trip_and_nothing_else() -> None:
    async def scene() -> None:
        key, state = SigningKey.generate(), State()
        async with running() as one:
            for damage in (b"", b"\xff\x00", b"\x93\x01\x02\x03"):
                state.values[f"ticket:{one.public.hex()}"] = damage
                await ask(one, key, state)

    asyncio.run(scene())


def test_a_question_from_a_key_that_is_connected_already_is_answered_where_it_was_asked() -> None:
    async def scene() -> None:
        key = SigningKey.generate()
        async with running() as one, running(listen=False, key=key) as other:
            await other.endpoint.dial(one.where, one.public)
            await until(lambda: one.node.connections, "it was known")
            assert (await ask(one, key, State(), 9)).request == 9
            assert one.node.connections == [key.public]
            assert not one.node.partings
            assert not other.node.heard(Hits)

    asyncio.run(scene())
