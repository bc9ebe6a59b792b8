"""Searches: from a query to ranked hits.

    catch up → plan → embed → candidates (vectors and keywords) → relevance → confidence and floor → rank → fetch → trim

Nothing here writes a record.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reasoningbank.core.digest import blake2b
from reasoningbank.core.errors import BankFull, BankReadOnly
from reasoningbank.core.frozen import replace
from reasoningbank.core.ranking import Weights, profile_named
from reasoningbank.core.settings import DEFAULTS, FOLLOWED, OFF, REQUIRED, SearchSettings
from reasoningbank.core.types import Edge, Exposure
from reasoningbank.guard.trust import revoked_origins
from reasoningbank.ports import Candidates, Filter, Index, Probe, Reader
from reasoningbank.recall.candidates import find_candidates
from reasoningbank.recall.current import Current, View
from reasoningbank.recall.experience import NO_SIMILAR_TASKS, Experience
from reasoningbank.recall.exposure_log import ShownLog
from reasoningbank.recall.holdout import divide
from reasoningbank.recall.index_follower import Follower, GiveWay
from reasoningbank.recall.index_progress import Progress
from reasoningbank.recall.known_empty import Absence, KnownAsOf
from reasoningbank.recall.lesson_facets import LessonFacets
from reasoningbank.recall.linked_hits import PullConditions, pull_in
from reasoningbank.recall.links import Bonds, name_links
from reasoningbank.recall.mending import mend
from reasoningbank.recall.plan import plan_query
from reasoningbank.recall.query import (
    Query,
    Recalled,
    SearchResult,
    filter_for,
    first_hits,
    validate,
    without_orphans,
)
from reasoningbank.recall.ranking_pipeline import Findings, RankingPipeline, RankingRequest
from reasoningbank.recall.reach import KnownTeams
from reasoningbank.recall.side_index import SideFound, SideIndex
from reasoningbank.recall.solutions import has_solutions, solutions_only, with_way, without_solutions

if TYPE_CHECKING:
    from reasoningbank.ports import Floats

MEND_WAIT_S = 0.25
SHALLOWEST = 64
CANDIDATES_PER_HIT = 6
Choice = Callable[[Sequence[Recalled]], Sequence[Recalled]]
"""Which of the hits the caller will really show: all of them, or those that fit into a prompt."""


class BegunSearch(NamedTuple):
    probe: Probe
    as_of: int
    """The change up to which the index knew all when it was seen last."""


class Searcher:
    def __init__(
        self,
        follower: Follower,
        shown_log: ShownLog,
        clock: Callable[[], float],
        experience: Experience | None = None,
        settings: SearchSettings = DEFAULTS.search,
        graph: SideIndex | None = None,
        *,
        index_away: bool = False,
    ) -> None:
        self.follower = follower
        self._index_away = index_away
        self._store = follower.store
        self._index = follower.index
        self._embedder = follower.embedder
        self._policy = follower.policy
        self._shown = shown_log
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
        self._revoked: KnownAsOf[frozenset[str]] = KnownAsOf()
        self._teams = KnownTeams(follower.store)
        self._current = Current(follower)
        self.facets = LessonFacets(follower.embedder)

    def search(
        self,
        query: Query,
        *,
        tenant: str,
        namespace: str,
        noted: bool = True,
        choice: Choice = tuple,
    ) -> SearchResult:
        """With `noted` false it leaves no trace: neither in the log of what was shown nor in that of the gaps."""
        query = validate(query)
        where = filter_for(query, tenant, namespace)
        by_scope = self._scope_weights
        weights = replace(profile_named(query.profile), project=by_scope.project, team=by_scope.team, org=by_scope.org)
        now = self._clock()
        with ExitStack() as stack:
            early_search = self._begin(stack, query, where)
            view = self._current.view(query.catch_up_s)
            as_of, where = view.seen, self._teams.narrow(where, query.asked_from, view.seen)
            if early_search is None:
                probe = self.probe(query.text, where, _depth_of(query))
            else:
                probe = replace(
                    early_search.probe,
                    where=where,
                    begun=early_search.probe.begun if as_of == early_search.as_of else None,
                )
            hits, total, reasons = self._find(query, probe, view, weights, now)
        if noted:
            hits = self.show(query, hits, tenant, choice)
            self._shown.note_gap(query, where, now, vain=as_of is not None and not total)
        return SearchResult(
            memories=tuple(hits),
            total_found=total,
            filtered_out={reason: number for reason, number in reasons.items() if number},
            tokens_used=sum(hit.tokens for hit in hits),
            abstained=not total,
            embedder=str(self._index.identity),
            profile=weights.name,
            not_yet_indexed=view.owed,
            index_away=self._index_away,
        )

    def _begin(self, stack: ExitStack, query: Query, where: Filter) -> BegunSearch | None:
        """Let an engine on another machine begin to look while the feed is asked for news: as a rule there is none, and
        what was begun is what is wanted. None where that cannot be.
        """
        engine, position = self._index.halves.joined, self.follower.seen_position()
        if engine is None or position is None:
            return None
        is_plain = bool(query.tags) or self._no_solution.is_known(where.tenant, position.applied)
        if is_plain is None:
            return None
        where = self._teams.narrow(where, query.asked_from, position.applied)
        probe = self.probe(query.text, where, _depth_of(query))
        pending = stack.enter_context(engine.begin(probe if is_plain else without_solutions(probe)))
        return BegunSearch(pending, position.applied)

    def _find(self, query: Query, probe: Probe, view: View, weights: Weights, now: float) -> Findings:
        index, as_of, where, tenant = view.index, view.seen, probe.where, probe.where.tenant
        # Before the records are read: past tasks have an index of their own, which may have to catch up.
        similar = NO_SIMILAR_TASKS
        if self._experience is not None and query.experience:
            head = None if as_of is None else index.position
            similar = self._experience.similar_tasks(query, probe, now, head)
        with self._store.read(tenant) as reader:
            # The floor of the settings, if they have one and the query has none of its own.
            own = query if query.floor is not None or self._floor is None else replace(query, floor=self._floor)
            request = RankingRequest(own, probe, similar, weights, now)
            pipeline = RankingPipeline(reader, index, self.follower, self._policy, owing=as_of is None)
            apart = not query.tags and not self._no_solution.holds(
                tenant, as_of, lambda: has_solutions(index, tenant, self.follower)
            )
            if apart:
                request = request._replace(probe=without_solutions(probe))
                way = replace(request.query, limit=1)
                solution_request = RankingRequest(
                    way, solutions_only(probe), similar._replace(vouched=similar.solutions), weights, now
                )
                findings, ways = pipeline.rank([request, solution_request])
                with_solution = with_way(findings.hits, ways.hits, query)
                findings = Findings(with_solution, findings.passed + bool(ways.passed), findings.reasons)
            else:
                (findings,) = pipeline.rank([request])
            hits, total, reasons = findings
            if (
                hits
                and query.links != OFF
                and not self._no_edge.holds(tenant, as_of, lambda: reader.count(Edge, {}) > 0)
            ):
                hits = self._add_links(reader, hits, request._replace(query=query), where, pipeline, as_of)
                total = max(total, min(len(hits), query.limit))
        return Findings(hits, total, reasons)

    def _add_links(
        self,
        reader: Reader,
        hits: Sequence[Recalled],
        request: RankingRequest,
        where: Filter,
        pipeline: RankingPipeline,
        as_of: int | None,
    ) -> Sequence[Recalled]:
        """The hits, what they pull in, and the names of what else they are linked with."""
        find_revoked = partial(self._revoked.get, where.tenant, as_of, lambda: revoked_origins(reader))
        bonds = Bonds(reader, find_revoked)
        bonds.look_up(hits)

        def cosines(ids: Sequence[str]) -> Sequence[float]:
            if not ids or request.probe.vector is None:
                return [0.0] * len(ids)
            values: list[float] = np.vecdot(self.vectors_of(ids), request.probe.vector).tolist()
            return values

        if request.query.links in (REQUIRED, FOLLOWED):
            company = pipeline.company(where)
            hits = pull_in(
                hits,
                bonds,
                PullConditions(
                    reader, request.query, where, self._policy, company, request.weights, request.now, cosines
                ),
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

        def go_on(count: int, total: int) -> None:
            assert progress is not None
            progress(owed + count, owed + total)

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
        """Candidates of each side on its own, before anything is fused, judged or left out."""
        query = validate(query)
        where = filter_for(query, tenant, namespace)
        return self.look(self.probe(query.text, where, depth), asked_from=query.asked_from).candidates

    def look(self, probe: Probe, *, asked_from: str | None = None) -> SideFound:
        """Candidates of the index of memories for a probe, and how many changes it owes."""
        view = self._current.view()
        where = self._teams.narrow(probe.where, asked_from, view.seen)
        return SideFound(find_candidates(view.index, replace(probe, where=where), self.follower), view.owed)

    @property
    def index(self) -> Index:
        return self._index

    def vectors_of(self, ids: Sequence[str]) -> Floats:
        """The vectors that the index keeps of memories, a row for each id; zeros where it has none."""
        vectors = np.zeros((len(ids), self._index.identity.dimension), np.float32)
        by_id = self._index.halves.vectors.fetch(ids)
        for row, memory_id in enumerate(ids):
            if memory_id in by_id:
                vectors[row] = by_id[memory_id]
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
        """Build again whatever of the indexes differs from the records; True if something did."""
        is_mended = mend(self.follower, MEND_WAIT_S, thorough=True)
        return sum(index.mend(tenant) for index in self._beside) > 0 or is_mended

    def close(self) -> None:
        self._index.close()
        for index in self._beside:
            index.close()

    # ------------------------------------------------------------ candidates

    def probe(self, text: str, where: Filter, depth: int) -> Probe:
        """Query for the index: the part of a text that asks, and its vector."""
        query_text = plan_query(text)
        return Probe(vector=self._embedder().embed([query_text])[0], text=query_text, where=where, depth=depth)

    def show(self, query: Query, hits: Sequence[Recalled], tenant: str, choice: Choice = tuple) -> tuple[Recalled, ...]:
        """The hits that the caller chooses to show, without what is held out; noted as shown or withheld.

        `search` does so by itself, unless it is told not to.
        """
        selection, withheld = divide(first_hits(choice(hits), query.limit), query.session, self._holdout)
        answer = without_orphans(selection)
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
                    holdout=held_out,
                    advice_id=hit.memory.advice_id,
                )
                for hits_are_withheld, group in ((False, answer), (True, withheld))
                for rank_, hit in enumerate(group, start=1)
            ]
        )
        return tuple(answer)


def _depth_of(query: Query) -> int:
    return max(SHALLOWEST, query.limit * CANDIDATES_PER_HIT)
