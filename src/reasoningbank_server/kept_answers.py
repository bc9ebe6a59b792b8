"""Answers kept by the feed's position: what follows from the records alone is worked out once until one changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

from reasoningbank_server.idempotency import Encoded

MOST_KEPT = 64


class KeptAnswers:
    """Cache of answers by feed position. Concurrent misses may compute the same answer; stale ones are never
    returned.
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[int, float, Encoded]] = {}

    def find_or_make(self, key: Hashable, position: int, longest_s: float, make: Callable[[], Encoded]) -> Encoded:
        """The cached answer, or a new one. `position` is read before: a change that comes meanwhile makes the next
        one ask anew.
        """
        now = time.monotonic()
        entry = self._kept.get(key)
        if entry is not None and entry[0] == position and now < entry[1]:
            return entry[2]
        answer = make()
        self._kept.pop(key, None)
        self._kept[key] = position, now + longest_s, answer
        for oldest in [*self._kept][:-MOST_KEPT]:
            self._kept.pop(oldest, None)
        return answer
