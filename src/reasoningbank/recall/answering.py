"""Answers a question from an index: candidates, those that pass, their order, and the rows of the best.

    candidates → relevance → confidence and floor → order → trust and rows in one round trip → quota → checked again

Knows that a filter must never cost recall: when too few candidates survive, it digs deeper. Knows, too, that nobody is
untrusted as a rule: the rows of those that would be shown then are asked for together with everybody's trust.
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
from reasoningbank.recall.candidates import find_candidates, vectors_of
from reasoningbank.recall.experience import SimilarTasks, least_likeness
from reasoningbank.recall.index_follower import Follower
from reasoningbank.recall.match import Match, items_of, match_candidates, passing
from reasoningbank.recall.owed import is_told_by_words
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
"""What these leave out may hide others that fit."""

Ranked = tuple[int, Parts]


class Asked(NamedTuple):
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


class Answering:
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

    def answers(self, several: Sequence[Asked]) -> list[Findings]:
        """The hits of each question, how many there were to choose from, and why others are left out."""
        looks = [self._look(asked) for asked in several]
        self._look_up(looks)
        return [self._finish(asked, look) for asked, look in zip(several, looks, strict=True)]

    def company(self, where: Filter) -> Context:
        """What a policy that compares uses must know of the other memories of the namespace that is asked."""
        if not self._policy.compares_uses:
            return ALONE
        if self._uses is None:
            self._uses = self._reader.uses_by_namespace()
        uses = self._uses
        return Context(total_uses=sum(uses.values()) if where.namespace is None else uses.get(where.namespace, 0))

    # ------------------------------------------------------------ candidates

    def _look(self, asked: Asked) -> _Look:
        query, similar = asked.query, asked.similar
        probe = replace(asked.probe, also=tuple(similar.vouched)) if similar.vouched else asked.probe
        candidates = find_candidates(self._index, probe, self._follower)
        company = self.company(probe.where)
        match = match_candidates(candidates, self._calibration, self._policy, asked.now, similar, company)
        excluded = _excluded_ids(self._reader, query)
        passed, reasons = passing(query, excluded, candidates, match, self._fits(query, candidates, match))
        ranked = self._ranked(asked, candidates, match, passed)
        return _Look(candidates, match, passed, reasons, list(islice(ranked, query.limit)), ranked)

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

    def _ranked(self, asked: Asked, candidates: Candidates, match: Match, passed: Sequence[int]) -> Iterator[Ranked]:
        chosen = passed[: max(FEWEST_RANKED, asked.query.limit * RANKED_PER_HIT)]
        items = items_of(candidates, match, chosen)
        best = iterate_ranked(items, lambda: _similarity(vectors_of(self._index, candidates, chosen)), asked.weights)
        return ((chosen[i], parts) for i, parts in best)

    # ------------------------------------------------------------ rows

    def _look_up(self, looks: Sequence[_Look]) -> None:
        """Trust of all that passed and the rows of the best, in one round trip."""
        passed = [memory_id for look in looks for memory_id in look.ids(look.passed)]
        if passed:
            best = [memory_id for look in looks for memory_id in look.ids(row for row, _ in look.first)]
            levels, rows = self._reader.trust_and_memories(passed, best)
            self._levels.update(levels)
            self._rows.update(rows)

    def _finish(self, asked: Asked, look: _Look) -> Findings:
        query, quota = asked.query, Quota(asked.query)
        while True:
            kept = quota.trimmed(look.passed, look.candidates.ids, self._levels, look.reasons)
            enough = len(kept) >= query.limit or not any(look.reasons[reason] for reason in _DUG_BEHIND)
            if enough or look.candidates.exhausted:
                break
            asked = asked._replace(probe=replace(asked.probe, depth=asked.probe.depth * DEEPER_BY))
            look = self._look(asked)
            self._look_up([look])
        candidates, reasons = look.candidates, look.reasons
        same = len(kept) == len(look.passed)
        best = chain(look.first, look.others) if same else self._ranked(asked, candidates, look.match, kept)
        looked_at: list[int] = []
        hits = self._fetch(asked, candidates, _note_taken(best, looked_at), reasons, quota)
        fused = self._index.fused
        if looked_at and fused is not None and not fused.are_sound(candidates, looked_at):
            raise BankDamaged("What the index says of a memory does not match its checksum.")
        reasons += Counter({why: number for why, number in candidates.filtered_out.items() if why != "without_tags"})
        return Findings(hits, len(kept), reasons)

    def _fetch(
        self, asked: Asked, candidates: Candidates, best: Iterator[Ranked], reasons: Counter[str], quota: Quota
    ) -> Sequence[Recalled]:
        """The rows of the best, checked again: the index is a view and may be a moment old."""
        query, where = asked.query, asked.probe.where
        hits: list[Recalled] = []
        tokens_used = 0
        company = self.company(where)
        while wanted := list(islice(best, query.limit - len(hits))):
            rows = self._intact([candidates.ids[row] for row, _ in wanted], reasons)
            for row, parts in wanted:
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
                believed = self._policy.confidence(standing, asked.now, replace(company, context_match=parts.relevance))
                hits.append(make_recalled(memory, standing, believed, parts, tokens, trust))
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


def _note_taken(rows: Iterable[Ranked], taken: list[int]) -> Iterator[Ranked]:
    """The same, noting which were taken: evidence and rank come from the index, and must be as they were written."""
    for row, parts in rows:
        taken.append(row)
        yield row, parts


def _excluded_ids(reader: Reader, query: Query) -> frozenset[str]:
    if not query.exclude:
        return frozenset()
    return frozenset((*query.exclude, *(m.id for m in reader.select(Memory, {"source": query.exclude}))))
