"""Searches: from a query to ranked hits.

    catch up → plan → embed → candidates (vectors and keywords) → relevance → confidence and floor → rank → fetch → trim

Knows the order of the steps and that a filter must never cost recall: when too few candidates survive, it digs deeper.
Nothing here writes a record.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.confidence import ALONE, Context
from reasoningbank.core.digest import blake2b
from reasoningbank.core.errors import BankDamaged, BankFull, BankReadOnly
from reasoningbank.core.frozen import replace
from reasoningbank.core.ranking import Parts, Weights, iterate_ranked, profile_named
from reasoningbank.core.settings import DEFAULTS, FOLLOWED, OFF, REQUIRED, SearchSettings
from reasoningbank.core.types import Edge, Exposure, Memory
from reasoningbank.ports import Candidates, Filter, Index, Probe, Reader
from reasoningbank.recall.candidates import find_candidates, vectors_of
from reasoningbank.recall.current import Current
from reasoningbank.recall.experience import NO_SIMILAR_TASKS, Experience, SimilarTasks, least_likeness
from reasoningbank.recall.exposure_log import ShownLog
from reasoningbank.recall.holdout import divide, on_trial
from reasoningbank.recall.index_follower import Follower, GiveWay
from reasoningbank.recall.index_progress import Progress
from reasoningbank.recall.known_empty import Absence
from reasoningbank.recall.lesson_facets import LessonFacets
from reasoningbank.recall.links import Bonds, name_links
from reasoningbank.recall.match import Match, items_of, match_candidates, passing
from reasoningbank.recall.mending import mend
from reasoningbank.recall.owed import is_told_by_words
from reasoningbank.recall.plan import plan_query
from reasoningbank.recall.pulled_in import PullConditions, pull_in
from reasoningbank.recall.query import (
    Query,
    Recalled,
    SearchResult,
    filter_for,
    first_hits,
    make_recalled,
    tokens_of,
    validate,
    without_orphans,
)
from reasoningbank.recall.quota import Quota
from reasoningbank.recall.reach import KnownTeams, is_allowed
from reasoningbank.recall.relevance import calibration_for, floor_among, passes_floor
from reasoningbank.recall.side_index import SideFound, SideIndex
from reasoningbank.recall.solutions import has_solutions, solutions_only, with_way, without_solutions

if TYPE_CHECKING:
    from reasoningbank.ports import Floats

CATCH_UP_BUDGET_S = 1.0
MEND_WAIT_S = 0.25
SHALLOWEST = 64
CANDIDATES_PER_HIT = 6
RANKED_PER_HIT = 2
FEWEST_RANKED = 24
DEEPER_BY = 8
Choice = Callable[[Sequence[Recalled]], Sequence[Recalled]]
"""Which of the hits the caller will really show: all of them, or those that fit into a prompt."""
_DUG_BEHIND = ("min_confidence", "excluded", "trust", "trust_quota")
"""What these leave out may hide others that fit."""


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


class Searcher:
    def __init__(
        self,
        follower: Follower,
        shown: ShownLog,
        clock: Callable[[], float],
        experience: Experience | None = None,
        settings: SearchSettings = DEFAULTS.search,
        graph: SideIndex | None = None,
    ) -> None:
        self.follower = follower
        self._store = follower.store
        self._index = follower.index
        self._embedder = follower.embedder
        self._policy = follower.policy
        self._shown = shown
        self._clock = clock
        self._experience = experience
        self.graph = graph
        """The index of nodes and edges, beside that of the memories."""
        tasks = None if experience is None else experience.tasks
        self._beside = [index for index in (tasks, graph) if index is not None]
        self._holdout = settings.holdout
        self._scope_weights = settings.scope_weights
        self._floor = settings.floor
        self._no_edge = Absence()
        self._no_solution = Absence()
        self._teams = KnownTeams(follower.store)
        self._current = Current(follower)
        self.facets = LessonFacets(follower.embedder)

    def search(
        self,
        query: Query,
        *,
        tenant: str,
        namespace: str,
        budget_s: float = CATCH_UP_BUDGET_S,
        noted: bool = True,
        choice: Choice = tuple,
    ) -> SearchResult:
        """With `noted` false it leaves no trace: neither in the log of what was shown nor in that of the gaps."""
        query = validate(query)
        where = filter_for(query, tenant, namespace)
        by_scope = self._scope_weights
        weights = replace(profile_named(query.profile), project=by_scope.project, team=by_scope.team, org=by_scope.org)
        view = self._current.view(budget_s if query.catch_up_s is None else query.catch_up_s)
        index, seen = view.index, view.seen
        where = self._teams.narrow(where, query.asked_from, seen)
        now = self._clock()
        probe = self.probe(query.text, where, max(SHALLOWEST, query.limit * CANDIDATES_PER_HIT))
        # Before the records are read: past tasks have an index of their own, which may have to catch up.
        similar = NO_SIMILAR_TASKS
        if self._experience is not None and query.experience:
            similar = self._experience.similar_tasks(query, probe, now, seen)
        with self._store.read(tenant) as reader:
            asked = Asked(self._with_floor(query), probe, similar, weights, now)
            owing = seen is None
            apart = not query.tags and not self._no_solution.holds(
                tenant, seen, lambda: has_solutions(index, tenant, self.follower)
            )
            if apart:
                asked = asked._replace(probe=without_solutions(probe))
            found = self._answer(reader, index, asked, Quota(reader, query), owing=owing)
            if apart:
                way = replace(asked.query, limit=1)
                asked = Asked(way, solutions_only(probe), similar._replace(vouched=similar.solutions), weights, now)
                ways = self._answer(reader, index, asked, Quota(reader, way), owing=owing)
                joined = with_way(found.hits, ways.hits, query)
                found = Findings(joined, found.passed + bool(ways.passed), found.reasons)
            hits, passed, reasons = found
            if (
                hits
                and query.links != OFF
                and not self._no_edge.holds(tenant, seen, lambda: reader.count(Edge, {}) > 0)
            ):
                hits = self._add_links(reader, hits, asked._replace(query=query), where)
                passed = max(passed, min(len(hits), query.limit))
        if noted:
            hits = self.show(query, hits, tenant, choice)
            self._shown.note_gap(query, where, now, vain=seen is not None and not passed)
        return SearchResult(
            memories=tuple(hits),
            total_found=passed,
            filtered_out={reason: number for reason, number in reasons.items() if number},
            tokens_used=sum(hit.tokens for hit in hits),
            abstained=not passed,
            embedder=str(self._index.identity),
            profile=weights.name,
            not_yet_indexed=view.owed,
        )

    def _answer(self, reader: Reader, index: Index, asked: Asked, quota: Quota, *, owing: bool) -> Findings:
        """The hits of one look at the index, how many there were to choose from, and why others are left out."""
        query, now = asked.query, asked.now
        passed, match, candidates, reasons = self._passing(
            reader, index, query, asked.probe, asked.similar, now, quota, owing=owing
        )
        chosen = passed[: max(FEWEST_RANKED, query.limit * RANKED_PER_HIT)]
        items = items_of(candidates, match, chosen)
        best = iterate_ranked(items, lambda: _similarity(vectors_of(index, candidates, chosen)), asked.weights)
        rows = ((chosen[i], parts) for i, parts in best)
        looked_at: list[int] = []
        hits = self._fetch(
            reader, query, asked.probe.where, candidates, _note_taken(rows, looked_at), reasons, now, quota
        )
        if looked_at and index.fused is not None and not index.fused.are_sound(candidates, looked_at):
            raise BankDamaged("What the index says of a memory does not match its checksum.")
        reasons += Counter({why: number for why, number in candidates.filtered_out.items() if why != "without_tags"})
        return Findings(hits, len(passed), reasons)

    def _add_links(self, reader: Reader, hits: Sequence[Recalled], asked: Asked, where: Filter) -> Sequence[Recalled]:
        """The hits, what they pull in, and the names of what else they are linked with."""
        bonds = Bonds(reader)
        bonds.look_up(hits)

        def cosines(ids: Sequence[str]) -> Sequence[float]:
            if not ids or asked.probe.vector is None:
                return [0.0] * len(ids)
            found: list[float] = np.vecdot(self.vectors_of(ids), asked.probe.vector).tolist()
            return found

        if asked.query.links in (REQUIRED, FOLLOWED):
            company = self._company(reader, where)
            hits = pull_in(
                hits,
                bonds,
                PullConditions(reader, asked.query, where, self._policy, company, asked.weights, asked.now, cosines),
            )
        return name_links(hits, bonds, where)

    def catch_up(
        self,
        tenant: str,
        *,
        budget_s: float,
        wait_s: float,
        progress: Progress | None = None,
        give_way: GiveWay | None = None,
    ) -> bool:
        """Bring the indexes of memories, past tasks and the graph up to date; True when nothing is owed then."""
        until = time.monotonic() + budget_s
        owed = self.follower.lag() if progress is not None else 0
        if not self.follower.catch_up(budget_s=budget_s, wait_s=wait_s, progress=progress, give_way=give_way):
            return False

        def go_on(done: int, total: int) -> None:
            assert progress is not None
            progress(owed + done, owed + total)

        return all(
            index.catch_up(
                tenant,
                budget_s=max(0.0, until - time.monotonic()),
                wait_s=wait_s,
                progress=None if progress is None else go_on,
                give_way=give_way,
            )
            for index in self._beside
        )

    def embed(self, texts: Sequence[str]) -> Floats:
        return self._embedder().embed(texts)

    def candidates(self, query: Query, *, tenant: str, namespace: str, depth: int) -> Candidates:
        """What each side finds on its own, before anything is fused, judged or left out."""
        query = validate(query)
        where = filter_for(query, tenant, namespace)
        return self.look(self.probe(query.text, where, depth), CATCH_UP_BUDGET_S, query.asked_from).candidates

    def look(self, probe: Probe, budget_s: float, asked_from: str | None = None) -> SideFound:
        """What the index of memories has for a probe, and what it owes."""
        view = self._current.view(budget_s)
        where = self._teams.narrow(probe.where, asked_from, view.seen)
        return SideFound(find_candidates(view.index, replace(probe, where=where), self.follower), view.owed)

    @property
    def index(self) -> Index:
        return self._index

    def vectors_of(self, ids: Sequence[str]) -> Floats:
        """The vectors that the index keeps of memories, a row for each id; zeros where it has none."""
        vectors = np.zeros((len(ids), self._index.identity.dimension), np.float32)
        kept = self._index.halves.vectors.fetch(ids)
        for row, memory_id in enumerate(ids):
            if memory_id in kept:
                vectors[row] = kept[memory_id]
        return vectors

    def mend(self) -> bool:
        """Build again what of the index is damaged. Where that cannot be done now, search without it from now on.

        False when nothing is the matter with the index.
        """
        with suppress(BankReadOnly, BankFull):
            if mend(self.follower, MEND_WAIT_S):
                return True
        upkeep = self._index.upkeep
        if upkeep is None or not upkeep.damage():
            return False
        self._current.distrust()
        return True

    def mend_all(self, tenant: str) -> bool:
        """Build again whatever of the indexes differs from the records; whether something did."""
        mended = mend(self.follower, MEND_WAIT_S, thorough=True)
        return sum(index.mend(tenant) for index in self._beside) > 0 or mended

    def close(self) -> None:
        self._index.close()
        for index in self._beside:
            index.close()

    # ------------------------------------------------------------ candidates

    def _with_floor(self, query: Query) -> Query:
        """With the floor of the settings, if they have one and the query has none of its own."""
        if query.floor is not None or self._floor is None:
            return query
        return replace(query, floor=self._floor)

    def _passing(
        self,
        reader: Reader,
        index: Index,
        query: Query,
        probe: Probe,
        similar: SimilarTasks,
        now: float,
        quota: Quota,
        *,
        owing: bool,
    ) -> tuple[list[int], Match, Candidates, Counter[str]]:
        """Candidates above the floor and the asked confidence, most relevant first.

        While the index is `owing` vectors, what only words can find yet is measured by its words.
        """
        calibration = calibration_for(self._index.identity.name)
        excluded = _excluded_ids(reader, query)
        probe = replace(probe, also=tuple(similar.vouched)) if similar.vouched else probe
        while True:
            candidates = find_candidates(index, probe, self.follower)
            match = match_candidates(
                candidates, calibration, self._policy, now, similar, self._company(reader, probe.where)
            )
            passed, reasons = passing(query, excluded, candidates, match, self._fits(query, candidates, match, owing))
            passed = quota.trimmed(passed, candidates.ids, reasons)
            enough = len(passed) >= query.limit or not any(reasons[reason] for reason in _DUG_BEHIND)
            if enough or candidates.exhausted:
                return passed, match, candidates, reasons
            probe = replace(probe, depth=probe.depth * DEEPER_BY)

    def _fits(self, query: Query, candidates: Candidates, match: Match, owing: bool) -> NDArray[np.bool_]:
        """Which candidates may be shown, whatever is believed of them."""
        everything = profile_named(query.profile).shows_everything
        # A candidate that neither points the same way nor shares a word is no match at any floor.
        matches = everything | (match.cosine > 0.0) | (match.keyword > 0.0) | match.vouched
        if query.floor is not None:
            fits: NDArray[np.bool_] = matches & (match.relevance >= query.floor)
            return fits
        calibration = calibration_for(self._index.identity.name)
        floor = floor_among(calibration, candidates.considered)
        fits = matches & (everything | passes_floor(match.relevance, candidates, floor))
        # What past tasks vouch for need not fit by its words.
        fits |= match.vouched & (match.relevance >= least_likeness(candidates.considered))
        return fits | is_told_by_words(candidates) if owing else fits

    def probe(self, text: str, where: Filter, depth: int) -> Probe:
        """What to look for: the part of a text that asks, and its vector."""
        asked = plan_query(text)
        return Probe(vector=self._embedder().embed([asked])[0], text=asked, where=where, depth=depth)

    # ------------------------------------------------------------ rows

    def _fetch(
        self,
        reader: Reader,
        query: Query,
        where: Filter,
        candidates: Candidates,
        best: Iterator[tuple[int, Parts]],
        reasons: Counter[str],
        now: float,
        quota: Quota,
    ) -> Sequence[Recalled]:
        """The rows of the best, checked again: the index is a view and may be a moment old."""
        hits: list[Recalled] = []
        tokens_used = 0
        company = self._company(reader, where)
        while wanted := list(islice(best, query.limit - len(hits))):
            rows = _intact(reader, [candidates.ids[row] for row, _ in wanted], reasons)
            for row, parts in wanted:
                memory = rows.get(candidates.ids[row])
                if memory is None or not is_allowed(memory, where):
                    continue
                tokens = tokens_of(memory)
                if query.max_tokens is not None and tokens_used + tokens > query.max_tokens:
                    continue
                trust = quota.seated(memory, reasons)
                if trust is None:
                    continue
                tokens_used += tokens
                standing = candidates.standings[row]
                believed = self._policy.confidence(standing, now, replace(company, context_match=parts.relevance))
                hits.append(make_recalled(memory, standing, believed, parts, tokens, trust))
        return hits

    def _company(self, reader: Reader, where: Filter) -> Context:
        """What a policy that compares uses must know of the other memories of the namespace that is asked."""
        if not self._policy.compares_uses:
            return ALONE
        uses = reader.uses_by_namespace()
        return Context(total_uses=sum(uses.values()) if where.namespace is None else uses.get(where.namespace, 0))

    def show(self, query: Query, hits: Sequence[Recalled], tenant: str, choice: Choice = tuple) -> tuple[Recalled, ...]:
        """Of the hits, those that the caller chooses to show, without what is held out; noted as shown or withheld.

        `search` does so by itself, unless it is told not to.
        """
        chosen, withheld = divide(first_hits(choice(hits), query.limit), query.session, self._holdout)
        shown = without_orphans(chosen)
        now = self._clock()
        digest = blake2b(query.text.encode("utf-8", "replace"), digest_size=8).hexdigest()
        held_out = 0.0 if query.session is None else self._holdout
        self._shown.note(
            [
                Exposure(
                    memory_id=hit.id,
                    tenant=tenant,
                    trajectory_id=query.session,
                    query_hash=digest,
                    rank=rank_,
                    at=now,
                    withheld=hits_are_withheld,
                    holdout=held_out if on_trial(hit) else 0.0,
                    advice_id=hit.memory.advice_id,
                )
                for hits_are_withheld, group in ((False, shown), (True, withheld))
                for rank_, hit in enumerate(group, start=1)
            ]
        )
        return tuple(shown)


def _similarity(vectors: Floats) -> Floats:
    # Not a matrix product: waking BLAS's threads for so few rows takes longer than the work, and on a busy machine
    # a hundred times as long.
    products: Floats = np.vecdot(vectors[:, None], vectors[None])
    return products


def _note_taken(rows: Iterable[tuple[int, Parts]], taken: list[int]) -> Iterator[tuple[int, Parts]]:
    """The same, noting which were taken: evidence and rank come from the index, and must be as they were written."""
    for row, parts in rows:
        taken.append(row)
        yield row, parts


def _excluded_ids(reader: Reader, query: Query) -> frozenset[str]:
    if not query.exclude:
        return frozenset()
    return frozenset((*query.exclude, *(m.id for m in reader.select(Memory, {"source": query.exclude}))))


def _intact(reader: Reader, ids: Sequence[str], reasons: Counter[str]) -> dict[str, Memory]:
    """The rows that can be read; a damaged one is counted and must not keep the others from being found."""
    try:
        return reader.get(Memory, ids)
    except BankDamaged:
        found: dict[str, Memory] = {}
        for memory_id in ids:
            try:
                found.update(reader.get(Memory, [memory_id]))
            except BankDamaged:
                reasons["damaged"] += 1
        return found
