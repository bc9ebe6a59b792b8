"""Status of the node: its peers, how far apart they are, what came, went and was refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reasoningbank_bus.refusal_tally import LatestRefusal


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerStatus:
    key: bytes
    name: str
    address: str
    state: str
    """alive, suspect or dead."""
    connected: bool
    seconds_since_heard: float | None
    seconds_since_reconciled: float | None
    seconds_since_second: float | None
    """Since it said that another machine came to it with our key."""
    lacks: int
    """Entries that it lacked when its sets were last compared with ours."""
    behind: int
    """Entries that we lacked."""
    clock_ahead_ms: int
    score: float
    counts: Mapping[str, int]
    """frames_in, bytes_in, entries_in, frames_out, bytes_out, entries_out."""
    refused: Mapping[str, int]
    """Counts of what we refused of it, by code."""
    refuses: Mapping[str, int]
    """Counts of what it refused of our own, by code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    key: bytes
    incarnation: int
    members: int
    entries: Mapping[str, int]
    """How many there are, by set: scope:namespace, and ":" for grants and revocations."""
    rumours: int
    refused: Mapping[str, int]
    latest_refused: Mapping[str, LatestRefusal]
    """The latest refusal of each code."""
    peers: tuple[PeerStatus, ...]
