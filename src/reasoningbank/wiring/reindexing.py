"""Builds the index of a bank anew, in the same engine or another, and then switches to it.

There is no moment without a whole index, and two models never meet in one. What an interrupted reindex has left is
gone on with, or dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reasoningbank.core.errors import BankBusy, BankDamaged, BankError, BankUnavailable, EmbedderMismatch
from reasoningbank.core.types import EmbedderIdentity
from reasoningbank.ports import Store
from reasoningbank.wiring.index_choice import IndexChoice
from reasoningbank.wiring.kept_builds import tell_left_behind
from reasoningbank.wiring.kept_index import UNFINISHED, KeptIndex
from reasoningbank.wiring.searcher_in_force import MOST_RENEWALS, SearcherInForce
from reasoningbank.wiring.searcher_maker import SearcherMaker

if TYPE_CHECKING:
    from reasoningbank.recall.index_progress import Progress

REINDEX_WAIT_S = 86_400.0


class Reindexing:
    def __init__(self, store: Store, choice: IndexChoice, searcher: SearcherInForce, maker: SearcherMaker) -> None:
        self._store, self._choice, self._searcher, self._maker = store, choice, searcher, maker

    def run(
        self, embedder: str | None, dimension: int | None, progress: Progress | None, engine: str | None
    ) -> EmbedderIdentity:
        engine = self._choice.check_engine(engine)
        with self._store.turn(UNFINISHED, REINDEX_WAIT_S) as granted:
            if not granted:
                raise BankBusy("Another process has been building the index anew for a day; try again when it is done.")
            for _ in range(MOST_RENEWALS):
                target = self._target(embedder, dimension, engine)
                try:
                    return self._fill(target, progress)
                except (BankUnavailable, BankDamaged, EmbedderMismatch, FileNotFoundError) as error:
                    if isinstance(error, BankUnavailable) and not target.is_in_files:
                        raise
                    # Somebody removed the folder meanwhile, or what was begun is damaged or of another history.
                    self._choice.forget_unfinished()
            return self._fill(self._target(embedder, dimension, engine), progress)

    def _target(self, embedder: str | None, dimension: int | None, engine: str | None) -> KeptIndex:
        """The build that a reindex fills: the one that an interrupted reindex has begun, where that is the same."""
        current, begun = self._choice.in_force(), self._choice.unfinished()
        target = self._choice.next_build(current, embedder, dimension, engine)
        if begun is not None and begun.engine != current.engine:
            if (begun.engine, begun.identity, begun.bank) == (target.engine, target.identity, target.bank):
                return begun
            self._remove_all_of(begun)
        if begun != target:
            # A build of the same name may hold another model's vectors.
            with self._searcher.builds_of(target) as builds:
                builds.remove(target.build)
            self._choice.begin(target)
        return target

    def _fill(self, target: KeptIndex, progress: Progress | None) -> EmbedderIdentity:
        current = self._choice.in_force()
        with self._searcher.builds_of(target) as builds:
            searcher = self._maker.make(target, builds)
            try:
                while not searcher.follower.catch_up(budget_s=3600.0, wait_s=60.0, progress=progress):
                    pass
            finally:
                searcher.close()
        self._searcher.switch_to(target)
        if target.engine == current.engine:
            self._searcher.builds(target).remove(current.build)
        else:
            self._remove_all_of(current)
        return target.identity

    def drop_left_over(self) -> None:
        """Remove builds that are not in force and that nobody is at, as an interrupted reindex leaves one: what is
        erased must not live on there. The next reindex then begins anew.
        """
        with self._store.turn(UNFINISHED, 0.0) as granted:
            # Else somebody is building another one, who follows the feed and with it every erasure.
            if not granted:
                return
            kept, begun = self._choice.in_force(), self._choice.unfinished()
            if begun is not None and begun.engine != kept.engine:
                self._remove_all_of(begun)
                self._choice.forget_unfinished()
            # Another policy's index of the same build follows the feed like this one.
            self._searcher.builds(kept).remove_left_over(f"{kept.build}-{kept.identity.name}-")

    def _remove_all_of(self, kept: KeptIndex) -> None:
        """Take away what an engine that is left still holds of this bank."""
        try:
            with self._searcher.builds_of(kept) as builds:
                builds.remove_all()
        except (BankError, OSError) as error:
            tell_left_behind(kept, error)
