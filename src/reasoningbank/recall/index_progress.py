"""Progress of an index that catches up, as one count from nothing to all: words first, then vectors."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with (done, total)."""

WORDS_SHARE = 0.1
"""How much of the way is done when every word is in and no vector yet."""


class IndexProgress:
    """Turns two stages, of which only the first one's length is known, into one count that never goes back."""

    def __init__(self, progress: Progress | None, owed: int) -> None:
        self._progress = progress
        self._owed = owed
        self._begun_at = 0.0

    @property
    def is_wanted(self) -> bool:
        return self._progress is not None

    def note_words(self, done: int, total: int) -> None:
        self._begun_at = WORDS_SHARE
        self._tell(WORDS_SHARE * done / max(1, total))

    def note_vectors(self, done: int, left: int) -> None:
        self._tell(self._begun_at + (1.0 - self._begun_at) * done / max(1, done + left))

    def note_end(self) -> None:
        self._tell(1.0)

    def _tell(self, share: float) -> None:
        if self._progress is not None and self._owed:
            self._progress(int(self._owed * min(1.0, share)), self._owed)
