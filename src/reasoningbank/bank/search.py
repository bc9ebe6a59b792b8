"""Search, inject and embed as verbs of the bank: scrubbed before and after, reordered by a model when asked.

How hits are found and ranked is `recall`'s business.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from reasoningbank.bank.rules import RuleBook
from reasoningbank.bank.search_engine import SearchEngine
from reasoningbank.context import BankContext
from reasoningbank.core.aliases import QUERY_ALIASES, rename_aliases
from reasoningbank.core.confidence import evidence_for, seen_uses
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass, fields, replace
from reasoningbank.core.origins import HOOK
from reasoningbank.core.settings import Settings
from reasoningbank.core.tokens import count_tokens
from reasoningbank.core.types import EVERY_NAMESPACE, Signal
from reasoningbank.recall.query import Query, Recalled, SearchResult, checked_budget, first_hits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from reasoningbank.learn.jobs import Learning
    from reasoningbank.ports import Candidates, Floats
    from reasoningbank.recall.index_follower import GiveWay
    from reasoningbank.recall.index_progress import Progress
    from reasoningbank.recall.search import Choice, Searcher

_UNIT_WITHIN = 1e-5
LOCK_WAIT_S = 0.5
"""How long one attempt to write the index waits for another process that does, before it looks again."""


def query_of(settings: Settings, query: str | Query, options: Mapping[str, Any], *, injects: bool = False) -> Query:
    """A question with the options that were given, and for the others what the settings say."""
    options = rename_aliases(options, QUERY_ALIASES)
    names = {f.name for f in fields(Query)} - {"text"}
    unknown = sorted(set(options) - names)
    if unknown:
        raise InvalidInput(f"A search has no option {', '.join(unknown)}: use {', '.join(sorted(names))}.")
    if isinstance(query, Query):
        full_query = replace(query, **options) if options else query
    else:
        full_query = Query(text=query, **{**_defaults(settings, injects=injects), **options})
    most = settings.search.max_limit
    # Whatever is no number is refused by `checked`.
    if most is not None and isinstance(full_query.limit, int) and full_query.limit > most:
        raise InvalidInput(
            f"limit must be a whole number from 1 to {most:,}, not {full_query.limit}: search.max_limit says so."
        )
    return full_query


def _defaults(settings: Settings, *, injects: bool) -> dict[str, Any]:
    """Defaults of a question that says nothing else."""
    search = settings.search
    return {
        "limit": search.default_limit if search.max_limit is None else min(search.default_limit, search.max_limit),
        "min_confidence": settings.injection_threshold if injects else search.min_confidence,
        "profile": search.profile,
        "links": search.links,
    }


def search(
    context: BankContext, engine: SearchEngine, learning: Learning, query: Query, choice: Choice = tuple
) -> SearchResult:
    """`choice` says which of the hits will really be shown, where that is not all of them."""
    engine.require_configured_embedder()
    # Before the embedder, which may be somebody else's machine, and before the log of what was shown.
    clean_query = context.scrub_for_output(query)

    def chosen(hits: Sequence[Recalled]) -> Sequence[Recalled]:
        return choice([_shown_hit(context, hit) for hit in _with_seen_uses(context, hits)])

    if clean_query.rerank:
        return _search_reranked(context, engine, learning, clean_query, chosen)
    result = engine.searching(
        lambda searcher: searcher.search(
            clean_query, tenant=context.tenant, namespace=context.namespace, noted=clean_query.noted, choice=chosen
        )
    )
    if clean_query.noted:
        return result
    top_hits = first_hits(chosen(result.memories), clean_query.limit)
    return replace(result, memories=tuple(top_hits), tokens_used=sum(hit.tokens for hit in top_hits))


def _search_reranked(
    context: BankContext, engine: SearchEngine, learning: Learning, query: Query, choice: Choice
) -> SearchResult:
    """As `search`, with the best hits in the order in which the configured model finds them of use."""
    from reasoningbank.recall.rerank import LOOKED_AT, reorder

    llm = learning.model()
    wider = replace(query, limit=max(query.limit, LOOKED_AT))

    def look(searcher: Searcher) -> SearchResult:
        result = searcher.search(wider, tenant=context.tenant, namespace=context.namespace, noted=False)
        if not result.memories:
            # Asked again, so that the question is noted as one in vain.
            return searcher.search(query, tenant=context.tenant, namespace=context.namespace)
        candidates = [_shown_hit(context, hit) for hit in _with_seen_uses(context, result.memories)]
        order = reorder(query.text, candidates, llm, learning.scrub)
        hits = searcher.show(query, order.hits[: query.limit], context.tenant, choice)
        return replace(result, memories=hits, reranked_by=order.by, tokens_used=sum(hit.tokens for hit in hits))

    return engine.searching(look)


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """Advice for a prompt, and why there is none."""

    text: str
    """"" when nothing is shown."""
    reason: str
    """Why nothing is shown; "" when something is."""
    memories: tuple[Recalled, ...]


def injection(
    context: BankContext, engine: SearchEngine, learning: Learning, query: Query, max_tokens: int
) -> Injection:
    """Prompt-ready text: the user's rules, then what was learned. What the text leaves out was not shown."""
    from reasoningbank.recall.render import fitting, leading, render
    from reasoningbank.recall.silence import silence

    budget = checked_budget(max_tokens)
    rules = _rules_told(context, query.namespace, budget)
    budget -= count_tokens(rules)
    result = search(
        context, engine, learning, query, lambda hits: fitting(leading(hits, query.floor, query.text), budget)
    )
    why = silence(result, query.namespace or context.namespace, budget)
    text = "\n\n".join(filter(None, (rules, render(result.memories))))
    return Injection(text=text, reason="" if text else why, memories=result.memories)


