"""Looks at the index of a bank without opening it for search: how big it is, and what of it is damaged."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from reasoningbank.core.errors import BankDamaged, BankUnavailable, MissingExtra
from reasoningbank.core.frozen import replace
from reasoningbank.ports import INDEX_AWAY, Damage, IndexBuilds, IndexInfo, Store
from reasoningbank.wiring.kept_index import KeptIndex
from reasoningbank.wiring.searcher_in_force import SearcherInForce
from reasoningbank.wiring.searcher_maker import GRAPH, TASKS, SearcherMaker

if TYPE_CHECKING:
    from reasoningbank.recall.index_follower import Follower

LOOKS_AT_A_BUILD = 3


class IndexExamination:
    def __init__(self, store: Store, kept: KeptIndex, searcher: SearcherInForce, maker: SearcherMaker) -> None:
        self._store, self._kept, self._searcher, self._maker = store, kept, searcher, maker

    def _builds(self) -> IndexBuilds:
        return self._searcher.builds(self._kept)

    def info(self) -> IndexInfo | None:
        kept = self._kept
        try:
            info = self._builds().info(self._maker.name_of(kept))
        except (BankUnavailable, MissingExtra) as error:
            if kept.is_in_files:
                raise
            # A bank whose index is away is asked for its status all the more.
            info = IndexInfo(
                kind=kept.engine, memories=0, awaiting_vectors=0, applied=0, bytes_on_disk=0, trouble=str(error)
            )
        return info and replace(info, engine=kept.engine)

    def damage(self) -> list[Damage]:
        """Parts of the index that do not match their checksums or the records. Repairs nothing, and builds none."""
        from reasoningbank.recall.experience import TaskFollower
        from reasoningbank.recall.graph_index import GraphFollower
        from reasoningbank.recall.index_follower import Follower

        found = list[Damage]()
        for of, kind in (("", Follower), (f"-{TASKS}", TaskFollower), (f"-{GRAPH}", GraphFollower)):
            found += self._damage_of(of, kind)
            if any(damage.kind == INDEX_AWAY for damage in found):
                break
        return found

    def _damage_of(self, of: str, kind: type[Follower]) -> list[Damage]:
        """Looked at again where it cannot be: another process may have removed this build, to begin it anew."""
        found: list[Damage] = []
        for _ in range(LOOKS_AT_A_BUILD):
            try:
                return self._damage_seen(of, kind)
            except BankUnavailable as error:
                found = [Damage(kind="index" if self._kept.is_in_files else INDEX_AWAY, id="", problem=str(error))]
            except MissingExtra as error:
                return [Damage(kind=INDEX_AWAY, id="", problem=str(error))]
            except BankDamaged as error:
                return [Damage(kind="index", id="", problem=str(error))]
        return found

    def _damage_seen(self, of: str, kind: type[Follower]) -> list[Damage]:
        from reasoningbank.recall.mending import find_damage

        kept, builds, name = self._kept, self._builds(), f"{self._maker.name_of(self._kept)}{of}"
        index = builds.inspect(name, kept.identity, kind.facet)
        if index is None and not kept.is_in_files and builds.is_there(name):
            index = self._maker.as_index(builds.open(name, kept.identity, kind.facet), kind)
        if index is None:
            return []
        with closing(index):
            follower = kind(self._store, index, lambda: self._maker.embedder_of(kept.identity), self._maker.policy)
            return find_damage(follower)
