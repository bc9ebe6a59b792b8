"""One channel of a link: a QUIC stream with the frames that wait to be sent on it and the one that is arriving."""

from __future__ import annotations

from collections import deque
from typing import Final

from reasoningbank_bus.wire.frame import FIRST_EXCHANGE
from reasoningbank_bus.wire.stream import FrameReader, with_length

FIXED_CHANNELS: Final = range(FIRST_EXCHANGE)
OPENING_FRAME: Final = b"\x91\xcc\x80"
"""An empty frame of a type that may be skipped: QUIC opens a stream by sending on it, and only whoever dialled can
open the fixed ones."""
_SENT_AHEAD_BYTES: Final = 128 * 1024
"""Bytes of a stream that the library is given before it could send them. More lies here, where it is counted."""


class Channel:
    """Frames of one stream, both ways. Says nothing of what they mean."""

    __slots__ = (
        "_frames",
        "begun_at",
        "ended_in",
        "ended_out",
        "number",
        "reader",
        "stream",
        "used_at",
        "waiting_bytes",
    )

    def __init__(self, number: int, stream: int | None, now: float) -> None:
        self.number = number
        """The number by which the node calls it."""
        self.stream = stream
        """None while it waits for a free one."""
        self.reader = FrameReader()
        self.begun_at: float | None = None
        """Since when a frame is arriving that is not whole."""
        self.used_at = now
        self.ended_in = self.ended_out = False
        self.waiting_bytes = 0
        self._frames: deque[tuple[bytes, bool]] = deque()

    def queue(self, frame: bytes, last: bool) -> None:
        """Keep a frame to be sent; an empty one only ends the channel."""
        self._frames.append((frame, last))
        self.waiting_bytes += len(frame)

    @property
    def first_frame(self) -> bytes | None:
        return self._frames[0][0] if self._frames else None

    def replace_first(self, frame: bytes) -> int:
        """Put another frame in the place of the first; by how many bytes it is longer."""
        old, last = self._frames[0]
        self._frames[0] = (frame, last)
        self.waiting_bytes += len(frame) - len(old)
        return len(frame) - len(old)

    def give_up(self) -> None:
        """The peer takes no more here."""
        self._frames.clear()
        self.waiting_bytes = 0
        self.ended_out = True

    def next_piece(self, sent_ahead: int) -> tuple[bytes, bool] | None:
        """The next piece to give to the library, unless enough of this stream lies there already."""
        if not self._frames or sent_ahead >= _SENT_AHEAD_BYTES:
            return None
        frame, last = self._frames.popleft()
        self.waiting_bytes -= len(frame)
        self.ended_out = last
        return with_length(frame) if frame else b"", last

    @property
    def has_frames(self) -> bool:
        return bool(self._frames)

    @property
    def is_exchange(self) -> bool:
        return self.number not in FIXED_CHANNELS

    @property
    def is_over(self) -> bool:
        return self.ended_in and self.ended_out and not self._frames
