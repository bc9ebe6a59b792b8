"""Traffic between two nodes: channels, back-pressure, limits, keep-alive, moving, and a stop that loses nothing."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from reasoningbank.core.errors import BankFull, BankUnavailable
from reasoningbank_bus.node.effects import Effect
from reasoningbank_bus.quic.dialling import move_link
from reasoningbank_bus.quic.limits import RateCount, TransportLimits
from reasoningbank_bus.quic.problems import PeerUnreachable
from reasoningbank_bus.wire.frame import Ask, EntryBatch, Have, Hello, Hits, Ping, Refusal, Want, encode_frame
from reasoningbank_bus.wire.signing import SigningKey
from reasoningbank_bus.wire.stream import with_length
from tests.bus.quic.bare_client import bare_client, wait_for_nonce
from tests.bus.quic.small_node import PATIENT, Side, running, until

KIB = 1024
NARROW = replace(PATIENT, window_bytes=256 * KIB, inbox_bytes=256 * KIB, outbox_bytes=1024 * KIB)


async def connect(dialler: Side, listener: Side) -> None:
    await dialler.endpoint.dial(listener.where, listener.public)
    await until(lambda: dialler.node.heard(Hello) and listener.node.heard(Hello), "both had greeted")


def test_the_fixed_channels_go_both_ways_and_keep_their_numbers() -> None:
    async def scene() -> None:
        async with running() as one, running(listen=False) as other:
            await connect(other, one)
            for channel in range(4):
                one.send(other, channel, Ping(channel))
                other.send(one, channel, Ping(10 + channel))
            await until(lambda: len(one.node.heard(Ping)) == len(other.node.heard(Ping)) == 4, "all had come")
            told = {(channel, ping.number) for _, channel, ping in one.node.frames if isinstance(ping, Ping)}
            assert told == {(channel, 10 + channel) for channel in range(4)}

    asyncio.run(scene())


def test_an_exchange_is_answered_on_its_own_channel_whoever_dialled() -> None:
    async def scene() -> None:
        async with running() as one, running(listen=False) as other:
            await connect(other, one)
            for side, peer in ((one, other), (other, one)):
                for request in range(5):
                    side.send(peer, 4 + request, Ask(request, "what", "team", 3), last=True)
            for side in (one, other):
                await until(lambda side=side: len(side.node.heard(Hits)) == 5, "all were answered")  # type: ignore[misc]
                answers = {(channel, told.request) for _, channel, told in side.node.frames if isinstance(told, Hits)}
                assert answers == {(4 + request, request) for request in range(5)}

    asyncio.run(scene())


def test_more_exchanges_than_streams_wait_for_one_to_end() -> None:
    async def scene() -> None:
        async with running() as one, running(listen=False) as other:
            await connect(other, one)
            for request in range(300):
                other.send(one, 4 + request, Ask(request, "what", "team", 3), last=True)
            await until(lambda: len(other.node.heard(Hits)) == 300, "all were answered")
            assert len(other.endpoint.links[one.public].table.by_number) == 4

    asyncio.run(scene())


def test_the_node_runs_in_one_thread() -> None:
    async def scene() -> None:
        async with running() as one, running(listen=False) as a, running(listen=False) as b:
            await connect(a, one)
            await connect(b, one)
            for request in range(20):
                for side in (a, b):
                    side.send(one, 4 + request, Ask(request, "what", "team", 3), last=True)
            await until(lambda: len(one.node.heard(Ask)) == 40, "all had come")
            assert len(one.node.threads) == 1

    asyncio.run(scene())


def test_a_receiver_that_does_not_keep_up_slows_its_sender_down_and_bounds_both() -> None:
    async def scene() -> None:
        async with running(limits=NARROW) as slow, running(listen=False, limits=NARROW) as sender:
            await connect(sender, slow)
            slow.node.busy.clear()
            for _ in range(100):
                sender.send(slow, 1, EntryBatch((bytes(100_000),)))
            link, end = sender.endpoint.links[slow.public], slow.endpoint.links[sender.public]
            await until(lambda: link.left_out > 0 and end.quic.is_held, "the sender had no more room")
            assert link.outbox_bytes <= NARROW.outbox_bytes + 2 * 100_100
            assert end.inbox_bytes <= NARROW.inbox_bytes + NARROW.window_bytes + 100_000
            slow.node.busy.set()
            # What was left out is mended by gossip; what had found room arrives whole.
            sent = 100 - link.left_out
            await until(lambda: len(slow.node.kept) == sent, "what had found room came")

    asyncio.run(scene())


def test_a_slow_peer_does_not_keep_the_others_waiting() -> None:
    async def scene() -> None:
        async with running(limits=NARROW) as slow, running() as quick, running(listen=False) as sender:
            await connect(sender, slow)
            await connect(sender, quick)
            slow.node.busy.clear()
            for _ in range(60):
                sender.send(slow, 1, EntryBatch((bytes(100_000),)))
                sender.send(quick, 1, EntryBatch((bytes(100_000),)))
            await until(lambda: len(quick.node.kept) == 60, "the quick one had all")
            assert not slow.node.kept
            slow.node.busy.set()

    asyncio.run(scene())


def test_requests_wait_while_their_answers_would_find_no_room_and_are_all_answered() -> None:
    async def scene() -> None:
        async with running(limits=NARROW) as one, running(listen=False, limits=NARROW) as other:
            await connect(other, one)
            link = one.endpoint.links[other.public]
            other.node.busy.clear()
            for exchange in range(30):
                other.endpoint.links[one.public].send(4 + exchange, encode_frame(Want("team", (bytes(32),))), last=True)
            await until(lambda: link.waiting_requests, "some waited")
            assert link.outbox_bytes <= NARROW.outbox_bytes
            other.node.busy.set()
            await until(lambda: len(other.node.heard(EntryBatch)) == 30, "all were answered")
            assert not link.left_out

    asyncio.run(scene())


def test_two_peers_that_ask_each_other_for_much_at_once_both_get_it() -> None:
    async def scene() -> None:
        async with running(limits=NARROW) as one, running(listen=False, limits=NARROW) as other:
            await connect(other, one)
            for exchange in range(40):
                other.send(one, 4 + exchange, Want("team", (bytes(32),)), last=True)
                one.send(other, 4 + exchange, Want("team", (bytes(32),)), last=True)
            for side in (one, other):
                await until(lambda side=side: len(side.node.heard(EntryBatch)) == 40, "all came")  # type: ignore[misc]

    asyncio.run(scene())


def test_a_peer_that_asks_and_never_takes_the_answers_is_closed() -> None:
    async def scene() -> None:
        key = SigningKey.generate()
        async with running(limits=replace(NARROW, idle_seconds=1.5)) as one, bare_client(one.where) as client:
            await wait_for_nonce(client)
            client.greet(key, one.public)
            await until(lambda: one.node.connections, "it was known")
            client._transport.pause_reading()  # type: ignore[union-attr]
            for exchange in range(20):
                client.write(16 + 4 * exchange, with_length(encode_frame(Want("team", (bytes(32),) * 4))))
            await until(lambda: one.node.partings, "it was closed")

    asyncio.run(scene())


def test_bytes_beyond_the_rate_are_taken_later_not_refused() -> None:
    async def scene() -> None:
        async with running(limits=replace(NARROW, bytes_per_second=100_000)) as one, running(listen=False) as other:
            await connect(other, one)
            link, loop = one.endpoint.links[other.public], asyncio.get_running_loop()
            began = loop.time()
            for _ in range(5):
                other.endpoint.links[one.public].send(1, encode_frame(EntryBatch((bytes(100_000),))))
            await until(lambda: link.quic.is_held, "no more was read")
            await until(lambda: len(one.node.kept) == 5, "all had come")
            # Of 500,000 bytes a second's worth may come at the beginning and a window of 256 KiB at the end.
            assert loop.time() - began > 1.0

    asyncio.run(scene())


def test_streams_beyond_the_rate_are_taken_later_not_refused() -> None:
    async def scene() -> None:
        async with running(limits=replace(PATIENT, streams_per_second=50)) as one, running(listen=False) as other:
            await connect(other, one)
            link = one.endpoint.links[other.public]
            for number in range(90):
                other.send(one, 4 + number, Ask(number, "what", "team", 3), last=True)
            await until(lambda: link.quic.is_held, "no more was read")
            other.send(one, 100, Ask(100, "what", "team", 3), last=True)
            await until(lambda: len(other.node.heard(Hits)) == 91, "all were answered")
            assert not one.node.partings

    asyncio.run(scene())


def test_a_rate_is_counted_evenly() -> None:
    rate = RateCount(100, 0.0)
    assert rate.take(100, 0.0) == 0
    assert rate.take(50, 0.0) == 0.5
    assert rate.take(0, 0.5) == 0
    assert rate.take(10, 10.0) == 0


def test_a_link_that_carries_nothing_stays() -> None:
    async def scene() -> None:
        limits = TransportLimits(idle_seconds=2.0, keep_alive_seconds=0.3)
        async with running(limits=limits) as one, running(listen=False, limits=limits) as other:
            await connect(other, one)
            link, since = other.endpoint.links[one.public], asyncio.get_running_loop().time()
            await until(lambda: link.heard_at > since + 1.2 * limits.idle_seconds, "it had been idle for long enough")
            other.send(one, 4, Ask(1, "what", "team", 3), last=True)
            await until(lambda: other.node.heard(Hits), "it was answered")
            assert not one.node.partings

    asyncio.run(scene())


def test_a_peer_that_moves_to_another_port_is_followed() -> None:
    async def scene() -> None:
        async with running() as one, running(listen=False) as other:
            await connect(other, one)
            link = other.endpoint.links[one.public]
            assert link.socket is not None
            ports = {link.socket.get_extra_info("sockname")[1]}
            for request in range(3):
                await move_link(link)
                ports.add(link.socket.get_extra_info("sockname")[1])
                other.send(one, 4 + request, Ask(request, "what", "team", 3), last=True)
                await until(lambda: len(other.node.heard(Hits)) == request + 1, "the answer came to the new port")  # noqa: B023
                one.send(other, 1, Ping(request))
                await until(lambda: len(other.node.heard(Ping)) == request + 1, "so did what the other side began")  # noqa: B023
            assert len(ports) == 4
            assert not one.node.partings

    asyncio.run(scene())


def test_a_node_that_stops_while_a_link_moves_leaves_no_socket_open() -> None:
    async def scene() -> None:
        async with running() as one, running(listen=False) as other:
            await connect(other, one)
            link = other.endpoint.links[one.public]
            old = link.socket
            assert old is not None
            moving = asyncio.create_task(move_link(link))
            await asyncio.sleep(0)
            moving.cancel()
            await asyncio.gather(moving, return_exceptions=True)
            assert old.is_closing()

    asyncio.run(scene())


def test_a_node_that_has_stopped_dials_nobody() -> None:
    async def scene() -> None:
        async with running() as one, running(listen=False) as other:
            await other.endpoint.stop()
            with pytest.raises(PeerUnreachable, match="This node stops"):
                await other.endpoint.dial(one.where, one.public)

    asyncio.run(scene())


def test_a_link_that_is_closed_before_all_is_sent_leaves_no_socket_open_when_its_node_stops() -> None:
    async def scene() -> None:
        async with running() as one, running() as third:
            async with running(listen=False) as other:
                await connect(other, one)
                link = other.endpoint.links[one.public]
                assert link.socket is not None
                link.socket._write_ready = False  # type: ignore[attr-defined]  # as if the network took nothing just now
                link.socket.sendto(b"late")
                link.close_socket()
                await connect(other, third)
            assert link.socket.get_extra_info("socket").fileno() == -1

    asyncio.run(scene())


def test_a_link_moves_more_often_than_its_peer_gave_it_ids() -> None:
    async def scene() -> None:
        async with running() as one, running(listen=False) as other:
            await connect(other, one)
            link = other.endpoint.links[one.public]
            for _ in range(20):
                await move_link(link)
            other.send(one, 4, Ask(1, "what", "team", 3), last=True)
            await until(lambda: other.node.heard(Hits), "it was answered")

    asyncio.run(scene())


def test_a_path_that_went_dead_is_left_without_being_told() -> None:
    async def scene() -> None:
        limits = TransportLimits(keep_alive_seconds=0.2)
        async with running() as one, running(listen=False, limits=limits) as other:
            await connect(other, one)
            link = other.endpoint.links[one.public]
            assert link.socket is not None
            port = link.socket.get_extra_info("sockname")[1]
            link.socket.pause_reading()  # type: ignore[attr-defined]  # as if a router had forgotten the way back
            await until(lambda: link.socket.get_extra_info("sockname")[1] != port, "it had moved")  # type: ignore[union-attr]
            other.send(one, 4, Ask(1, "what", "team", 3), last=True)
            await until(lambda: other.node.heard(Hits), "it was answered")

    asyncio.run(scene())


def test_whoever_stops_has_acknowledged_exactly_what_it_kept() -> None:
    async def scene() -> None:
        async with running(listen=False) as sender:
            async with running() as receiver:
                await connect(sender, receiver)
                for _ in range(200):
                    sender.send(receiver, 1, EntryBatch((bytes(20_000),)))
                await until(lambda: receiver.node.kept, "some had come")
            kept = len(receiver.node.kept)

            def acknowledged() -> int:
                return sum(told.count for _, _, told in sender.node.frames if isinstance(told, Have))

            await until(lambda: acknowledged() == kept, "all that was kept was acknowledged")
            await until(lambda: sender.node.partings == [receiver.public], "the end was told")

    asyncio.run(scene())


def test_work_for_a_node_that_has_stopped_is_told_so() -> None:
    async def scene() -> None:
        async with running() as one:
            await asyncio.wrap_future(one.endpoint.submit(lambda now: []))
        with pytest.raises(BankUnavailable, match="has stopped"):
            await asyncio.wrap_future(one.endpoint.submit(lambda now: []))

    asyncio.run(scene())


def test_work_that_fails_is_told_to_whoever_asked_for_it_and_the_node_goes_on() -> None:
    def fail(now: float) -> list[Effect]:
        raise BankFull("The disk has no room.")

    async def scene() -> None:
        async with running() as one, running(listen=False) as other:
            await connect(other, one)
            with pytest.raises(BankFull):
                await asyncio.wrap_future(one.endpoint.submit(fail))
            other.send(one, 4, Ask(1, "what", "team", 3), last=True)
            await until(lambda: other.node.heard(Hits), "it was answered")

    asyncio.run(scene())


def test_a_frame_that_cannot_be_kept_costs_its_connection_and_no_more() -> None:
    async def scene() -> None:
        async with running() as one, running(listen=False) as other, running(listen=False) as third:
            await connect(other, one)
            await connect(third, one)
            one.node.is_full = True
            other.send(one, 1, EntryBatch((bytes(100),)))
            await until(lambda: other.node.partings, "it was closed")
            one.node.is_full = False
            third.send(one, 1, EntryBatch((bytes(100),)))
            await until(lambda: third.node.heard(Have), "another one's was kept")
            assert len(one.node.kept) == 1

    asyncio.run(scene())


def test_two_that_dial_each_other_at_once_keep_one_link() -> None:
    async def scene() -> None:
        async with running() as one, running() as other:
            await asyncio.gather(one.endpoint.dial(other.where), other.endpoint.dial(one.where))

            def is_settled() -> bool:
                mine, theirs = one.endpoint.links.get(other.public), other.endpoint.links.get(one.public)
                return mine is not None and theirs is not None and mine.is_dialled != theirs.is_dialled

            await until(is_settled, "both have the same one")
            one.send(other, 4, Ask(1, "what", "team", 3), last=True)
            await until(lambda: one.node.heard(Hits), "it was answered")

    asyncio.run(scene())


def test_a_second_machine_with_the_same_key_is_told_so_and_the_first_stays() -> None:
    async def scene() -> None:
        key = SigningKey.generate()
        async with running() as one, running(listen=False, key=key) as first, running(listen=False, key=key) as second:
            await connect(first, one)
            await second.endpoint.dial(one.where)
            await until(lambda: second.node.partings, "the second was sent away")
            assert not first.node.partings
            assert one.node.connections == [key.public]

    asyncio.run(scene())


@pytest.mark.parametrize("who", ["listener", "dialler"])
def test_closing_says_why_to_the_other_side(who: str) -> None:
    async def scene() -> None:
        async with running() as one, running(listen=False) as other:
            await connect(other, one)
            side, peer = (one, other) if who == "listener" else (other, one)
            link, end = side.endpoint.links[peer.public], peer.endpoint.links[side.public]
            link.refuse("shut_out")
            await until(lambda: end.is_ended, "it had ended")
            assert end.reason.startswith("shut_out: This peer has sent too much")
            assert not peer.node.heard(Refusal)

    asyncio.run(scene())
