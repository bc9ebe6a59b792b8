"""Searches by the index, and by the words of the newest records while the engine that keeps it is away.

An engine that hangs costs a deadline each time it is asked. So after a try in vain it is left alone for as long as that
took: refused at once it is asked again by the next search, and one that hangs holds up half of the time at most.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from reasoningbank.core.errors import BankFull, IndexUnavailable
from reasoningbank.wiring.index_choice import IndexChoice
from reasoningbank.wiring.notices import tell
from reasoningbank.wiring.searcher_in_force import SearcherInForce
from reasoningbank.wiring.searcher_maker import SearcherMaker

if TYPE_CHECKING:
    from reasoningbank.recall.search import Searcher

T = TypeVar("T")
MOST_REST_S = 10.0


class IndexOrWords:
    def __init__(self, searcher: SearcherInForce, choice: IndexChoice, maker: SearcherMaker) -> None:
        self._searcher, self._choice, self._maker = searcher, choice, maker
        self._rest_until = float("-inf")
        self._trouble = ""
        """What the engine said, or what was said of it, when it was last asked in vain."""
        self._is_told = False

    def using_index(self, use: Callable[[Searcher], T], *, follows: bool) -> T:
        """Run `use` with the index; how long its engine kept silent is noted for searches."""
        began = monotonic()
        try:
            done = self._searcher.using(use, follows=follows)
        except IndexUnavailable as error:
            now = monotonic()
            self._rest_until, self._trouble = now + min(MOST_REST_S, now - began), str(error)
            raise
        self._rest_until, self._is_told = float("-inf"), False
        return done

    def searching(self, use: Callable[[Searcher], T]) -> T:
        """Run `use` with the index, or without while its engine is away, or has no room on its disk to be opened."""
        if monotonic() >= self._rest_until:
            try:
                return self.using_index(use, follows=True)
            except IndexUnavailable:
                pass
            except BankFull as error:
                self._trouble = str(error)
        found = use(self._maker.make_without_index(self._choice.in_force().identity))
        self._tell()
        return found

    def _tell(self) -> None:
        """Once for as long as it is away."""
        from reasoningbank.recall.fallback_index import MOST_LOOKED_AT

        if not self._is_told:
            self._is_told = True
            tell(f"{self._trouble} Until then searches go by words, among the newest {MOST_LOOKED_AT:,} memories.")
