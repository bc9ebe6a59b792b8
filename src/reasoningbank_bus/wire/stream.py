"""Frames cut out of a stream of bytes, each behind its length; a length is checked before anything is kept for it."""

from __future__ import annotations

from collections.abc import Iterator

from reasoningbank_bus.wire.frame import MAX_STREAM_FRAME_BYTES
from reasoningbank_bus.wire.refusals import BusRefusal

LENGTH_BYTES = 4


def with_length(frame: bytes) -> bytes:
    """An encoded frame as it is written to a stream."""
    return len(frame).to_bytes(LENGTH_BYTES, "big") + frame


class FrameReader:
    """Whole frames from the pieces in which a stream arrives. Keeps at most one frame that is not whole yet."""

    def __init__(self, limit: int = MAX_STREAM_FRAME_BYTES) -> None:
        self._limit = limit
        self._kept = bytearray()

    @property
    def waiting(self) -> int:
        """Bytes of a frame that is not whole yet. A stream that ends with some was cut."""
        return len(self._kept)

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Take a piece; give the frames that are whole now. Raises for a length that is too much, once those before it
        were given; nothing more is to be read from such a stream.
        """
        self._kept += piece
        return self._whole_frames()

    def _whole_frames(self) -> Iterator[bytes]:
        buffer, start = self._kept, 0
        try:
            while len(buffer) - start >= LENGTH_BYTES:
                begin = start + LENGTH_BYTES
                length = int.from_bytes(buffer[start:begin], "big")
                if not 0 < length <= self._limit:
                    raise BusRefusal("too_long" if length else "malformed", f"a frame of {length:,} bytes")
                if len(buffer) < begin + length:
                    return
                start = begin + length
                yield bytes(memoryview(buffer)[begin:start])
        finally:
            del buffer[:start]
