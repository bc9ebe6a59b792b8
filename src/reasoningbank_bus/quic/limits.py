"""Limits on what one peer may take of this process: bytes, streams, frames and time, counted here and not by the
library.

The library lets a peer raise its own flow-control limits as it goes; these do not move.
"""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportLimits:
    handshake_seconds: float = 5.0
    """From the first datagram to the proof of the client's key; also how long dialling waits."""
    idle_seconds: float = 30.0
    keep_alive_seconds: float = 8.0
    frame_seconds: float = 30.0
    """In which a frame that was begun must be whole."""
    flush_seconds: float = 3.0
    """How long stopping waits until what was queued has arrived at each peer."""
    bytes_per_second: int = 64 * MIB
    frames_per_second: int = 20_000
    streams_per_second: int = 500
    """Beyond a rate nothing more of that peer is read until it is kept."""
    streams_at_once: int = 100
    """Open streams of either side. The library announces this; a further exchange waits for one to end."""
    window_bytes: int = 4 * MIB
    """Bytes that may be on their way to us in one connection."""
    inbox_bytes: int = 4 * MIB
    """Frames that came and wait for the node. Beyond, nothing more of that peer is read."""
    partial_bytes: int = 16 * MIB
    """Frames that are not whole yet, of all streams of a connection."""
    outbox_bytes: int = 16 * MIB
    """Bytes that wait to be sent to a peer that takes them slowly. Beyond, what gossip will mend is left out; half
    as much stops answering its requests.
    """
    half_open: int = 64
    """Connections whose client has not proved its key."""
    half_open_freely: int = 32
    """Beyond so many, a client must first show that its address is its own (QUIC's Retry)."""
    links: int = 512


class RateCount:
    """How much came in the last second, by a bucket that fills evenly and holds one second's worth."""

    __slots__ = ("_at", "_left", "_per_second")

    def __init__(self, per_second: int, now: float) -> None:
        self._per_second = per_second
        self._left = float(per_second)
        self._at = now

    def take(self, amount: int, now: float) -> float:
        """Count it; say for how many seconds nothing more should be taken."""
        self._left = min(self._per_second, self._left + (now - self._at) * self._per_second) - amount
        self._at = now
        return max(0.0, -self._left / self._per_second)
