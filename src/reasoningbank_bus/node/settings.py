"""Settings of the node: how often it gossips, probes and reconciles, and what it takes from one peer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """Times are seconds. What is per second may be used up to `burst_seconds` at once."""

    name: str = ""
    listen: str = ""
    peers: tuple[tuple[str, bytes | None], ...] = ()
    """Addresses to connect to, with the key that is expected there."""

    round_seconds: float = 0.2
    """Interval of gossip: rumours are passed on once in a round."""
    fanout: int = 3
    """Peers that are told a rumour in one round."""
    copies: int = 3
    """Peers that get the entries themselves from one node; others are offered the places, one in a round."""
    least_offers: int = 4
    """Peers that are offered the places, and as many more as the members have binary digits."""
    reconcile_seconds: float = 2.0
    """Interval at which the sets are compared with those of one random peer."""

    probe_seconds: float = 0.5
    probe_timeout_seconds: float = 0.25
    indirect_probes: int = 3
    suspicion_factor: float = 4.0
    """A suspect has this · log10(members) · probe_seconds to answer, three times as long while nobody agrees."""
    most_local_health: int = 8

    least_links: int = 8
    """Connections that a node seeks to have; with fewer members than `most_links` it connects to all."""
    most_links: int = 24
    most_members: int = 4096
    dial_seconds: float = 1.0
    most_dial_seconds: float = 60.0

    bytes_per_second: int = 64 * 1024 * 1024
    frames_per_second: int = 2_000
    entries_per_second: int = 50_000
    refused_entries_per_second: int = 100
    news_per_second: int = 2_000
    ranges_per_second: int = 20_000
    burst_seconds: float = 4.0
    open_requests: int = 16
    open_exchanges: int = 16
    shut_out_seconds: float = 600.0
    shut_out_below: float = -50.0
    score_mends_per_second: float = 0.5

    future_ms: int = 10 * 60 * 1000
    """Clock skew: what was written later than this from now is refused for now."""
