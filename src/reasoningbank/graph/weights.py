"""The three bands of an edge's weight: core logic, a strong bridge, the same topic.

Weights between two bands, and below all of them, are taken as they are: a link that no longer holds fades through them.
Each counts for the band whose lower bound it reaches.
"""

from __future__ import annotations

CORE = 0.85
"""Direct, causal or core logic: a request triggers an action. Up to 1."""
BRIDGE = 0.55
"""A strong bridge: a solution and its problem. Up to 0.75."""
TOPICAL = 0.25
"""A weak bridge: two that speak of the same thing. Up to 0.45."""


def band_of(weight: float) -> str:
    """core, bridge or topical; faint for what is below all three."""
    return next((name for name, least in _BANDS if weight >= least), "faint")


_BANDS = (("core", CORE), ("bridge", BRIDGE), ("topical", TOPICAL))
