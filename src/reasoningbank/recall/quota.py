"""Quota of untrusted memories in an answer: one place in five.

Whoever floods the bank must neither fill the answer nor push others out of it: the surplus is dropped before anything
is cut to the limit. Which memory is trusted how far is asked of the records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from reasoningbank.core.origins import Trust, trust_named
from reasoningbank.core.types import Memory
from reasoningbank.guard.trust import trust_of
from reasoningbank.recall.query import ANY, Query

PLACES_PER_UNTRUSTED = 5


class Quota:
    """Places of one answer that the untrusted may take."""

    def __init__(self, query: Query) -> None:
        self._limit = query.limit
        self._least = Trust.UNTRUSTED if query.trust == ANY else trust_named(query.trust)
        self._free = 0

    def trimmed(
        self, rows: list[int], ids: Sequence[str], kept_levels: Mapping[str, int], reasons: Counter[str]
    ) -> list[int]:
        """Candidates without those that are trusted too little and without the surplus of untrusted ones, in order."""
        if not kept_levels:
            self._free = self._places_left(len(rows))
            return rows
        levels = [kept_levels.get(ids[row], Trust.TRUSTED) for row in rows]
        eligible = [row for row, level in zip(rows, levels, strict=True) if level >= self._least]
        reasons["trust"] = len(rows) - len(eligible)
        self._free = places = self._places_left(sum(level > Trust.UNTRUSTED for level in levels))
        selection = []
        for row in eligible:
            if kept_levels.get(ids[row], Trust.TRUSTED) == Trust.UNTRUSTED:
                if not places:
                    continue
                places -= 1
            selection.append(row)
        reasons["trust_quota"] = len(eligible) - len(selection)
        return selection

    def _places_left(self, trusted_count: int) -> int:
        if self._limit >= PLACES_PER_UNTRUSTED:
            return self._limit // PLACES_PER_UNTRUSTED
        # One in five of fewer than five is none; but a place that nobody else wants may be had.
        return int(trusted_count < self._limit)

    def seated(self, memory: Memory, kept_levels: Mapping[str, int], reasons: Counter[str]) -> Trust | None:
        """Trust level of a memory that is about to be shown; None when there is no place for it."""
        trust = trust_of(memory, kept_levels)
        if trust < self._least:
            reasons["trust"] += 1
            return None
        if trust is Trust.UNTRUSTED:
            if not self._free:
                reasons["trust_quota"] += 1
                return None
            self._free -= 1
        return trust
