"""Brings the index up to date for a search, without waiting for anybody.

    up to date → the index
    behind, and free to write → brought up to date, as far as the budget goes
    behind, and somebody else is at it → the index continued in memory with what it lacks, where it can be

Whoever has the right to write folds for all: a search takes it only when nobody has it, and not right after it or
another process has. What is continued in memory is thrown away with the next commit of the index.
"""

from __future__ import annotations

import errno
import threading
import time
from contextlib import suppress

from reasoningbank.core.errors import BankDamaged, BankFull, BankReadOnly
from reasoningbank.core.frozen import dataclass
from reasoningbank.ports import Index, IndexPosition, IndexUpkeep
from reasoningbank.recall.index_follower import Follower
from reasoningbank.recall.mending import batches_to_restore

CATCH_UP_BUDGET_S = 1.0
"""How long a search works on the index first, unless it says otherwise."""
AHEAD_BUDGET_S = 0.1
"""How long a search works on what the index lacks while somebody else is at the index."""
AHEAD_CHANGES_PER_BATCH = 256
AHEAD_VECTORS = 64
"""More than so many vectors are left to whoever writes the index: their words are enough to find them."""
OTHERS_TURN_S = 0.5
"""After another process has written the index, a search leaves it alone for so long."""
REST_PER_FOLD = 10.0
"""After a search has written the index itself, the next ones leave it alone for so many times as long as that took."""
MOST_REST_S = 2.0
THREAD_WAIT_S = 0.25
"""How long a thread waits for another one that is continuing the index in memory."""


@dataclass(frozen=True, slots=True)
class View:
    index: Index
    seen: int | None
    """The change up to which it knows all; None when something is owed."""
    owed: int
    """Changes and vectors that it lacks."""


class Current:
    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._index = follower.index
        self._lock = threading.Lock()
        self._ahead: tuple[tuple[int, int], Follower] | None = None
        self._newest = 0
        """The change up to which that was told the newest changes out of turn."""
        self._known: tuple[int, int] | None = None
        """The commit that was seen last."""
        self._rest_until = float("-inf")
        """Until when writing the index is left to others, or to later."""
        self._damaged: tuple[int, int] | None = None
        """A commit of which parts are damaged: it is searched without them."""

    def view(self, budget_s: float | None = None, head: IndexPosition | None = None) -> View:
        """`head` is that of the feed, where it was seen just now."""
        budget_s = CATCH_UP_BUDGET_S if budget_s is None else budget_s
        stamp = self._index.position.stamp
        if stamp == self._damaged:
            return self._continue(budget_s)
        if stamp != self._known:
            if self._known is not None:
                self._rest_until = time.monotonic() + OTHERS_TURN_S
            self._known = stamp
        if (seq := self._follower.seen_all(head)) is not None:
            return View(self._index, seq, 0)
        upkeep = self._index.upkeep
        # What cannot be continued in memory is brought forward by each search that finds it free.
        if upkeep is None or time.monotonic() >= self._rest_until:
            new_view: View | None = None
            try:
                with suppress(BankReadOnly), self._follower.writing(0.0) as is_writer:
                    if is_writer:
                        new_view = self._fold(budget_s)
            except BankFull:
                # Nobody writes the vectors that are owed as long as there is no room: a search has its own.
                return self._continue(budget_s, ahead_s=budget_s, most_vectors=None)
            if new_view is not None:
                # A little with each fold, so that damage which hides something is found though nobody comes across it.
                if upkeep is not None and not upkeep.is_sound_at(self._index.position.applied):
                    raise BankDamaged("A part of the index does not match its checksum.")
                return new_view
        return self._continue(budget_s)

    def distrust(self) -> None:
        """Search without the parts that are damaged, until the index is another."""
        self._damaged = self._index.position.stamp
        with self._lock:
            self._ahead = None

    def _fold(self, budget_s: float) -> View:
        began = time.monotonic()
        seq = self._follower.follow(lambda: time.monotonic() > began + budget_s)
        now, self._known = time.monotonic(), self._index.position.stamp
        # Not while something is owed that no search can make up for in memory.
        self._rest_until = now + min(MOST_REST_S, REST_PER_FOLD * (now - began)) if seq is not None else now
        if seq is None and self._index.position.applied < self._follower.store.head():
            return self._continue(0.0)
        return View(self._index, seq, 0 if seq is not None else self._follower.lag())

    def _continue(
        self, budget_s: float, *, ahead_s: float | None = None, most_vectors: int | None = AHEAD_VECTORS
    ) -> View:
        upkeep = self._index.upkeep
        if upkeep is None or not self._lock.acquire(timeout=THREAD_WAIT_S):
            return View(self._index, None, self._follower.lag())
        try:
            follower = self._begin(upkeep)
            deadline = time.monotonic() + min(budget_s, AHEAD_BUDGET_S if ahead_s is None else ahead_s)
            self._newest_first(follower)
            seq = follower.follow(lambda: time.monotonic() > deadline, most_vectors=most_vectors)
            return View(follower.index, seq, 0 if seq is not None else follower.lag())
        except OSError as error:
            if error.errno != errno.ENOMEM:
                raise
            # A system that promises no more memory than it has: what is indexed can be found all the same.
            return View(self._index, None, self._follower.lag())
        finally:
            self._lock.release()

    def _begin(self, upkeep: IndexUpkeep) -> Follower:
        if self._ahead is None or self._ahead[0] != self._index.position.stamp:
            ahead = upkeep.ahead()
            stamp, follower = ahead.position.stamp, self._follower.on(ahead, AHEAD_CHANGES_PER_BATCH)
            if stamp == self._damaged:
                assert ahead.upkeep is not None
                ahead.upkeep.heal(lambda whole: batches_to_restore(follower, whole))
            self._ahead, self._newest = (stamp, follower), 0
        return self._ahead[1]

    def _newest_first(self, follower: Follower) -> None:
        """Where the index lacks more than there is time for, begin with what was written last: somebody who has just
        stored something looks for that.
        """
        head = follower.store.head()
        if head - max(self._newest, follower.index.position.applied) <= AHEAD_CHANGES_PER_BATCH and not self._newest:
            return
        after = max(self._newest, head - AHEAD_CHANGES_PER_BATCH)
        follower.take_as_they_are(follower.store.changes(after, AHEAD_CHANGES_PER_BATCH))
        self._newest = head
