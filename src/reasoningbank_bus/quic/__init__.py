"""The transport of the bus: frames over QUIC between nodes that know each other by their keys (qh3)."""
