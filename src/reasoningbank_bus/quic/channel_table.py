"""The channels of a link: which stream is whose, what waits on each, giving it to QUIC so that none blocks another."""

from __future__ import annotations

from reasoningbank_bus.quic.channel import FIXED_CHANNELS, Channel
from reasoningbank_bus.quic.connection import BusConnection
from reasoningbank_bus.wire.frame import FIRST_EXCHANGE


class ChannelTable:
    def __init__(self, quic: BusConnection, streams_at_once: int, now: float) -> None:
        self._quic = quic
        self._is_dialled = quic.configuration.is_client
        self._streams_at_once = streams_at_once
        self._own_streams = FIRST_EXCHANGE if self._is_dialled else 0
        self.by_number: dict[int, Channel] = {}
        self.by_stream: dict[int, Channel] = {}
        self.queued_bytes = 0
        """Bytes of frames that wait here to be given to the library."""
        self.partial_bytes = 0
        """Bytes of frames that are arriving and not whole."""
        if self._is_dialled:
            for number in FIXED_CHANNELS:
                self.add(number, 4 * number, now)

    def add(self, number: int, stream: int | None, now: float) -> Channel:
        """The channel of this number, made if there is none, on this stream if it has one."""
        channel = self.by_number.setdefault(number, Channel(number, stream, now))
        if stream is not None:
            channel.stream = stream
            self.by_stream[stream] = channel
        return channel

    def drop(self, channel: Channel) -> None:
        """Forget an exchange that is over."""
        if channel.is_exchange and self.by_number.pop(channel.number, None) is not None:
            self.queued_bytes -= channel.waiting_bytes
            self.partial_bytes -= channel.reader.waiting
            if channel.stream is not None:
                del self.by_stream[channel.stream]

    def clear(self) -> None:
        self.by_number.clear()
        self.by_stream.clear()
        self.queued_bytes = 0

    def is_the_peers(self, stream: int) -> bool:
        """True if it is a bidirectional stream that only the peer can open."""
        return stream % 4 == (1 if self._is_dialled else 0)

    def queue(self, channel: Channel, frame: bytes, last: bool) -> None:
        channel.queue(frame, last)
        self.queued_bytes += len(frame)

    def replace_first(self, channel: Channel, frame: bytes) -> None:
        self.queued_bytes += channel.replace_first(frame)

    def give_up(self, channel: Channel) -> None:
        """The peer takes no more on this channel."""
        self.queued_bytes -= channel.waiting_bytes
        channel.give_up()

    def feed(self, channel: Channel) -> None:
        """Give the library what it can send soon of a channel."""
        if channel.stream is None and not self._give_stream(channel):
            return
        assert channel.stream is not None
        before = channel.waiting_bytes
        while (piece := channel.next_piece(self._quic.get_send_buffer_size(channel.stream))) is not None:
            self._quic.send_stream_data(channel.stream, piece[0], end_stream=piece[1])
        self.queued_bytes -= before - channel.waiting_bytes
        if channel.is_over:
            self.drop(channel)

    def _give_stream(self, channel: Channel) -> bool:
        """A stream of our own, unless too many are open; a fixed channel waits until whoever dialled has opened it."""
        if not channel.is_exchange or self._own_streams >= (
            self._quic.max_concurrent_bidi_streams or self._streams_at_once
        ):
            return False
        self.add(channel.number, 4 * self._own_streams + (0 if self._is_dialled else 1), channel.used_at)
        self._own_streams += 1
        return True
