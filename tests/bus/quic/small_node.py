"""A small node for tests of the transport: greets, answers questions, keeps what it is given, and acknowledges it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from reasoningbank.core.errors import BankFull
from reasoningbank_bus.node.effects import Effect, Send
from reasoningbank_bus.quic.endpoint import BusEndpoint
from reasoningbank_bus.quic.limits import TransportLimits
from reasoningbank_bus.wire.frame import (
    CONTROL,
    Ask,
    EntryBatch,
    Have,
    Hello,
    Hits,
    Want,
    decode_frame,
    encode_frame,
)
from reasoningbank_bus.wire.signing import SigningKey

LOCAL = ("127.0.0.1", 0)
WAIT_SECONDS = 300.0
PATIENT = TransportLimits(handshake_seconds=WAIT_SECONDS, idle_seconds=WAIT_SECONDS, frame_seconds=WAIT_SECONDS)


def hello_of(key: SigningKey) -> Hello:
    return Hello((1, 1), key.public)


@dataclass
class SmallNode:
    key: SigningKey
    connections: list[bytes] = field(default_factory=list)
    partings: list[bytes] = field(default_factory=list)
    frames: list[tuple[bytes, int, object]] = field(default_factory=list)
    kept: list[bytes] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)
    busy: threading.Event = field(default_factory=threading.Event)
    """Cleared: the node is at work, as when its disk is slow."""
    is_full: bool = False
    """Its disk has no room."""

    def __post_init__(self) -> None:
        self.busy.set()

    def connected(self, peer: bytes, now: float, *, address: str = "") -> list[Effect]:
        self.connections.append(peer)
        return [Send(peer, CONTROL, encode_frame(hello_of(self.key)))]

    def tell_of_second(self, peer: bytes, now: float) -> list[Effect]:
        del peer, now
        return []

    def disconnected(self, peer: bytes, now: float) -> list[Effect]:
        self.partings.append(peer)
        return []

    def receive(self, peer: bytes, channel: int, frame: bytes, now: float) -> list[Effect]:
        self.threads.add(threading.get_ident())
        assert self.busy.wait(WAIT_SECONDS)
        told = decode_frame(frame)
        self.frames.append((peer, channel, told))
        if isinstance(told, Ask):
            hits = encode_frame(Hits(told.request, (bytes(100),)))
            return [Send(peer, channel, hits, True)]
        if isinstance(told, EntryBatch):
            if self.is_full:
                raise BankFull("The disk has no room.")
            self.kept += told.encoded
            return [Send(peer, channel, encode_frame(Have(len(told.encoded))))]
        if isinstance(told, Want):
            batch = encode_frame(EntryBatch((bytes(200_000),)))
            return [Send(peer, channel, batch) for _ in told.places]
        return []

    def tick(self, now: float) -> list[Effect]:
        return []

    def next_tick(self, now: float) -> float:
        return now + 3600

    def heard(self, kind: type) -> list[object]:
        return [told for _, _, told in self.frames if isinstance(told, kind)]


@dataclass
class Side:
    """A node with its endpoint."""

    node: SmallNode
    endpoint: BusEndpoint

    @property
    def public(self) -> bytes:
        return self.node.key.public

    @property
    def where(self) -> tuple[str, int]:
        host, _, port = self.endpoint.address.rpartition(":")
        return host, int(port)

    def send(self, peer: Side, channel: int, *frames: object, last: bool = False) -> None:
        effects = [Send(peer.public, channel, encode_frame(frame), last) for frame in frames]  # type: ignore[arg-type]
        self.endpoint.submit(lambda now: effects)


@asynccontextmanager
async def running(
    *, listen: bool = True, limits: TransportLimits = PATIENT, key: SigningKey | None = None
) -> AsyncIterator[Side]:
    node = SmallNode(key or SigningKey.generate())
    endpoint = BusEndpoint(on_effect=lambda effect: None, limits=limits)
    await endpoint.start(LOCAL if listen else None, node, node.key)
    try:
        yield Side(node, endpoint)
    finally:
        node.busy.set()
        await endpoint.stop()


async def until(is_so: Callable[[], object], what: str) -> None:
    """Wait, within bounds, until something is so."""
    loop = asyncio.get_running_loop()
    end = loop.time() + WAIT_SECONDS
    while not is_so():
        assert loop.time() < end, f"waited in vain until {what}"
        await asyncio.sleep(0.002)
