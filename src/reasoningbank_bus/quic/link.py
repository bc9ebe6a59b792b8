"""A link: one QUIC connection with a peer, as frames that come and go on channels, with its limits and its proof.

Whoever dialled knows the other by its certificate; whoever was dialled by the proof in the first frame. Until then
nothing that came is given to anybody. Independent of what frames ask for, apart from that first one and from what may
come as early data.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Protocol, cast

from qh3.asyncio.protocol import QuicConnectionProtocol
from qh3.quic import events

from reasoningbank.core.failure import attempt
from reasoningbank_bus.quic.channel import FIXED_CHANNELS, OPENING_FRAME, Channel
from reasoningbank_bus.quic.channel_table import ChannelTable
from reasoningbank_bus.quic.connection import ASKING, BusConnection
from reasoningbank_bus.quic.limits import RateCount, TransportLimits
from reasoningbank_bus.quic.proof import NONCE_BYTES, check_proof, with_proof
from reasoningbank_bus.wire.frame import CONTROL, Ask, Digest, decode_frame
from reasoningbank_bus.wire.refusals import BusRefusal
from reasoningbank_bus.wire.signing import SigningKey

NONCE_STREAM: Final = 3
"""The server's first own unidirectional stream: it brings the nonce and ends."""
REFUSED: Final = 1
"""QUIC application error code of a close that says why; the reason is `code: sentence`."""
REFUSED_PORT: Final = "refused"
"""The reason of a link when the other machine says that nothing listens there."""
_UNPROVED_BYTES: Final = 128 * 1024
"""Limit on what is kept of whoever has not proved its key: its Hello, and little that overtook it."""
_LOOKS: Final = 100
_TIMER_SECONDS: Final = 0.001
_MAX_REASON_CHARS: Final = 300
"""A reason that does not fit into a datagram would never be sent."""


class LinkOwner(Protocol):
    def next_channel(self) -> int:
        """A number for a channel that the peer opened."""

    def on_opened(self, link: PeerLink) -> None:
        """It is known who the peer is."""

    def on_frames(self, link: PeerLink) -> None:
        """There are frames to take, or room to answer them."""

    def on_ended(self, link: PeerLink) -> None:
        """Nothing more comes or goes."""


