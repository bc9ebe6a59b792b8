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
        """True if an index is open here already."""
        ...

    def following(self, progress: Callable[[int], None] | None) -> AbstractContextManager[Callable[[int], None] | None]:
        """Callback that takes how many memories came so far, for the `with` block in which many come in; it calls
        `progress` as well. From some thousands on the index is brought forward meanwhile, where that takes
        nothing from them.
        """
        ...

    def index_info(self) -> IndexInfo | None:
        """Facts about the index, without opening it for search; None when there is none yet."""
        ...

    def index_damage(self) -> list[Damage]:
        """Parts of the index that do not match its checksums or the records."""
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
