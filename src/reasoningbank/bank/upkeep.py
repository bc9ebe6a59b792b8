"""`bank.upkeep`: tidy a bank up, see what a run has done, and take it back.

What is merged, linked, archived and promoted is `learn.consolidate`'s business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from reasoningbank.bank.search_engine import CATCH_UP_WITHIN_S, SearchEngine
from reasoningbank.context import BankContext
from reasoningbank.core.origins import USER
from reasoningbank.learn.consolidate import run, undoing
from reasoningbank.learn.consolidate.fading import Faded
from reasoningbank.learn.consolidate.pairs import Space
from reasoningbank.learn.consolidate.plan import Consolidated, ConsolidationRun, Undone
from reasoningbank.learn.consolidate.run_account import RunAccount, run_account

if TYPE_CHECKING:
    from reasoningbank.learn.jobs import Learning
    from reasoningbank.ports import Floats
    from reasoningbank.recall.search import Searcher


class Upkeep:
    def __init__(self, context: BankContext, engine: SearchEngine, learning: Learning) -> None:
        self._context = context
        self._engine = engine
        self._learning = learning

    def consolidate(
        self, *, progress: Callable[[int, int], None] | None = None, rewrite: bool = False, **wish: Any
    ) -> Consolidated:
        """Merge what says the same, link what belongs or clashes together, archive and promote what has earned it.

        `dry_run`, `namespace`, `only` (merge, conflicts, links, prune, promote), `if_due`; with `rewrite` the model
        writes the text of what is merged.
        """
        space = Space(embedder=self._engine.identity.name, vectors=self._vectors)
        by = run.rewriting(self._learning) if rewrite else None
        return run.consolidate(self._context, space, run.wish_of(wish), rewrite=by, progress=progress)

    def prune(self, *, dry_run: bool = False, namespace: str | None = None) -> Consolidated:
        """Archive what proved wrong: confidence below `confidence.prune_threshold` (0.3), with evidence against it."""
        return self.consolidate(only=("prune",), dry_run=dry_run, namespace=namespace)

    def promote(self, *, dry_run: bool = False, namespace: str | None = None) -> Consolidated:
        """Offer what has proved itself in enough tasks to the team, and then to the organisation."""
        return self.consolidate(only=("promote",), dry_run=dry_run, namespace=namespace)

    def faded(self, *, namespace: str | None = None) -> list[Faded]:
        """Memories that lost confidence to age alone, the most first. Nothing is written: confidence itself forgets."""
        return run.faded_in(self._context, namespace)

    def undo(self, run_id: str, *, source: str = USER) -> Undone:
        """Put back what a run of `consolidate`, `prune` or `promote` has changed, and say what cannot be."""
        return undoing.undo(self._context, run_id, source)

    def runs(self) -> list[ConsolidationRun]:
        """Newest first."""
        with self._context.read_for_output() as reader:
            return undoing.history(reader)

    def account(self, run_id: str) -> RunAccount:
        """Account of a run, act by act."""
        with self._context.read_for_output() as reader:
            return run_account(reader, run_id)

    def _vectors(self, ids: Sequence[str]) -> Floats:
        def look(searcher: Searcher) -> Floats:
            searcher.follower.catch_up(budget_s=CATCH_UP_WITHIN_S, wait_s=CATCH_UP_WITHIN_S)
            return searcher.vectors_of(ids)

        return self._engine.using(look)
