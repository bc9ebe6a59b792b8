"""Real nodes over real QUIC on this machine: what one publishes reaches all, questions are answered, a stop loses nothing."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from reasoningbank_bus.authority.rights import Rights
from reasoningbank_bus.log.durable import DurableLog
from reasoningbank_bus.log.memory import MemoryLog
from reasoningbank_bus.node.effects import Answered, Effect, Search
from reasoningbank_bus.node.node import BusNode
from reasoningbank_bus.node.settings import NodeSettings
from reasoningbank_bus.quic.endpoint import BusEndpoint
from reasoningbank_bus.wire.entry import Entry, RecordName, sign_entry
from reasoningbank_bus.wire.signing import SigningKey
from tests.bus.quic.small_node import until

QUICK = {"round_seconds": 0.1, "reconcile_seconds": 0.5, "dial_seconds": 0.3}


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@dataclass
class RealPeer:
    key: SigningKey
    port: int
    log: MemoryLog | DurableLog
    node: BusNode
    endpoint: BusEndpoint
    effects: list[Effect] = field(default_factory=list)
    written: int = 0

    async def publish(self, count: int, size: int = 300) -> None:
        entries = [self._entry(size) for _ in range(count)]
        self.log.add(entries)
        await asyncio.wrap_future(self.endpoint.submit(lambda now: self.node.publish(entries, now)))

    def _entry(self, size: int) -> Entry:
        self.written += 1
        return sign_entry(
            self.key,
            at=int(time.time() * 1000),
            kind="memory",
            namespace="team/web",
            scope="team",
            record=RecordName(self.key.public, f"mem_{self.port}_{self.written}"),
            revision=1,
            intent=b"",
            body=bytes(size),
        )

    @property
    def holds(self) -> set[bytes]:
        return {place for _, _, place, _ in self.log.places()}


@asynccontextmanager
async def real_peer(
    key: SigningKey, keys: list[SigningKey], *, seed_port: int = 0, log: MemoryLog | DurableLog | None = None
) -> AsyncIterator[RealPeer]:
    loop = asyncio.get_running_loop()
    port = free_port()
    named = ((f"127.0.0.1:{seed_port}", None),) if seed_port else ()
    kept = log or MemoryLog()
    node = BusNode(
        key=key,
        rights=Rights(key.public, tuple(other.public for other in keys)),
        log=kept,
        settings=NodeSettings(listen=f"127.0.0.1:{port}", peers=named, **QUICK),  # type: ignore[arg-type]
        seed=port,
        now_ms=lambda now: int((time.time() + now - loop.time()) * 1000),
    )
    effects: list[Effect] = []
    endpoint = BusEndpoint(on_effect=effects.append)
    await endpoint.start(("127.0.0.1", port), node, key)
    try:
        yield RealPeer(key, port, kept, node, endpoint, effects)
    finally:
        await endpoint.stop()


def test_what_one_of_two_nodes_publishes_is_in_the_other_and_back() -> None:
    async def scene() -> None:
        keys = [SigningKey.generate() for _ in range(2)]
        async with real_peer(keys[0], keys) as one, real_peer(keys[1], keys, seed_port=one.port) as other:
            await until(lambda: other.endpoint.links, "they were connected")
            await one.publish(300)
            await other.publish(50, size=20_000)
            await until(lambda: len(one.holds) == len(other.holds) == 350, "both have all")
            assert one.holds == other.holds

    asyncio.run(scene())


def test_what_was_written_while_apart_is_mended_when_they_meet_and_a_stop_loses_none(tmp_path: Path) -> None:
    async def scene() -> None:
        keys = [SigningKey.generate() for _ in range(2)]
        with DurableLog(tmp_path) as log:
            async with real_peer(keys[0], keys, log=log) as one:
                await one.publish(500)
            async with real_peer(keys[0], keys, log=log) as one, real_peer(keys[1], keys, seed_port=one.port) as other:
                await until(lambda: len(other.holds) == 500, "all had come")
                await other.publish(20)
                await until(lambda: len(one.holds) == 520, "and gone back")

    asyncio.run(scene())


def test_eight_nodes_that_know_one_address_find_each_other_and_agree() -> None:
    async def scene() -> None:
        keys = [SigningKey.generate() for _ in range(8)]
        async with AsyncExitStack() as stack:
            first = await stack.enter_async_context(real_peer(keys[0], keys))
            peers = [first] + [
                await stack.enter_async_context(real_peer(key, keys, seed_port=first.port)) for key in keys[1:]
            ]
            await until(lambda: all(len(peer.endpoint.links) >= 3 for peer in peers), "they had found each other")
            for peer in peers:
                await peer.publish(20)
            await until(lambda: all(len(peer.holds) == 160 for peer in peers), "all have all")
            assert len({frozenset(peer.holds) for peer in peers}) == 1

    asyncio.run(scene())


def test_a_question_to_a_real_node_comes_back_with_its_answer() -> None:
    async def scene() -> None:
        keys = [SigningKey.generate() for _ in range(2)]
        async with real_peer(keys[0], keys) as one, real_peer(keys[1], keys, seed_port=one.port) as other:
            await until(lambda: other.endpoint.links, "they were connected")

            def ask(now: float) -> list[Effect]:
                return other.node.ask(one.key.public, "how to deploy", "team/web", 3, now)[1]

            def answers() -> list[Answered]:
                return [effect for effect in other.effects if isinstance(effect, Answered)]

            while not any(isinstance(effect, Search) for effect in one.effects):
                await asyncio.wrap_future(other.endpoint.submit(ask))
                await asyncio.sleep(0.05)  # until the two have greeted
            for effect in list(one.effects):
                if isinstance(effect, Search):
                    one.endpoint.submit(
                        lambda now, asked=effect: one.node.answered(asked.peer, asked.request, [b"\x80"], now)  # type: ignore[misc]
                    )
            await until(lambda: any(answer.hits for answer in answers()), "the answer had come")

    asyncio.run(scene())
