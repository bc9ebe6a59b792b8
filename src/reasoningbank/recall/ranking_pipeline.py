"""Answers a question from an index: candidates, those that pass, their order, and the rows of the best.

    candidates → relevance → confidence and floor → order → trust and rows in one round trip → quota → checked again

A filter must never cost recall: when too few candidates survive, it digs deeper. As a rule nobody is untrusted, so the
rows of those that would be shown then are asked for together with everybody's trust.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.confidence import ALONE, ConfidencePolicy, Context
from reasoningbank.core.errors import BankDamaged
from reasoningbank.core.frozen import replace
from reasoningbank.core.ranking import Parts, Weights, iterate_ranked, profile_named
from reasoningbank.core.types import Memory
from reasoningbank.ports import Candidates, Filter, Index, Probe, Reader
from reasoningbank.recall.awaiting_vectors import is_told_by_words
from reasoningbank.recall.candidates import find_candidates, vectors_of
from reasoningbank.recall.experience import SimilarTasks, least_likeness
from reasoningbank.recall.index_follower import Follower
from reasoningbank.recall.match import Match, items_of, match_candidates, passing
from reasoningbank.recall.query import Query, Recalled, make_recalled, tokens_of
from reasoningbank.recall.quota import Quota
from reasoningbank.recall.reach import is_allowed
from reasoningbank.recall.relevance import calibration_for, floor_among, passes_floor

if TYPE_CHECKING:
    from reasoningbank.ports import Floats

RANKED_PER_HIT = 2
FEWEST_RANKED = 24
DEEPER_BY = 8
_DUG_BEHIND = ("min_confidence", "excluded", "trust", "trust_quota")
"""Reasons for leaving a candidate out behind which others may fit: the search digs deeper."""

Ranked = tuple[int, Parts]


class RankingRequest(NamedTuple):
    """A question as it is put to the index."""

    query: Query
    probe: Probe
    similar: SimilarTasks
    weights: Weights
    now: float


class Findings(NamedTuple):
    hits: Sequence[Recalled]
    passed: int
    reasons: Counter[str]


class _Look(NamedTuple):
    """One look at the index: candidates above the floor and the asked confidence, most relevant first."""

    candidates: Candidates
    match: Match
    passed: list[int]
    reasons: Counter[str]
    first: list[Ranked]
    """The best of them as long as nobody is untrusted: as many as are shown."""
    others: Iterator[Ranked]

    def ids(self, rows: Iterable[int]) -> list[str]:
        return [self.candidates.ids[row] for row in rows]


class RankingPipeline:
    """Answers from one index and one moment of the records."""

    def __init__(
        self, reader: Reader, index: Index, follower: Follower, policy: ConfidencePolicy, *, owing: bool
    ) -> None:
        """While the index is `owing` vectors, what only words can find yet is measured by its words."""
        self._reader = reader
        self._index = index
        self._follower = follower
        self._policy = policy
        self._owing = owing
        self._calibration = calibration_for(index.identity.name)
        self._levels: dict[str, int] = {}
        self._rows: dict[str, Memory] = {}
        self._uses: dict[str, int] | None = None

    def rank(self, requests: Sequence[RankingRequest]) -> list[Findings]:
        """The hits of each question, how many there were to choose from, and why others are left out."""
        looks = [self._look(request) for request in requests]
        self._look_up(looks)
        return [self._finish(request, look) for request, look in zip(requests, looks, strict=True)]

    def company(self, where: Filter) -> Context:
        """Uses in the namespace that is asked, for a policy that compares the use of memories."""
        if not self._policy.compares_uses:
            return ALONE
        if self._uses is None:
            self._uses = self._reader.uses_by_namespace()
        uses = self._uses
        return Context(total_uses=sum(uses.values()) if where.namespace is None else uses.get(where.namespace, 0))

    # ------------------------------------------------------------ candidates

    def _look(self, request: RankingRequest) -> _Look:
        query, similar = request.query, request.similar
        probe = replace(request.probe, also=tuple(similar.vouched)) if similar.vouched else request.probe
        candidates = find_candidates(self._index, probe, self._follower)
        company = self.company(probe.where)
        match = match_candidates(candidates, self._calibration, self._policy, request.now, similar, company)
        excluded_ids = frozenset(query.exclude)
        if query.exclude:
            excluded_ids |= {memory.id for memory in self._reader.select(Memory, {"source": query.exclude})}
        rows, reasons = passing(query, excluded_ids, candidates, match, self._fits(query, candidates, match))
        ranking = self._ranked(request, candidates, match, rows)
        return _Look(candidates, match, rows, reasons, list(islice(ranking, query.limit)), ranking)

    def _fits(self, query: Query, candidates: Candidates, match: Match) -> NDArray[np.bool_]:
        """Which candidates may be shown, whatever is believed of them."""
        everything = profile_named(query.profile).shows_everything
        # A candidate that neither points the same way nor shares a word is no match at any floor.
        matches = everything | (match.cosine > 0.0) | (match.keyword > 0.0) | match.vouched
        if query.floor is not None:
            fits: NDArray[np.bool_] = matches & (match.relevance >= query.floor)
            return fits
        floor = floor_among(self._calibration, candidates.considered)
        fits = matches & (everything | passes_floor(match.relevance, candidates, floor))
        # What past tasks vouch for need not fit by its words.
        fits |= match.vouched & (match.relevance >= least_likeness(candidates.considered))
        return fits | is_told_by_words(candidates) if self._owing else fits

    def _ranked(
        self, request: RankingRequest, candidates: Candidates, match: Match, rows: Sequence[int]
    ) -> Iterator[Ranked]:
        top = rows[: max(FEWEST_RANKED, request.query.limit * RANKED_PER_HIT)]
        items = items_of(candidates, match, top)
        best = iterate_ranked(items, lambda: _similarity(vectors_of(self._index, candidates, top)), request.weights)
        return ((top[i], parts) for i, parts in best)

    # ------------------------------------------------------------ rows

    def _look_up(self, looks: Sequence[_Look]) -> None:
        """Trust of all that passed and the rows of the best, in one round trip."""
        ids = [memory_id for look in looks for memory_id in look.ids(look.passed)]
        if ids:
            best = [memory_id for look in looks for memory_id in look.ids(row for row, _ in look.first)]
            levels, rows = self._reader.trust_and_memories(ids, best)
            self._levels.update(levels)
            self._rows.update(rows)

    def _finish(self, request: RankingRequest, look: _Look) -> Findings:
        query, quota = request.query, Quota(request.query)
        while True:
            rows = quota.trimmed(look.passed, look.candidates.ids, self._levels, look.reasons)
            enough = len(rows) >= query.limit or not any(look.reasons[reason] for reason in _DUG_BEHIND)
            if enough or look.candidates.exhausted:
                break
            request = request._replace(probe=replace(request.probe, depth=request.probe.depth * DEEPER_BY))
            look = self._look(request)
            self._look_up([look])
        candidates, reasons = look.candidates, look.reasons
        same = len(rows) == len(look.passed)
        best = chain(look.first, look.others) if same else self._ranked(request, candidates, look.match, rows)
        looked_at: list[int] = []
        hits = self._fetch(request, candidates, _note_taken(best, looked_at), reasons, quota)
        fused_search = self._index.fused
        if looked_at and fused_search is not None and not fused_search.are_sound(candidates, looked_at):
            raise BankDamaged("What the index says of a memory does not match its checksum.")
        reasons += Counter({why: number for why, number in candidates.filtered_out.items() if why != "without_tags"})
        return Findings(hits, len(rows), reasons)

    def _fetch(
        self,
        request: RankingRequest,
        candidates: Candidates,
        best: Iterator[Ranked],
        reasons: Counter[str],
        quota: Quota,
    ) -> Sequence[Recalled]:
        """The rows of the best, checked again: the index is a view and may be a moment old."""
        query, where = request.query, request.probe.where
        hits: list[Recalled] = []
        tokens_used = 0
        company = self.company(where)
        while batch := list(islice(best, query.limit - len(hits))):
            rows = self._intact([candidates.ids[row] for row, _ in batch], reasons)
            for row, parts in batch:
                memory = rows.get(candidates.ids[row])
                if memory is None or not is_allowed(memory, where):
                    continue
                tokens = tokens_of(memory)
                if query.max_tokens is not None and tokens_used + tokens > query.max_tokens:
                    continue
                trust = quota.seated(memory, self._levels, reasons)
                if trust is None:
                    continue
                tokens_used += tokens
                standing = candidates.standings[row]
                confidence = self._policy.confidence(
                    standing, request.now, replace(company, context_match=parts.relevance)
                )
                hits.append(make_recalled(memory, standing, confidence, parts, tokens, trust))
        return hits

    def _intact(self, ids: Sequence[str], reasons: Counter[str]) -> dict[str, Memory]:
        """The rows that can be read; a damaged one is counted and must not keep the others from being found."""
        lacking = [memory_id for memory_id in ids if memory_id not in self._rows]
        try:
            self._rows.update(self._reader.get(Memory, lacking))
        except BankDamaged:
            for memory_id in lacking:
                try:
                    self._rows.update(self._reader.get(Memory, [memory_id]))
                except BankDamaged:
                    reasons["damaged"] += 1
        return self._rows


def _similarity(vectors: Floats) -> Floats:
    # Not a matrix product: waking BLAS's threads for so few rows takes longer than the work, and on a busy machine
    # a hundred times as long.
    products: Floats = np.vecdot(vectors[:, None], vectors[None])
    return products


def _note_taken(rows: Iterable[Ranked], log: list[int]) -> Iterator[Ranked]:
    """The same rows, each appended to `log` when it is taken: evidence and rank come from the index, and must be as
    they were written.
    """
    for row, parts in rows:
        log.append(row)
        yield row, parts
