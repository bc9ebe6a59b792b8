"""Protocol of the search engine that a bank uses; `wiring` makes one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, TypeVar

from reasoningbank.core.types import EmbedderIdentity
from reasoningbank.ports import Damage, IndexInfo

if TYPE_CHECKING:
    from reasoningbank.recall.index_progress import Progress
    from reasoningbank.recall.search import Searcher

T = TypeVar("T")

CATCH_UP_WITHIN_S = 3600.0
"""How long somebody who needs the whole index waits for it; who wants less says so."""


class SearchEngine(Protocol):
    """Protocol of the searching side of a bank, opened only when something is searched."""

    @property
    def identity(self) -> EmbedderIdentity: ...

    @property
    def holdout(self) -> float:
        """The chance that a memory which would have been shown in a session is withheld."""
        ...

    def require_configured_embedder(self) -> None:
        """Refuse to search an index of another embedder, or in another engine, than the configuration asks for."""
        ...

    def using(self, use: Callable[[Searcher], T], *, follows: bool = False) -> T:
        """Run `use`, again on a fresh index if this one was removed or turns out to be damaged.

        Where `use` begins by following the feed, that tells whether this index is still in force: nothing else is
        asked then.
        """
        ...

    def searching(self, use: Callable[[Searcher], T]) -> T:
        """As `using` of what follows the feed; while the engine that keeps the index is away, with a searcher that goes
        by the words of the newest records.
        """
        ...

    @property
    def is_open(self) -> bool:
        """Whether an index is open here already."""
        ...

    def following(self, told: Callable[[int], None] | None) -> AbstractContextManager[Callable[[int], None] | None]:
        """While many memories come in, in the `with` block: what to tell how many came so far, as well as `told`. From
        some thousands on the index is brought forward meanwhile, where that takes nothing from them.
        """
        ...

    def index_info(self) -> IndexInfo | None:
        """What is known of the index without opening it for search; None when there is none yet."""
        ...

    def index_damage(self) -> list[Damage]:
        """What of the index does not match its checksums or the records."""
        ...

    def reindex(
        self, embedder: str | None, dimension: int | None, progress: Progress | None, engine: str | None = None
    ) -> EmbedderIdentity: ...

    def drop_left_over(self) -> None:
        """Remove what an interrupted reindex has left."""
        ...

    def give_up_index(self) -> bool:
        """Remove every index to make room; the next search builds one. False where there is none to remove."""
        ...

    def flush_shown(self) -> None:
        """Write the log of what was shown down now."""
        ...

    def close(self) -> None: ...
