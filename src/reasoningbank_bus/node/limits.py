"""Limits and scores: how much one peer may send, and who is shut out because of what it sent."""

from __future__ import annotations

from collections import OrderedDict

from reasoningbank_bus.node.settings import NodeSettings

MOST_KEYS = 4096
COSTS = {
    "malformed": 10.0,
    "too_long": 10.0,
    "signature": 10.0,
    "not_authenticated": 1.0,
    "version": 10.0,
    "over_limit": 1.0,
}
"""Points that a refusal costs its sender. What honest peers may see differently (rights, caps, clocks) costs
nothing.
"""


class Allowed:
    """Token bucket: a rate per second, saved up for a bounded time."""

    __slots__ = ("_at", "_left", "_most", "_rate")

    def __init__(self, rate: float, burst_seconds: float, now: float) -> None:
        self._rate = rate
        self._most = self._left = rate * burst_seconds
        self._at = now

    def take(self, amount: float, now: float) -> bool:
        """Count it if it is allowed."""
        self._left = min(self._most, self._left + max(0.0, now - self._at) * self._rate)
        self._at = now
        if amount > self._left:
            return False
        self._left -= amount
        return True


class Scores:
    """A score for each key, kept over reconnects; it falls with each refusal and mends with time."""

    def __init__(self, settings: NodeSettings) -> None:
        self._settings = settings
        self._scores: OrderedDict[bytes, tuple[float, float]] = OrderedDict()
        self._out: OrderedDict[bytes, float] = OrderedDict()

    def score(self, key: bytes, now: float) -> float:
        score, at = self._scores.get(key, (0.0, now))
        return min(0.0, score + (now - at) * self._settings.score_mends_per_second)

    def charge(self, key: bytes, code: str, now: float) -> bool:
        """Count a refusal; True when the peer is to be shut out for it."""
        cost = COSTS.get(code, 0.0)
        if not cost:
            return False
        score = self.score(key, now) - cost
        self._scores[key] = (score, now)
        self._scores.move_to_end(key)
        if len(self._scores) > MOST_KEYS:
            self._scores.popitem(last=False)
        if score >= self._settings.shut_out_below:
            return False
        self._out[key] = now + self._settings.shut_out_seconds
        del self._scores[key]
        if len(self._out) > MOST_KEYS:
            self._out.popitem(last=False)
        return True

    def is_shut_out(self, key: bytes, now: float) -> bool:
        until = self._out.get(key)
        if until is None:
            return False
        if now < until:
            return True
        del self._out[key]
        return False
