"""Searching as the verbs do it: scrubbed before and after, reordered by a model when asked, and what was asked in vain.

Knows who asks and where; how hits are found and ranked is `recall`'s business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reasoningbank import records
from reasoningbank.core.errors import InvalidInput, NotFound
from reasoningbank.core.types import EVERY_NAMESPACE, Gap
from reasoningbank.core.values import fields, replace
from reasoningbank.desk import Desk
from reasoningbank.engine import Engine
from reasoningbank.recall.query import Found, Query, Recalled, checked_budget

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from reasoningbank.learn.jobs import Learning
    from reasoningbank.ports import Candidates
    from reasoningbank.recall.gaps import Gaps
    from reasoningbank.recall.search import Choice, Searcher

_UNIT_WITHIN = 1e-5


def query_of(query: str | Query, options: Mapping[str, Any]) -> Query:
    known = {f.name for f in fields(Query)} - {"text"}
    unknown = sorted(set(options) - known)
    if unknown:
        raise InvalidInput(f"A search has no option {', '.join(unknown)}: use {', '.join(sorted(known))}.")
    if isinstance(query, Query):
        return replace(query, **options) if options else query
    return Query(text=query, **options)


def search(desk: Desk, engine: Engine, learning: Learning, query: Query, choice: Choice = tuple) -> Found:
    """`choice` says which of the hits will really be shown, where that is not all of them."""
    # Before the embedder, which may be somebody else's machine, and before the log of what was shown.
    asked = desk.shown(query)

    def chosen(hits: Sequence[Recalled]) -> Sequence[Recalled]:
        return choice([_shown_hit(desk, hit) for hit in hits])

    if asked.rerank:
        return _reranked(desk, engine, learning, asked, chosen)
    found = engine.using(
        lambda searcher: searcher.search(
            asked, tenant=desk.tenant, namespace=desk.namespace, noted=asked.noted, choice=chosen
        )
    )
    return found if asked.noted else replace(found, memories=tuple(chosen(found.memories)))


def _reranked(desk: Desk, engine: Engine, learning: Learning, asked: Query, choice: Choice) -> Found:
    """As `search`, with the best hits in the order in which the configured model finds them of use."""
    from reasoningbank.recall.rerank import LOOKED_AT, reordered

    llm = learning.model()
    wider = replace(asked, limit=max(asked.limit, LOOKED_AT))

    def look(searcher: Searcher) -> Found:
        found = searcher.search(wider, tenant=desk.tenant, namespace=desk.namespace, noted=False)
        if not found.memories:
            # Asked again, so that the question is noted as one in vain.
            return searcher.search(asked, tenant=desk.tenant, namespace=desk.namespace)
        shown = [_shown_hit(desk, hit) for hit in found.memories]
        order = reordered(asked.text, shown, llm, learning.scrub)
        hits = searcher.show(asked, order.hits[: asked.limit], desk.tenant, choice)
        return replace(found, memories=hits, reranked_by=order.by, tokens_used=sum(hit.tokens for hit in hits))

    return engine.using(look)


def inject(desk: Desk, engine: Engine, learning: Learning, query: Query, max_tokens: int) -> str:
    """Prompt-ready text. What the text leaves out was not shown."""
    from reasoningbank.recall.render import fitting, leading, render

    budget = checked_budget(max_tokens)
    return render(
        search(desk, engine, learning, query, lambda hits: fitting(leading(hits, query.floor), budget)).memories
    )


def _shown_hit(desk: Desk, hit: Recalled) -> Recalled:
    memory, conflicts = desk.shown(hit.memory), tuple(map(desk.shown, hit.conflicts))
    unchanged = memory is hit.memory and conflicts == hit.conflicts
    return hit if unchanged else replace(hit, memory=memory, conflicts=conflicts)


def candidates(desk: Desk, engine: Engine, query: Query, depth: int) -> Candidates:
    asked = desk.shown(query)
    return engine.using(
        lambda searcher: searcher.candidates(asked, tenant=desk.tenant, namespace=desk.namespace, depth=depth)
    )


# ---------------------------------------------------------------- what was asked in vain


def gaps(desk: Desk, engine: Engine, *, namespace: str | None, since: float | None, limit: int) -> Gaps:
    from reasoningbank.recall.gaps import Gaps, listed

    most, wanted = records.checked_limit(limit), records.in_namespace(desk, namespace).get("namespace")
    engine.flush_shown()
    logged = [
        gap
        for gap in desk.store.gaps(desk.tenant)
        if (since is None or gap.last_at >= since) and (wanted is None or gap.namespace in (wanted, EVERY_NAMESPACE))
    ]
    if not logged:
        return Gaps(open=(), answered=0, unchecked=0)
    return engine.using(lambda searcher: listed(logged, _answers(desk, searcher), searcher.embed, most))


def _answers(desk: Desk, searcher: Searcher) -> Callable[[Gap], bool]:
    from reasoningbank.recall.gaps import asked_again

    def found_for(gap: Gap) -> bool:
        asked = asked_again(gap)
        return not searcher.search(asked, tenant=desk.tenant, namespace=desk.namespace, noted=False).abstained

    return found_for


def forget_gap(desk: Desk, engine: Engine, gap_id: str) -> int:
    there = gaps(desk, engine, namespace=EVERY_NAMESPACE, since=None, limit=records.MOST_LISTED).open
    ids = next((gap.ids for gap in there if gap_id in gap.ids), (gap_id,))
    dropped = desk.store.drop_gaps(desk.tenant, ids)
    if not dropped:
        raise NotFound(f"There is no gap {gap_id!r} here: `gaps` lists them.")
    return dropped


def clear_gaps(desk: Desk, engine: Engine) -> int:
    engine.flush_shown()
    ids = [gap.id for gap in desk.store.gaps(desk.tenant)]
    return desk.store.drop_gaps(desk.tenant, ids) if ids else 0


# ---------------------------------------------------------------- vectors of a caller's own


def unit_vector(vector: ArrayLike, dimension: int) -> bytes:
    import numpy as np

    try:
        if isinstance(vector, np.ndarray) and vector.dtype == np.float32:
            row = vector
        else:
            # What is too large becomes infinite, and is refused as such.
            with np.errstate(over="ignore"):
                row = np.asarray(vector, dtype=np.float32)
        square = float(np.vdot(row, row)) if row.shape == (dimension,) else 0.0
    except (TypeError, ValueError, OverflowError):
        square = 0.0
    if not 0.0 < square < float("inf"):
        raise InvalidInput(f"vector must hold {dimension} finite numbers that are not all 0.")
    # Most callers' vectors have length one already; every step saved is one that other threads need not wait behind.
    if abs(square - 1.0) > _UNIT_WITHIN:
        row = row / np.float32(square**0.5)
    return row.astype("<f4", copy=False).tobytes()
