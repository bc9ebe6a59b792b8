"""`bank.gaps`: what was asked for in vain and would still be.

What counts as a gap, and which wordings belong together, is `recall.gaps`' business.
"""

from __future__ import annotations

from collections.abc import Callable

from reasoningbank.bank import memories
from reasoningbank.bank.search_engine import SearchEngine
from reasoningbank.context import BankContext
from reasoningbank.core.errors import InvalidInput, NotFound
from reasoningbank.core.frozen import replace
from reasoningbank.core.ids import LEAST_TYPED
from reasoningbank.core.types import DEFAULT_LIST_LIMIT, EVERY_NAMESPACE, Gap
from reasoningbank.recall.gaps import Gaps, asked_again, list_gaps
from reasoningbank.recall.search import Searcher


class KnowledgeGaps:
    def __init__(self, context: BankContext, engine: SearchEngine) -> None:
        self._context = context
        self._engine = engine

    def list(
        self, *, namespace: str | None = None, since: float | None = None, limit: int = DEFAULT_LIST_LIMIT
    ) -> Gaps:
        """Most asked first; `since` is when it was asked last, "*" every namespace."""
        most = memories.checked_limit(limit)
        own_namespace = memories.in_namespace(self._context, namespace).get("namespace")
        self._engine.flush_shown()
        gaps = [
            self._context.scrub_for_output(gap)
            for gap in self._context.store.gaps(self._context.tenant)
            if (since is None or gap.last_at >= since)
            and (own_namespace is None or gap.namespace in (own_namespace, EVERY_NAMESPACE))
        ]
        if not gaps:
            return Gaps(open=(), answered=0, unchecked=0)
        return self._engine.using(lambda searcher: list_gaps(gaps, self._answers(searcher), searcher.embed, most))

    def forget(self, gap_id: str) -> int:
        """Drop a gap, with every wording that a listing shows under it; says how many log lines that were."""
        there = self.list(namespace=EVERY_NAMESPACE, limit=memories.MOST_LISTED).open
        prefix = gap_id.strip().rstrip("….").lower()
        fitting = [
            gap for gap in there if any(wording_id.startswith((prefix, f"gap_{prefix}")) for wording_id in gap.ids)
        ]
        if len(fitting) > 1 and len(prefix) >= LEAST_TYPED:
            listed_ids = ", ".join(f"{gap.id} ({gap.question[:40]})" for gap in fitting[:5])
            raise InvalidInput(f"{gap_id!r} fits several gaps: {listed_ids}. Type more of it.")
        ids = fitting[0].ids if fitting and len(prefix) >= LEAST_TYPED else (gap_id,)
        count = self._context.store.drop_gaps(self._context.tenant, ids)
        if not count:
            raise NotFound(f"There is no gap {gap_id!r} here: `gaps` lists them.")
        return count

    def clear(self) -> int:
        """Drop every gap of this tenant; says how many there were."""
        self._engine.flush_shown()
        ids = [gap.id for gap in self._context.store.gaps(self._context.tenant)]
        return self._context.store.drop_gaps(self._context.tenant, ids) if ids else 0

    def _answers(self, searcher: Searcher) -> Callable[[Gap], bool]:
        tenant, namespace = self._context.tenant, self._context.namespace
        search = self._context.settings.search
        # As it would be asked today: what is believed too little to be shown is no answer.

        def found_for(gap: Gap) -> bool:
            query = replace(asked_again(gap), min_confidence=search.min_confidence, profile=search.profile)
            return not searcher.search(query, tenant=tenant, namespace=namespace, noted=False).abstained

        return found_for
