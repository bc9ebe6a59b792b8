"""Answers kept by the feed's position: what follows from the records alone is worked out once until one changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

from reasoningbank_server.idempotency import Encoded

MOST_KEPT = 64


class KeptAnswers:
    """Of several threads at once each may work it out; none gets an answer from before the position that it names."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[int, float, Encoded]] = {}

    def find_or_make(self, key: Hashable, position: int, longest_s: float, make: Callable[[], Encoded]) -> Encoded:
        """`position` is read before: a change that comes meanwhile makes the next one ask anew."""
        now = time.monotonic()
        found = self._kept.get(key)
        if found is not None and found[0] == position and now < found[1]:
            return found[2]
        made = make()
        self._kept.pop(key, None)
        self._kept[key] = position, now + longest_s, made
        for oldest in [*self._kept][:-MOST_KEPT]:
            self._kept.pop(oldest, None)
        return made