class PeerLink(QuicConnectionProtocol):
    """One connection. Dialled by us, or by the peer."""

    def __init__(
        self,
        quic: BusConnection,
        owner: LinkOwner,
        key: SigningKey,
        limits: TransportLimits,
        *,
        peer_key: bytes | None = None,
    ) -> None:
        super().__init__(quic)
        self.quic, self.owner, self.key, self.limits = quic, owner, key, limits
        self.is_dialled = quic.configuration.is_client
        """True if this side dialled."""
        self.expected = peer_key
        self.peer: bytes | None = None
        self.resumed: bytes | None = peer_key if quic.configuration.session_ticket is not None else None
        """The key that the resumption secret is bound to, if an earlier connection was resumed."""
        self.address: Any = None
        """Where the peer's datagrams go to."""
        self.dialled_as = ""
        """The address that was dialled, in words, if we did."""
        self.settled: asyncio.Future[None] = self._loop.create_future()
        """Done when it is open, or has ended before."""
        self.is_asking = self.is_open = self.is_ended = self.is_handshaken = False
        self.is_early = False
        """True if the server took what was sent before the handshake."""
        self.reason = ""
        self.is_ended_here = False
        """True if this side ended it."""
        self.inbox: deque[tuple[Channel, bytes]] = deque()
        self.waiting_requests: deque[tuple[Channel, bytes]] = deque()
        """Requests whose answers would find no room."""
        self.hello: bytes | None = None
        """The first frame of whoever dialled us, in this connection or in the one that it resumes."""
        self.inbox_bytes = self.left_out = self.datagrams = 0
        now = self._loop.time()
        self.began_at = self.heard_at = now
        self.table = ChannelTable(quic, limits.streams_at_once, now)
        self._nonce = b"" if self.is_dialled else os.urandom(NONCE_BYTES)
        self._greeted = not self.is_dialled
        """True if our first frame, which must carry the proof, was finished."""
        self._bytes = RateCount(limits.bytes_per_second, now)
        self._frames = RateCount(limits.frames_per_second, now)
        self._new_streams = RateCount(limits.streams_per_second, now)
        self._pings = 0
        self._held_until = now
        """No more is read before then: too much came at once."""
        self._fault: BusRefusal | None = None
        """Fault in early data. It is told when the handshake is over: before, nobody could read it."""

    # What the owner does.

    def send(self, number: int, frame: bytes, last: bool = False) -> bool:
        """Queue a frame; False if there is no such channel (any more), or the peer is too slow for it to wait."""
        channel = self.table.by_number.get(number)
        if self.is_ended or (channel is None and number < 0) or (channel is not None and channel.ended_out):
            return False
        if (waiting := self.outbox_bytes) > self.limits.outbox_bytes:
            self.left_out += 1
            if number in FIXED_CHANNELS and number != CONTROL:
                return False
            self.refuse("over_limit", f"{waiting:,} bytes wait that were asked for and are not taken")
            return False
        now = self._loop.time()
        channel = channel or self.table.add(number, None, now)
        self.table.queue(channel, frame, last)
        channel.used_at = now
        self._transmit_soon()
        return True

    def next_frame(self) -> tuple[Channel, bytes] | None:
        """Take the oldest frame that came."""
        if not self.inbox:
            return None
        channel, frame = self.inbox.popleft()
        self.inbox_bytes -= len(frame)
        if self.quic.is_held and self.inbox_bytes * 2 <= self.limits.inbox_bytes:
            self._loop.call_soon(self._release)
        return channel, frame

    @property
    def outbox_bytes(self) -> int:
        """Bytes that wait to be sent for the first time, here and in the library."""
        return self.table.queued_bytes + self.quic.get_send_buffer_size()

    @property
    def is_full(self) -> bool:
        """True if so much waits to be sent that nothing should be done that makes it more."""
        return self.outbox_bytes * 2 > self.limits.outbox_bytes

    def refuse(self, code: str, detail: str = "") -> None:
        """Close with a reason that the other side can show."""
        self.end(f"{code}: {BusRefusal(code, detail)}", REFUSED)

    def end(self, reason: str = "", error_code: int = 0) -> None:
        if self.is_ended:
            return
        self.reason, self.is_ended_here = self.reason or reason, True
        self.transmit()
        self._guard(partial(self.quic.close, error_code, None, reason[:_MAX_REASON_CHARS]))
        self._finish()
        self.transmit()

    def check(self, now: float) -> None:
        """Look at the clock: proof, keep-alive, frames that never become whole, channels that nobody uses."""
        limits = self.limits
        if not self.is_open and now - self.began_at > limits.handshake_seconds:
            self.refuse("not_authenticated", f"no proof within {limits.handshake_seconds:g} seconds")
        for channel in list(self.table.by_stream.values()):
            if channel.begun_at is not None and now - channel.begun_at > limits.frame_seconds:
                self.refuse("over_limit", f"a frame was not whole after {limits.frame_seconds:g} seconds")
            elif channel.is_exchange and now - channel.used_at > limits.idle_seconds and not channel.has_frames:
                self.send(channel.number, b"", last=True)
                channel.ended_in = True
        if self.is_open and not self.is_ended and now - self.heard_at >= limits.keep_alive_seconds:
            self.probe()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    @property
    def socket(self) -> asyncio.DatagramTransport | None:
        return self._transport

    @property
    def is_gone(self) -> bool:
        """True if its socket is closed, which that of a closing link need not be: what it has is sent first."""
        return self._transport is None or self._transport.get_extra_info("socket").fileno() < 0

    def close_socket(self) -> None:
        """Close the socket of a link that was dialled: it has its socket to itself."""
        if self._transport is not None:
            self._transport.close()

    def forget(self) -> None:
        """End without a word, and without waiting for one."""
        if self._timer is not None:
            self._timer.cancel()
        self._finish()
        if self.is_dialled and self._transport is not None:
            self._transport.abort()

    def probe(self) -> None:
        """Ask for a sign of life; `heard_at` moves when it comes."""
        self._pings += 1
        self._guard(partial(self.quic.send_ping, self._pings))
        self.transmit()

    async def answers_within(self, seconds: float) -> bool:
        """True if the peer shows a sign of life in time."""
        asked_at = self._loop.time()
        self.probe()
        for _ in range(_LOOKS):
            if self.is_ended or self.heard_at > asked_at:
                break
            await asyncio.sleep(seconds / _LOOKS)
        return not self.is_ended and self.heard_at > asked_at

    # What the library does.

    def error_received(self, exc: Exception) -> None:
        if isinstance(exc, ConnectionRefusedError) and not self.quic.is_heard:
            self.reason = REFUSED_PORT
            self._finish()
            self._connection_terminated_handler()

    def follow_ids(
        self, on_issue: Callable[[bytes], None], on_retire: Callable[[bytes], None], on_end: Callable[[], None]
    ) -> None:
        """Set the callbacks for connection ids that become and cease to be its own, and for when all is over."""
        self._connection_id_issued_handler, self._connection_id_retired_handler = on_issue, on_retire
        self._connection_terminated_handler = on_end

    def datagram_received(self, data: bytes | str, addr: Any) -> None:
        self.datagrams_received([cast(bytes, data)], addr)

    def datagrams_received(self, data: list[bytes], addr: Any) -> None:
        self.datagrams += len(data)
        self._guard(partial(super().datagrams_received, data, addr))
        if self.quic.last_words is not None and not self.is_ended:
            # QUIC waits a while before it is over; nothing comes or goes in that while.
            self.reason = self.reason or self.quic.last_words or "closed"
            self._finish()

    def transmit(self) -> None:
        self._guard(self._feed)
        self._guard(super().transmit)
        if self.waiting_requests and not self.is_full:
            self.owner.on_frames(self)

    def _handle_timer(self) -> None:
        self._guard(super()._handle_timer)

    def quic_event_received(self, event: events.QuicEvent) -> None:
        if isinstance(event, events.ConnectionTerminated):
            self.reason = self.reason or event.reason_phrase or "closed"
            self._finish()
        elif self.is_ended:
            return
        elif isinstance(event, events.StreamDataReceived):
            self._take(event.stream_id, event.data, event.end_stream)
        elif isinstance(event, events.HandshakeCompleted):
            self._shake_hands(event)
        elif isinstance(event, events.ProtocolNegotiated):
            self.is_asking = event.alpn_protocol == ASKING
            if not self.is_dialled:
                self.quic.send_stream_data(NONCE_STREAM, self._nonce, end_stream=True)
        elif isinstance(event, events.PingAcknowledged):
            self.heard_at = self._loop.time()
        elif isinstance(event, (events.StreamReset, events.StopSendingReceived)):
            self._abandon(event)

    # Inside.

    def _shake_hands(self, event: events.HandshakeCompleted) -> None:
        self.is_handshaken, self.is_early = True, event.early_data_accepted
        if self._fault is not None:
            self.end(f"{self._fault.code}: {self._fault}", REFUSED)
        elif self.is_dialled:
            self._know_server(self.resumed if event.session_resumed else self.quic.server_key)

    def _know_server(self, server: bytes | None) -> None:
        self.peer = server
        if server is None:
            self.refuse("not_authenticated", "a certificate without an Ed25519 key")
        elif self.expected not in (None, server) or server == self.key.public:
            self.refuse("not_authenticated", "another key was expected")
        else:
            if not self.is_asking:
                for number in FIXED_CHANNELS[1:]:
                    self.send(number, OPENING_FRAME)
            self._open()

    def _open(self) -> None:
        self.is_open = True
        self.settled.set_result(None)
        self.owner.on_opened(self)

    def _take(self, stream: int, data: bytes, is_end: bool) -> None:
        now = self.heard_at = self._loop.time()
        if stream == NONCE_STREAM and self.is_dialled:
            self._nonce = (self._nonce + data)[:NONCE_BYTES]
            self._transmit_soon()
            return
        existing = self.table.by_stream.get(stream)
        channel = existing or self._peers_channel(stream, now)
        if channel is None or self._fault is not None:
            return
        channel.used_at = now
        try:
            count = self._take_frames(channel, data, is_end)
        except BusRefusal as refusal:
            self._fault = refusal
            if self.is_handshaken:
                self.end(f"{refusal.code}: {refusal}", REFUSED)
            return
        channel.begun_at = None if not channel.reader.waiting else now if count else channel.begun_at or now
        channel.ended_in = channel.ended_in or is_end
        if channel.is_over:
            self.table.drop(channel)
        rates = ((self._bytes, len(data)), (self._frames, count), (self._new_streams, existing is None))
        pause = max(rate.take(amount, now) for rate, amount in rates)
        if pause > 0:
            self._held_until = now + pause
            # A timer may fire a little before its time, and there is no second one.
            self._loop.call_at(self._held_until + _TIMER_SECONDS, self._release)
        if pause > 0 or self.inbox_bytes > self.limits.inbox_bytes:
            self.quic.hold()

    def _take_frames(self, channel: Channel, data: bytes, is_end: bool) -> int:
        before, count = channel.reader.waiting, 0
        for frame in channel.reader.feed(data):
            count += 1
            if frame != OPENING_FRAME:
                self._take_frame(channel, frame)
        self.table.partial_bytes += channel.reader.waiting - before
        if is_end and channel.reader.waiting:
            raise BusRefusal("malformed", "a stream that ended within a frame")
        if self.table.partial_bytes > self.limits.partial_bytes:
            raise BusRefusal("over_limit", "too much of frames that are not whole")
        if not (self.is_open or self.is_dialled) and self.inbox_bytes + self.table.partial_bytes > _UNPROVED_BYTES:
            raise BusRefusal("not_authenticated", "too much before the proof")
        return count

    def _take_frame(self, channel: Channel, frame: bytes) -> None:
        if not (self.is_dialled or self.is_open):
            self._know_client(channel, frame)
        self.inbox.append((channel, frame))
        self.inbox_bytes += len(frame)
        if self.peer is not None:
            self.owner.on_frames(self)

    def _know_client(self, channel: Channel, frame: bytes) -> None:
        """Look who sent a frame that comes before the proof, or with it."""
        if self.is_handshaken and channel.number == CONTROL:
            self.peer = check_proof(frame, server=self.key.public, nonce=self._nonce, ticket_key=self.resumed)
            self.hello = frame
            self._open()
        elif self.resumed is not None and isinstance(decode_frame(frame), Ask | Digest):
            self.peer = self.resumed
        elif not self.is_handshaken:
            # Whoever records early data can send it again: it may only ask.
            raise BusRefusal("replayed_early")
        elif self.resumed is not None:
            raise BusRefusal("not_authenticated", "without a proof it may only ask")

    def _peers_channel(self, stream: int, now: float) -> Channel | None:
        """The channel of a stream that the peer opens with what came."""
        if not self.table.is_the_peers(stream):
            return None
        if len(self.table.by_stream) >= 2 * self.limits.streams_at_once:
            self.refuse("over_limit", "too many streams at once")
            return None
        number = stream // 4
        if self.is_dialled or number not in FIXED_CHANNELS:
            number = self.owner.next_channel()
        return self.table.add(number, stream, now)

    def _abandon(self, event: events.StreamReset | events.StopSendingReceived) -> None:
        """The peer gave up one direction of a stream; the other is ended by us."""
        channel = self.table.by_stream.get(event.stream_id)
        if channel is None:
            return
        if isinstance(event, events.StreamReset):
            channel.ended_in = True
            self.send(channel.number, b"", last=True)
        else:
            self.table.give_up(channel)
        if channel.is_over:
            self.table.drop(channel)

    def _feed(self) -> None:
        """Give the library what it can send soon, each stream its share, so that none waits for another."""
        if self.is_ended:
            return
        if not self._greeted and self.is_open and len(self._nonce) == NONCE_BYTES:
            control = self.table.by_number[CONTROL]
            if control.first_frame is not None and self.peer is not None:
                hello = with_proof(control.first_frame, key=self.key, server=self.peer, nonce=self._nonce)
                self.table.replace_first(control, hello)
                self._greeted = True
        for channel in [candidate for candidate in self.table.by_number.values() if candidate.has_frames]:
            # Early data goes before the handshake, and only on a channel of its own.
            if self._greeted or (channel.is_exchange and self.resumed is not None):
                self.table.feed(channel)

    def _release(self) -> None:
        if self.is_ended or not self.quic.is_held or self._loop.time() < self._held_until:
            return
        if self.inbox_bytes <= self.limits.inbox_bytes:
            self._guard(self._take_held)
            self.transmit()

    def _take_held(self) -> None:
        self.quic.release()
        self._process_events()

    def _guard(self, work: Callable[[], None]) -> None:
        """Let the library work on what came; what it cannot go on with ends this link and no other."""
        _, error = attempt(work)
        if error is None:
            return
        if not isinstance(error, Exception):
            raise error
        self.reason = self.reason or f"malformed: {type(error).__name__}: {error}"
        self._finish()
        self._connection_terminated_handler()

    def _finish(self) -> None:
        if not self.is_ended:
            self.is_ended = True
            self.table.clear()
            if not self.settled.done():
                self.settled.set_result(None)
            self.owner.on_ended(self)
