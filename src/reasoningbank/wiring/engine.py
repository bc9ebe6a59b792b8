"""The search engine of a bank, as `bank.search_engine` asks for one: choice, searcher, examination and reindex of it.

Opening a bank opens no index and no model; the first search does.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TypeVar

from reasoningbank.core.confidence import ConfidencePolicy
from reasoningbank.core.frozen import replace
from reasoningbank.core.settings import DEFAULTS, EmbeddingSettings, Settings
from reasoningbank.core.types import EmbedderIdentity
from reasoningbank.ports import Damage, IndexInfo, Store
from reasoningbank.wiring.index_choice import IndexChoice
from reasoningbank.wiring.index_helper import IndexHelper
from reasoningbank.wiring.index_or_words import IndexOrWords
from reasoningbank.wiring.kept_builds import BuildsMaker
from reasoningbank.wiring.searcher_in_force import SearcherInForce
from reasoningbank.wiring.searcher_maker import SearcherMaker

if TYPE_CHECKING:
    from reasoningbank.config import Config
    from reasoningbank.location import Location
    from reasoningbank.recall.index_progress import Progress
    from reasoningbank.recall.search import Searcher
    from reasoningbank.wiring.index_examination import IndexExamination
    from reasoningbank.wiring.reindexing import Reindexing

T = TypeVar("T")


class IndexEngine:
    """Searching with an index of which there may be several builds.

    The setting `index` names the engine, the embedder and the build in force. A reindex fills another build, in this
    engine or another, and then changes the setting.
    """

    def __init__(
        self,
        store: Store,
        location: Location,
        config: Config,
        policy: ConfidencePolicy,
        clock: Callable[[], float],
        *,
        holdout: float = 0.0,
        settings: Settings = DEFAULTS,
    ) -> None:
        self._store, self._location = store, location
        self._policy, self._settings = policy, settings
        self._holdout = holdout
        self._choice = IndexChoice(store, location, config, settings)
        self._builds = BuildsMaker(store, location, config)
        self._maker = SearcherMaker(store, config, policy, clock, replace(settings.search, holdout=holdout))
        self._searcher = SearcherInForce(store, self._choice, self._builds, self._maker)
        self._index_or_words = IndexOrWords(self._searcher, self._choice, self._maker)

    @property
    def identity(self) -> EmbedderIdentity:
        return self._choice.identity

    @property
    def holdout(self) -> float:
        return self._holdout

    def agree_on(self, asked: EmbeddingSettings, engine: str | None = None) -> None:
        self._choice.agree_on(asked, engine, self._builds)

    def require_configured_embedder(self) -> None:
        self._choice.require_configured()

    @property
    def is_open(self) -> bool:
        return self._searcher.is_open

    def using(self, use: Callable[[Searcher], T], *, follows: bool = False) -> T:
        with self._builds.faults():
            return self._index_or_words.using_index(use, follows=follows)

    def searching(self, use: Callable[[Searcher], T]) -> T:
        with self._builds.faults():
            return self._index_or_words.searching(use)

    def following(self, progress: Callable[[int], None] | None) -> AbstractContextManager[Callable[[int], None] | None]:
        return IndexHelper(self._location, self._choice.in_force, self._policy, self._settings, progress)

    def index_info(self) -> IndexInfo | None:
        with self._builds.faults():
            return self._examination().info()

    def index_damage(self) -> list[Damage]:
        return self._examination().damage()

    def _examination(self) -> IndexExamination:
        from reasoningbank.wiring.index_examination import IndexExamination

        return IndexExamination(self._store, self._choice.in_force(), self._searcher, self._maker)

    def reindex(
        self, embedder: str | None, dimension: int | None, progress: Progress | None, engine: str | None = None
    ) -> EmbedderIdentity:
        with self._builds.faults():
            return self._reindexing().run(embedder, dimension, progress, engine)

    def drop_left_over(self) -> None:
        with self._builds.faults():
            self._reindexing().drop_left_over()

    def _reindexing(self) -> Reindexing:
        from reasoningbank.wiring.reindexing import Reindexing

        return Reindexing(self._store, self._choice, self._searcher, self._maker)

    def give_up_index(self) -> bool:
        with self._builds.faults():
            return self._searcher.remove_all()

    def flush_shown(self) -> None:
        self._maker.flush_shown()

    def close(self) -> None:
        self._searcher.close()
