"""Puts a searcher together: the index of memories, those of tasks and of the graph beside it, and their embedder.

Loads no model; whoever first needs a vector does.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING

from reasoningbank.core.confidence import ConfidencePolicy, policies
from reasoningbank.core.frozen import replace
from reasoningbank.core.settings import SearchSettings
from reasoningbank.core.types import EmbedderIdentity
from reasoningbank.ports import Halves, IndexBuilds, Store
from reasoningbank.wiring.embedders import make_embedder
from reasoningbank.wiring.kept_index import KeptIndex

if TYPE_CHECKING:
    from reasoningbank.config import Config
    from reasoningbank.ports import Embedder, Index, Reader
    from reasoningbank.recall.exposure_log import ShownLog
    from reasoningbank.recall.index_follower import Feed, Follower
    from reasoningbank.recall.search import Searcher

TASKS, GRAPH = "tasks", "graph"
"""Names of the indexes that lie beside the index of memories."""
ANEW_WAIT_S = 1.0
"""How long somebody who found an index spoiled waits for another process that may be mending it."""


class SearcherMaker:
    def __init__(
        self,
        store: Store,
        config: Config,
        policy: ConfidencePolicy,
        clock: Callable[[], float],
        settings: SearchSettings,
    ) -> None:
        self._store, self._config, self._clock, self._settings = store, config, clock, settings
        self.policy = policy
        self._shown: ShownLog | None = None
        self._embedders: dict[EmbedderIdentity, Embedder] = {}

    def name_of(self, kept: KeptIndex) -> str:
        """The name of a build, as its engine has it."""
        # What the signals amount to is kept in the index and differs from policy to policy.
        return f"{kept.build}-{kept.identity.name}-{_policy_mark(self.policy)}"

    def make(self, kept: KeptIndex, builds: IndexBuilds, feed: Feed | None = None) -> Searcher:
        from reasoningbank.recall.experience import Experience, TaskFollower, has_tasks
        from reasoningbank.recall.graph_index import GraphFollower, has_nodes
        from reasoningbank.recall.index_follower import Follower
        from reasoningbank.recall.search import Searcher
        from reasoningbank.recall.side_index import SideIndex

        name, identity = self.name_of(kept), kept.identity
        index = self.as_index(builds.open(name, identity, Follower.facet), Follower)

        def embedder() -> Embedder:
            return self.embedder_of(identity)

        def beside(of: str, kind: type[Follower], has_any: Callable[[Reader], bool]) -> SideIndex:
            def open_index(*, anew: bool) -> Index:
                index = self.as_index(builds.open_beside(name, of, identity, kind.facet, anew=anew), kind)
                if anew and index.upkeep is None:
                    with index.writing(wait_s=ANEW_WAIT_S) as granted:
                        if granted:
                            index.clear()
                return index

            def is_built() -> bool:
                return builds.is_there(f"{name}-{of}")

            return SideIndex(self._store, kind, open_index, embedder, self.policy, has_any, is_built)

        return Searcher(
            Follower(self._store, index, embedder, self.policy, feed=feed),
            self._shown_log(),
            self._clock,
            Experience(beside(TASKS, TaskFollower, has_tasks)),
            self._settings,
            beside(GRAPH, GraphFollower, has_nodes),
        )

    def make_without_index(self, identity: EmbedderIdentity) -> Searcher:
        """A searcher for one search, by the words of the newest records: for as long as the index is away."""
        from reasoningbank.recall.fallback_index import scan_records
        from reasoningbank.recall.index_follower import Follower
        from reasoningbank.recall.search import Searcher
        from reasoningbank.recall.two_halves import TwoHalves

        def embedder() -> Embedder:
            return self.embedder_of(identity)

        index = TwoHalves(scan_records(self._store, embedder, identity), self._store, Follower)
        follower = Follower(self._store, index, embedder, self.policy)
        return Searcher(follower, self._shown_log(), self._clock, settings=self._settings, index_away=True)

    def _shown_log(self) -> ShownLog:
        from reasoningbank.recall.exposure_log import ShownLog

        if self._shown is None:
            self._shown = ShownLog(self._store)
        return self._shown

    def embedder_of(self, identity: EmbedderIdentity) -> Embedder:
        if identity not in self._embedders:
            info = self._store.info
            place = None if info.read_only else info.location
            self._embedders[identity] = make_embedder(identity, self._config, place)
        return self._embedders[identity]

    def as_index(self, opened: Index | Halves, kind: type[Follower]) -> Index:
        """What was opened, whether it is an index already or two halves of one."""
        if not isinstance(opened, Halves):
            return opened
        from reasoningbank.recall.two_halves import TwoHalves

        if self._store.info.read_only:
            opened = replace(opened, writing=lambda _: nullcontext(False))
        return TwoHalves(opened, self._store, kind)

    def flush_shown(self) -> None:
        if self._shown is not None:
            self._shown.flush()

    def close(self) -> None:
        if self._shown is not None:
            self._shown.close()


def _policy_mark(policy: ConfidencePolicy) -> str:
    """A policy's name; with other parameters than usual it weighs otherwise, so that an index of it is another one."""
    if policy == policies().get(policy.name):
        return policy.name
    from hashlib import blake2b

    return f"{policy.name}-{blake2b(repr(policy).encode(), digest_size=4).hexdigest()}"
