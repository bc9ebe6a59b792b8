"""Who is at the other end: pinned keys, proofs, and what an address that is something else says."""

from __future__ import annotations

import asyncio
import socket

import pytest
from qh3._hazmat import Certificate

from reasoningbank_bus.authority.keys import fingerprint
from reasoningbank_bus.quic.certificate import find_key, make_certificate
from reasoningbank_bus.quic.connection import PEERS
from reasoningbank_bus.quic.dialling import begin_link, wait_open
from reasoningbank_bus.quic.limits import TransportLimits
from reasoningbank_bus.quic.problems import PeerMistaken, PeerUnreachable
from reasoningbank_bus.wire.frame import Ask, Hello, encode_frame
from reasoningbank_bus.wire.signing import SigningKey
from reasoningbank_bus.wire.stream import with_length
from tests.bus.quic.bare_client import bare_client, wait_for_nonce
from tests.bus.quic.small_node import running, until

QUICK = TransportLimits(handshake_seconds=1.0)


def test_a_certificate_holds_the_nodes_key_and_is_signed_by_it() -> None:
    key = SigningKey(bytes(range(32)))
    certificate = Certificate(make_certificate(key))
    assert certificate.self_signed
    assert find_key(certificate.public_key()) == key.public
    assert make_certificate(key) == make_certificate(key)


def test_a_key_of_another_kind_is_no_node() -> None:
    assert find_key(b"\x30\x59" + bytes(89)) is None
    assert find_key(b"") is None


def test_two_nodes_know_each_other_by_their_keys() -> None:
    async def scene() -> None:
        async with running() as one, running(listen=False) as other:
            assert await other.endpoint.dial(one.where, one.public) == one.public
            await until(lambda: one.node.heard(Hello) and other.node.heard(Hello), "both had greeted")
            assert one.node.connections == [other.public]
            assert other.node.connections == [one.public]

    asyncio.run(scene())


def test_a_node_whose_key_is_not_known_yet_is_learned() -> None:
    async def scene() -> None:
        async with running() as one, running(listen=False) as other:
            assert await other.endpoint.dial(one.where) == one.public

    asyncio.run(scene())


def test_another_key_than_expected_is_said_with_both_and_nothing_is_sent_to_it() -> None:
    async def scene() -> None:
        expected = SigningKey.generate().public
        async with running() as one, running(listen=False) as other:
            with pytest.raises(PeerMistaken) as told:
                await other.endpoint.dial(one.where, expected)
            assert fingerprint(one.public) in str(told.value)
            assert fingerprint(expected) in str(told.value)
            assert not one.node.connections
            assert not other.node.connections

    asyncio.run(scene())


def test_a_node_does_not_connect_to_itself() -> None:
    async def scene() -> None:
        async with running() as one:
            with pytest.raises(PeerMistaken, match="this node itself"):
                await one.endpoint.dial(one.where)
            assert not one.node.connections

    asyncio.run(scene())


def test_a_port_where_nothing_listens_is_told_at_once() -> None:
    async def scene() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind(("127.0.0.1", 0))
            where = taken.getsockname()
        async with running(listen=False) as one:
            with pytest.raises(PeerUnreachable, match="Nothing listens at"):
                await one.endpoint.dial(where)

    asyncio.run(scene())


class _Stranger(asyncio.DatagramProtocol):
    """A UDP server of another kind: it answers everything with a line of its own."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        if self._answer:
            self.transport.sendto(self._answer, addr)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [(b"220 mail.example ESMTP ready\r\n", "answers, but not in QUIC"), (b"", "Nobody answers at")],
)
def test_a_port_that_is_something_else_is_told_so(answer: bytes, sentence: str) -> None:
    async def scene() -> None:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: _Stranger(answer), local_addr=("127.0.0.1", 0))
        async with running(listen=False, limits=QUICK) as one:
            with pytest.raises(PeerUnreachable, match=sentence):
                await one.endpoint.dial(transport.get_extra_info("sockname"))
        transport.close()

    asyncio.run(scene())


def test_a_name_that_does_not_exist_is_told_so() -> None:
    async def scene() -> None:
        async with running(listen=False) as one:
            with pytest.raises(PeerUnreachable, match=r"nowhere\.invalid"):
                await one.endpoint.dial(("nowhere.invalid", 8711))

    asyncio.run(scene())


def test_another_version_of_the_protocol_is_refused_in_the_handshake() -> None:
    async def scene() -> None:
        async with running() as one:
            with pytest.raises(ConnectionError):
                async with bare_client(one.where, alpn="reasoningbank-bus/0"):
                    pass
            assert not one.node.connections

    asyncio.run(scene())


def test_a_server_of_another_version_is_told_apart_from_a_wrong_key() -> None:
    async def scene() -> None:
        async with running() as one, running(listen=False) as other:
            link = await begin_link(
                one.where, other.endpoint, other.node.key, QUICK, peer_key=one.public, alpn="reasoningbank-bus/9"
            )
            with pytest.raises(PeerUnreachable, match="another version"):
                await wait_open(link)

    asyncio.run(scene())


def test_a_client_that_proves_nothing_is_heard_by_nobody_and_closed() -> None:
    async def scene() -> None:
        async with running(limits=QUICK) as one, bare_client(one.where) as client:
            client.write(16, with_length(encode_frame(Ask(1, "what", "team", 3))))
            await until(lambda: client.closed, "it was closed")
            assert client.closed is not None
            assert client.closed.reason_phrase.startswith("not_authenticated: ")
            assert not one.node.connections
            assert not one.node.frames

    asyncio.run(scene())


@pytest.mark.parametrize("fault", ["no proof", "another nonce", "another key", "our own key"])
def test_a_false_proof_is_refused_with_its_code(fault: str) -> None:
    async def scene() -> None:
        key = SigningKey.generate()
        async with running() as one, bare_client(one.where) as client:
            await wait_for_nonce(client)
            if fault == "no proof":
                client.write(0, with_length(encode_frame(Hello((1, 1), key.public))))
            elif fault == "another nonce":
                client.data[3] = bytes(32)
                client.greet(key, one.public)
            elif fault == "another key":
                client.greet(key, SigningKey.generate().public)
            else:
                client.greet(one.node.key, one.public)
            await until(lambda: client.closed, "it was closed")
            assert client.closed is not None
            assert client.closed.reason_phrase.startswith("not_authenticated: ")
            assert not one.node.connections

    asyncio.run(scene())


def test_a_proof_that_is_relayed_to_another_server_is_worth_nothing() -> None:
    async def scene() -> None:
        honest = SigningKey.generate()
        async with running() as victim, bare_client(victim.where) as to_victim:
            # Whoever is in the middle has a node of its own, which the honest client dials, and passes the victim's
            # nonce on as its own. The proof that it gets names the node in the middle.
            await wait_for_nonce(to_victim)
            in_the_middle = SigningKey.generate()
            to_victim.greet(honest, in_the_middle.public)
            await until(lambda: to_victim.closed, "it was closed")
            assert not victim.node.connections

    asyncio.run(scene())


def test_the_protocols_name_carries_its_version() -> None:
    assert PEERS == "reasoningbank-bus/1"
