"""Finds owners of jobs that are gone, by watching their leases for long enough.

Trusts no clock but the length of its own looks, and even of these each counts for no more than a moment: whatever a
clock does between two looks, forward or back, an owner that beats is never taken for dead, and one that does not is
found after the same number of looks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reasoningbank.core.types import Lease
from reasoningbank.learn.queue import HOST, LEASE_S

LONGEST_LOOK_S = 5.0
HOST_LEASE_S = 900.0
"""An agent that was handed a job thinks for minutes and does not beat."""


class LeaseMonitor:
    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._looked_at: float | None = None
        self._seen: dict[str, tuple[str | None, int, float]] = {}
        """Owner, beat, and for how long they have been the same."""

    def stale(self, leases: Sequence[Lease], is_gone: Callable[[str], bool]) -> list[Lease]:
        """Jobs that lost the fewest workers first: whatever kills them goes last, and the others get their turn."""
        now = self._monotonic()
        passed_s = 0.0 if self._looked_at is None else min(LONGEST_LOOK_S, max(0.0, now - self._looked_at))
        self._looked_at = now
        looks, stale = {}, []
        for lease in leases:
            owner, beat, still_s = self._seen.get(lease.job_id, (None, -1, 0.0))
            still_s = still_s + passed_s if (owner, beat) == (lease.owner, lease.beat) else 0.0
            looks[lease.job_id] = (lease.owner, lease.beat, still_s)
            patience_s = HOST_LEASE_S if (lease.owner or "").startswith(HOST) else LEASE_S
            if still_s >= patience_s or is_gone(lease.owner or ""):
                stale.append(lease)
        self._seen = looks
        return sorted(stale, key=lambda lease: (lease.lost, lease.attempts, lease.job_id))
