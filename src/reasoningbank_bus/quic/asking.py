"""One question to one peer over a connection of its own, for whoever runs no node: the command line.

The second question to the same peer resumes the connection of the first and goes out with the first datagram (0-RTT),
so its answer comes after one round trip. A question may be replayed by whoever records it; it changes nothing.
"""

from __future__ import annotations

import asyncio

from qh3.tls import SessionTicket

from reasoningbank_bus.quic.connection import ASKING
from reasoningbank_bus.quic.dialling import begin_link, wait_open
from reasoningbank_bus.quic.limits import TransportLimits
from reasoningbank_bus.quic.link import PeerLink
from reasoningbank_bus.quic.problems import PeerRefusal, PeerUnreachable
from reasoningbank_bus.quic.tickets import KeptTickets
from reasoningbank_bus.wire.frame import CONTROL, FIRST_EXCHANGE, Ask, Hello, Hits, Refusal, decode_frame, encode_frame
from reasoningbank_bus.wire.signing import SigningKey

_PROVE_AFTER_SECONDS = 0.5


class _Question:
    """The owner of a link that waits for one answer."""

    def __init__(self, hello: Hello) -> None:
        self._hello = encode_frame(hello)
        self.answered: asyncio.Future[Hits | Refusal] = asyncio.get_running_loop().create_future()

    def next_channel(self) -> int:
        return -1

    def on_opened(self, link: PeerLink) -> None:
        # A question that was taken early is known to be ours by the resumption secret: the proof is for long waits.
        link.loop.call_later(_PROVE_AFTER_SECONDS if link.is_early else 0, self._greet, link)

    def _greet(self, link: PeerLink) -> None:
        link.send(CONTROL, self._hello)

    def on_frames(self, link: PeerLink) -> None:
        while (arrival := link.next_frame()) is not None:
            frame = decode_frame(arrival[1])
            if isinstance(frame, Hits | Refusal) and not self.answered.done():
                self.answered.set_result(frame)

    def on_ended(self, link: PeerLink) -> None:
        if not self.answered.done():
            code, _, sentence = link.reason.partition(": ")
            self.answered.set_result(Refusal(code[:40] if sentence else "", (sentence or link.reason)[:1000]))


async def ask_once(
    address: tuple[str, int],
    peer_key: bytes | None,
    question: Ask,
    *,
    key: SigningKey,
    hello: Hello,
    tickets: KeptTickets | None = None,
    limits: TransportLimits | None = None,
    deadline_seconds: float = 30.0,
) -> Hits:
    """The answer of a peer to a question. Raises for a wrong address, a peer that refuses, and one that is slow.

    `tickets` is read and written here: it should not take long.
    """
    limits = limits or TransportLimits()
    ticket = tickets.take(peer_key) if tickets is not None and peer_key is not None else None
    new_tickets: list[SessionTicket] = []
    owner = _Question(hello)
    link = await begin_link(
        address, owner, key, limits, peer_key=peer_key, alpn=ASKING, ticket=ticket, on_ticket=new_tickets.append
    )
    try:
        link.send(FIRST_EXCHANGE, encode_frame(question), last=True)
        link.transmit()
        await wait_open(link)
        frame = await asyncio.wait_for(owner.answered, timeout=deadline_seconds)
    except TimeoutError:
        raise PeerUnreachable(f"{link.dialled_as} did not answer within {deadline_seconds:g} seconds.") from None
    finally:
        peer = link.peer
        link.end()
        link.forget()
        await asyncio.sleep(0)
    if tickets is not None and peer is not None and new_tickets:
        tickets.keep(peer, new_tickets[-1])
    if isinstance(frame, Refusal):
        raise PeerRefusal(frame.code, frame.sentence or "The peer ended the connection without an answer.")
    return frame
