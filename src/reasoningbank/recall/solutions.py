"""Looks for the way in which a like task was solved apart from everything else, and gives it one place in an answer.

There is a solution for every solved task, and many tasks are a little alike: in one list, solutions would crowd out
what is known. So the way is looked for apart and joins the hits by its score.
"""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.core.frozen import replace
from reasoningbank.core.learning import SOLVED
from reasoningbank.ports import Filter, Index, Probe
from reasoningbank.recall.candidates import find_candidates
from reasoningbank.recall.index_follower import Follower
from reasoningbank.recall.query import Query, Recalled

FEW = 16
"""Candidates for the one place."""


def has_solutions(index: Index, tenant: str, follower: Follower) -> bool:
    """True if a tenant has any solution, wherever it lies."""
    where = Filter(tenant=tenant, tags=(SOLVED,))
    return find_candidates(index, Probe(vector=None, text="", where=where, depth=0), follower).considered > 0


def without_solutions(probe: Probe) -> Probe:
    return replace(probe, where=replace(probe.where, without_tags=(SOLVED,)))


def solutions_only(probe: Probe) -> Probe:
    return replace(probe, where=replace(probe.where, tags=(SOLVED,)), depth=FEW)


def with_way(hits: Sequence[Recalled], ways: Sequence[Recalled], query: Query) -> list[Recalled]:
    """The hits with the nearest way among them, in the order of their scores and within the limit."""
    tokens = sum(hit.tokens for hit in hits)
    fits = [way for way in ways[:1] if query.max_tokens is None or tokens + way.tokens <= query.max_tokens]
    selection = [*hits[: query.limit - len(fits)], *fits]
    return sorted(selection, key=lambda hit: -hit.parts.score) if fits else list(hits)
