"""Pulls in what hits require, or whatever their links lead to, as hits of their own that say why they are there.

A memory that is pulled in is worth what the hit is worth, times the strength of the link: so it stands below the hit
and above whatever is less likely to be wanted, within the limit and the budget of the question. It must pass whatever
else passes (reach, filters, trust, confidence); an untrusted hit pulls in nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from reasoningbank.core.confidence import DAY_SECONDS, ConfidencePolicy, Context, evidence_for
from reasoningbank.core.frozen import replace
from reasoningbank.core.link_meaning import relation
from reasoningbank.core.origins import Trust, trust_named
from reasoningbank.core.ranking import Item, Weights, rank
from reasoningbank.core.settings import FOLLOWED, REQUIRED
from reasoningbank.core.types import EdgeKind, Signal
from reasoningbank.ports import Filter, Reader
from reasoningbank.recall.links import Bond, Bonds
from reasoningbank.recall.query import ANY, PulledIn, Query, Recalled, make_recalled, tokens_of, without_orphans
from reasoningbank.recall.reach import is_allowed

LONGEST_CHAIN = 3
"""Links from a hit to what is pulled in for the sake of what was pulled in before."""
_EITHER = (True, False)
_KINDS: Mapping[str, Mapping[EdgeKind, Sequence[bool]]] = {
    REQUIRED: {EdgeKind.REQUIRES: (True,)},
    FOLLOWED: {
        EdgeKind.REQUIRES: (True,),
        EdgeKind.ENHANCES: _EITHER,
        EdgeKind.CAUSES: _EITHER,
        EdgeKind.ALTERNATIVE: _EITHER,
        EdgeKind.SUPERSEDES: (False,),
        EdgeKind.ANALOGY: _EITHER,
        EdgeKind.ARCHITECTURAL_ANALOGY: _EITHER,
    },
}
"""Kinds of links that are followed, and which way: True where the link must point away from the hit."""


class PullConditions(NamedTuple):
    """Conditions for a memory to be pulled into the answer to a question, and what weighs it."""

    reader: Reader
    query: Query
    where: Filter
    policy: ConfidencePolicy
    company: Context
    weights: Weights
    now: float
    cosines: Callable[[Sequence[str]], Sequence[float]]
    """With the question, of memories by their ids."""


class Pull(NamedTuple):
    hit: Recalled
    bond: Bond

    @property
    def score(self) -> float:
        # A negative score, which repeats have, must not rise.
        return min(self.hit.parts.score, self.hit.parts.score * self.bond.edge.weight)


def pull_in(hits: Sequence[Recalled], bonds: Bonds, conditions: PullConditions) -> list[Recalled]:
    """The hits and what they pull in, the likeliest to be wanted first. `first_hits` cuts what is chosen of them to
    what the question asks for.
    """
    kinds = _KINDS.get(conditions.query.links, {})
    answer, frontier = list(hits), list(hits)
    for _ in range(LONGEST_CHAIN):
        bonds.look_up(frontier)
        pulls = _pulls(frontier, answer, bonds, kinds, conditions)
        if not pulls:
            break
        new_hits = _make_hits(pulls, answer, conditions)
        answer = _within_budget(
            [*(hit for hit in answer if hit.id not in new_hits), *new_hits.values()], conditions.query
        )
        # Whatever is beyond the limit pulls in nothing.
        frontier = [hit for hit in answer[: conditions.query.limit] if hit.id in new_hits]
    bonds.look_up(answer)
    return answer


def _pulls(
    frontier: Sequence[Recalled],
    answer: Sequence[Recalled],
    bonds: Bonds,
    kinds: Mapping[EdgeKind, Sequence[bool]],
    conditions: PullConditions,
) -> dict[str, Pull]:
    """The strongest pull on each memory that is to come, or to rise, by id."""
    scores = {hit.id: hit.parts.score for hit in answer}
    pulls: dict[str, Pull] = {}
    for hit in frontier:
        if hit.trust is Trust.UNTRUSTED:
            continue
        for bond in bonds.of(hit):
            pull, other = Pull(hit, bond), bond.memory.id
            if bond.outward not in kinds.get(bond.edge.kind, ()) or not _may_come(bond, conditions):
                continue
            best = pulls[other].score if other in pulls else scores.get(other, -np.inf)
            if pull.score > best:
                pulls[other] = pull
    return pulls


def _may_come(bond: Bond, conditions: PullConditions) -> bool:
    memory, query = bond.memory, conditions.query
    least = Trust.WORKING if query.trust == ANY else max(Trust.WORKING, trust_named(query.trust))
    is_excluded = memory.id in query.exclude or memory.source in query.exclude
    return bond.trust >= least and not is_excluded and is_allowed(memory, conditions.where)


def _make_hits(
    pulls: Mapping[str, Pull], answer: Sequence[Recalled], conditions: PullConditions
) -> dict[str, Recalled]:
    """Hits of the pulled memories that are believed enough, by id."""
    there = {hit.id: hit for hit in answer}
    fresh = _weigh_memories([pull.bond for i, pull in pulls.items() if i not in there], conditions)
    hits: dict[str, Recalled] = {}
    for memory_id, pull in pulls.items():
        hit = there.get(memory_id) or fresh.get(memory_id)
        if hit is None:
            continue
        why = PulledIn(
            id=pull.hit.id,
            title=pull.hit.title,
            kind=pull.bond.edge.kind.value,
            relation=relation(pull.bond.edge.kind, outward=not pull.bond.outward),
            weight=pull.bond.edge.weight,
        )
        relevance = max(hit.relevance, pull.hit.relevance * pull.bond.edge.weight)
        parts = replace(hit.parts, relevance=relevance, score=pull.score)
        hits[memory_id] = replace(hit, relevance=relevance, parts=parts, pulled_in=why)
    return hits


def _weigh_memories(bonds: Sequence[Bond], conditions: PullConditions) -> dict[str, Recalled]:
    """The memories as hits, but for their relevance; those that are believed too little are left out."""
    memories = {bond.memory.id: bond.memory for bond in bonds}
    policy, now = conditions.policy, conditions.now
    signals: dict[str, list[Signal]] = {memory_id: [] for memory_id in memories}
    for signal in conditions.reader.select(Signal, {"memory_id": list(signals)}) if memories else ():
        signals[signal.memory_id].append(signal)
    standings = {
        i: policy.standing(m.initial_confidence, m.created_at, evidence_for(m, signals[i])) for i, m in memories.items()
    }
    confidences = {i: policy.confidence(standing, now, conditions.company) for i, standing in standings.items()}
    credible = [bond for bond in bonds if round(confidences[bond.memory.id].mean, 2) >= conditions.query.min_confidence]
    cosines = conditions.cosines([bond.memory.id for bond in credible])
    items = [
        Item(
            m.id, 0.0, cosine, confidences[m.id].mean, (now - m.created_at) / DAY_SECONDS, standings[m.id].used, m.scope
        )
        for (_, m, _, _), cosine in zip(credible, cosines, strict=True)
    ]
    alike = np.zeros((len(items), len(items)))
    parts = {items[row].id: row_parts for row, row_parts in rank(items, alike, conditions.weights, len(items))}
    return {
        m.id: make_recalled(m, standings[m.id], confidences[m.id], parts[m.id], tokens_of(m), trust)
        for _, m, trust, _ in credible
    }


def _within_budget(hits: Sequence[Recalled], query: Query) -> list[Recalled]:
    """Hits within the budget of tokens, by score. What is beyond the limit stays: what is chosen to be shown may
    leave out some before it.
    """
    selection: list[Recalled] = []
    tokens = 0
    for hit in sorted(hits, key=lambda hit: -hit.parts.score):
        if query.max_tokens is None or tokens + hit.tokens <= query.max_tokens:
            selection.append(hit)
            tokens += hit.tokens
    return without_orphans(selection)
