"""Peers that lie about their sets, spam or withhold: real nodes whose frames are changed on the way out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

from bench.bus.simulator import Host, Simulation
from reasoningbank_bus.node.effects import Effect, Send
from reasoningbank_bus.wire.frame import (
    Digest,
    EntryBatch,
    Frame,
    MemberNews,
    NamespaceSum,
    Offer,
    Ping,
    PlaceRange,
    Ranges,
    decode_frame,
    encode_frame,
)

SPAM = 40
"""Frames that a spammer adds to each of its own."""


def make_liar(simulation: Simulation, host: Host) -> None:
    """Its fingerprints are made up, it offers what it does not have and says of everybody that they are dead."""
    chance = Random(host.number)

    def lie(frame: Frame) -> Iterator[Frame]:
        if isinstance(frame, Digest):
            yield Digest(tuple(NamespaceSum(s.namespace, s.count + 7, chance.randbytes(16)) for s in frame.namespaces))
            yield Offer("team:shared", tuple(chance.randbytes(32) for _ in range(50)))
        elif isinstance(frame, Ranges):
            yield Ranges(frame.namespace, tuple(_false_range(part, chance) for part in frame.ranges), frame.without)
        elif isinstance(frame, EntryBatch):
            yield EntryBatch((), frame.number)
        elif isinstance(frame, Ping) and chance.random() < 0.2:
            others = [other for other in simulation.hosts if other is not host]
            dead = (MemberNews(h.key.public, h.address, "dead", 1 << 20, host.key.public) for h in others)
            yield Ping(frame.number, tuple(dead)[:12])
        else:
            yield frame

    _change(simulation, host, lie)


def _false_range(part: PlaceRange, chance: Random) -> PlaceRange:
    if part.fingerprint:
        return PlaceRange(part.low, part.high, part.count, chance.randbytes(16))
    return PlaceRange(part.low, part.high, 0)


def make_spammer(simulation: Simulation, host: Host) -> None:
    """Every frame of it is followed by many that are malformed, forged or for nothing."""
    chance = Random(host.number)

    def spam(frame: Frame) -> Iterator[Frame | bytes]:
        yield frame
        for _ in range(SPAM):
            yield chance.choice(
                [
                    chance.randbytes(chance.randrange(1, 400)),
                    encode_frame(EntryBatch((chance.randbytes(300),), chance.randrange(1, 1 << 40))),
                    encode_frame(Offer("team:shared", tuple(chance.randbytes(32) for _ in range(100)))),
                ]
            )

    _change(simulation, host, spam)


def make_withholder(simulation: Simulation, host: Host) -> None:
    """It takes everything, says that it has it, and gives nothing on."""

    def withhold(frame: Frame) -> Iterator[Frame]:
        if not isinstance(frame, EntryBatch):
            yield frame

    _change(simulation, host, withhold)


def _change(simulation: Simulation, host: Host, tell: Callable[[Frame], Iterator[Frame | bytes]]) -> None:
    def change(effects: Sequence[Effect]) -> list[Effect]:
        changed: list[Effect] = []
        for effect in effects:
            frame = decode_frame(effect.frame) if isinstance(effect, Send) else None
            if frame is None or not isinstance(effect, Send) or effect.frame[1] == 1:
                changed.append(effect)
                continue
            for told in tell(frame):
                encoded = told if isinstance(told, bytes) else encode_frame(told)
                changed.append(Send(effect.peer, effect.channel, encoded, effect.last))
        return changed

    simulation.villains[host.number] = change