def _rules_told(context: BankContext, namespace: str | None, budget: int) -> str:
    """The user's rules, for an agent that no hook tells them: between our marks, so that nobody hears them anew."""
    own_namespace = namespace if namespace and namespace != EVERY_NAMESPACE else context.namespace
    in_force = RuleBook(context).in_force(own_namespace)
    if not in_force:
        return ""
    from reasoningbank.guard.envelope import marked
    from reasoningbank.learn.offline.user_rules import USER_SAID, rule_line, rules_to_tell

    lines = [rule_line(rule) for rule in rules_to_tell(in_force, budget // 2)]
    return marked("\n".join((USER_SAID, *lines))) if lines else ""


def _with_seen_uses(context: BankContext, hits: Sequence[Recalled]) -> Sequence[Recalled]:
    """The hits with what an index does not keep of them: which of their uses our own hooks saw."""
    used = [hit.id for hit in hits if hit.usage_count]
    if not used:
        return hits
    with context.store.read(context.tenant) as reader:
        signals = reader.select(Signal, {"memory_id": used, "source": HOOK})
    about: dict[str, list[Signal]] = {}
    for signal in signals:
        about.setdefault(signal.memory_id, []).append(signal)
    counts = {hit.id: seen_uses(evidence_for(hit.memory, about.get(hit.id, ()))) for hit in hits}
    return [replace(hit, seen=counts[hit.id][0], seen_well=counts[hit.id][1]) for hit in hits]


def _shown_hit(context: BankContext, hit: Recalled) -> Recalled:
    memory, conflicts = context.scrub_for_output(hit.memory), tuple(map(context.scrub_for_output, hit.conflicts))
    see_also = tuple(map(context.scrub_for_output, hit.see_also))
    pulled_in = None if hit.pulled_in is None else context.scrub_for_output(hit.pulled_in)
    output = (memory, conflicts, see_also, pulled_in)
    if memory is hit.memory and output[1:] == (hit.conflicts, hit.see_also, hit.pulled_in):
        return hit
    return replace(hit, memory=memory, conflicts=conflicts, see_also=see_also, pulled_in=pulled_in)


def candidates(context: BankContext, engine: SearchEngine, query: Query, depth: int) -> Candidates:
    engine.require_configured_embedder()
    clean_query = context.scrub_for_output(query)
    return engine.using(
        lambda searcher: searcher.candidates(
            clean_query, tenant=context.tenant, namespace=context.namespace, depth=depth
        ),
        follows=True,
    )


def catch_up(
    context: BankContext,
    engine: SearchEngine,
    budget_s: float,
    progress: Progress | None = None,
    give_way: GiveWay | None = None,
) -> bool:
    """Bring the index up to date within a budget; True when nothing is owed then."""
    until = time.monotonic() + budget_s

    def once(searcher: Searcher) -> bool:
        left_s = max(0.0, until - time.monotonic())
        wait_s = 0.0 if give_way is not None else min(LOCK_WAIT_S, left_s)
        return searcher.catch_up(context.tenant, budget_s=left_s, wait_s=wait_s, progress=progress, give_way=give_way)

    # Another process may be at it, a batch at a time or to the end: then it is asked again.
    while not (is_current := engine.using(once)) and give_way is None and time.monotonic() < until:
        pass
    return is_current


# ---------------------------------------------------------------- vectors


def vectors_of(context: BankContext, engine: SearchEngine, texts: Sequence[str]) -> Floats:
    engine.require_configured_embedder()
    clean = [context.scrubber.scrub(text).text for text in texts]
    return engine.using(lambda searcher: searcher.embed(clean))


def likeness(context: BankContext, engine: SearchEngine, text: str, other: str, metric: str) -> float:
    from reasoningbank.core.ranking import cosine_similarity, euclidean_distance

    measures = {"cosine": cosine_similarity, "euclidean": euclidean_distance}
    if metric not in measures:
        raise InvalidInput(f"metric {metric!r} is unknown: use one of {', '.join(measures)}.")
    first, second = vectors_of(context, engine, [text, other])
    return measures[metric](first, second)


def unit_vector(vector: ArrayLike, dimension: int) -> bytes:
    """A caller's own vector as it is kept: of length one."""
    import numpy as np
    import simsimd

    try:
        if isinstance(vector, np.ndarray) and vector.dtype == np.float32 and vector.flags.c_contiguous:
            row = vector
        else:
            # What is too large becomes infinite, and is refused as such.
            with np.errstate(over="ignore"):
                row = np.ascontiguousarray(vector, dtype=np.float32)
        # Not by NumPy, which lets other threads in during each step: behind sixteen of them a store waits for all.
        square = float(cast("float", simsimd.dot(row, row))) if row.shape == (dimension,) else 0.0
    except (TypeError, ValueError, OverflowError):
        square = 0.0
    if not 0.0 < square < float("inf"):
        raise InvalidInput(f"vector must hold {dimension} finite numbers that are not all 0.")
    if abs(square - 1.0) <= _UNIT_WITHIN:
        return row.astype("<f4", copy=False).tobytes()
    unit: Any = simsimd.wsum(row, row, alpha=square**-0.5, beta=0.0)
    return bytes(memoryview(unit))
