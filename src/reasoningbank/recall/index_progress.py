"""Progress of an index that catches up, as one count from nothing to all: words first, then vectors."""

from __future__ import annotations

from collections.abc import Callable

from reasoningbank.ports import Store

Progress = Callable[[int, int], None]
"""Called with (done, total)."""

WORDS_SHARE = 0.1
"""How much of the way is done when every word is in and no vector yet."""
COUNTED_EXACTLY = 1_000


class IndexProgress:
    """Turns two stages, of which only the first one's length is known, into one count that never goes back."""

    def __init__(self, progress: Progress | None, owed: int) -> None:
        self._progress = progress
        self._owed = owed
        self._begun_at = 0.0

    @property
    def is_wanted(self) -> bool:
        return self._progress is not None

    def note_words(self, count: int, total: int) -> None:
        self._begun_at = WORDS_SHARE
        self._tell(WORDS_SHARE * count / max(1, total))

    def note_vectors(self, count: int, remaining: int) -> None:
        self._tell(self._begun_at + (1.0 - self._begun_at) * count / max(1, count + remaining))

    def note_end(self) -> None:
        self._tell(1.0)

    def _tell(self, share: float) -> None:
        if self._progress is not None and self._owed:
            self._progress(int(self._owed * min(1.0, share)), self._owed)


def count_changes(store: Store, after: int) -> int:
    """How many changes there are after a position: exactly where they are few, and at most so many where not.

    Positions may have gaps, so their difference is no count; it is never less.
    """
    most = store.head() - after
    if most <= 0:
        return 0
    return count if (count := len(store.changes(after, COUNTED_EXACTLY))) < COUNTED_EXACTLY else most
