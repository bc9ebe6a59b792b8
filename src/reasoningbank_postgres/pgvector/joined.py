"""Searches an index in PostgreSQL: who comes up, with every column that ranking needs of them.

one connection   nearest vectors with their rows
another one      postings of the rarest words, who passes a narrow filter → numbers → the rows that pass

Looking for vectors takes longest, and the server does that while words are looked up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from reasoningbank.core.errors import BankDamaged
from reasoningbank.core.frozen import replace
from reasoningbank.core.types import Scope, Standing, State
from reasoningbank.index.rows import packed_standings
from reasoningbank.lexical.query_terms import QueryTerms, WeightedTerms
from reasoningbank.ports import FILTER_PARTS, Candidates, Filter, IndexPosition, Probe
from reasoningbank_postgres.pgvector.build import PgvectorBuild
from reasoningbank_postgres.pgvector.candidate_rows import CandidateRows
from reasoningbank_postgres.pgvector.census import Census
from reasoningbank_postgres.pgvector.near_look import NearLook
from reasoningbank_postgres.pgvector.nearest import depth_for
from reasoningbank_postgres.pgvector.packing import Floats, number_list, read_halfvec
from reasoningbank_postgres.pgvector.postings import FoundTerms, ScoredRows, postings_query
from reasoningbank_postgres.pgvector.row_changes import keep_standings
from reasoningbank_postgres.pgvector.server import Query

_SCOPES = {scope.value: scope for scope in Scope}


class WordHolders(NamedTuple):
    """Numbers of the rows that hold words of a question, the best first."""

    by_words: ScoredRows
    by_name: ScoredRows
    by_text: ScoredRows
    share: float | None
    """How many of them pass the filter, about; None where all of them do."""


class PgvectorJoined:
    def __init__(self, build: PgvectorBuild) -> None:
        self._build = build

    @property
    def position(self) -> IndexPosition:
        stamp = self._build.seen_stamp()
        return replace(stamp.words, stamp=(stamp.words.applied, stamp.vectors.applied))

    def keep_standings(self, standings: Mapping[str, Standing]) -> None:
        if standings:
            blobs = [row.tobytes() for row in packed_standings(list(standings.values()))]
            pairs = list(zip(standings, blobs, strict=True))
            self._build.change(lambda connection, tables: keep_standings(connection, tables, pairs))

    # ------------------------------------------------------------ searching

    @contextmanager
    def begin(self, probe: Probe) -> Iterator[Probe]:
        with NearLook(self._build, probe).begin() as look:
            yield replace(probe, begun=look)

    def search(self, probe: Probe) -> Candidates:
        handle = probe.begun
        if isinstance(handle, NearLook) and handle.is_for(probe, self._build):
            return self._find(probe, handle)
        with NearLook(self._build, probe).begin() as look:
            return self._find(probe, look)

    def _find(self, probe: Probe, look: NearLook) -> Candidates:
        where, rows = probe.where, look.rows
        holders, weighted_terms, census = self._look_up_words(probe, look)
        by_words = self._take_holders(probe, holders, rows)
        passing, filtered_out = self._counts(where, census)
        near, all_pass = look.finish()
        if not all_pass:
            self._check_changed(census)
        nums = dict.fromkeys((*near, *by_words, *_named(probe, rows)))
        nums |= dict.fromkeys(_first(holders.by_name, rows, probe.depth))
        nums |= dict.fromkeys(_first(holders.by_text, rows, probe.depth))
        beside = rows.take_neighbours(nums)
        ids = list(dict.fromkeys((*nums, *beside)))
        form, parametric = rows.likeness(ids, probe.text)
        is_exhausted = len(near) < probe.depth and len(by_words) < probe.depth
        return Candidates(
            ids=[rows[num].id for num in ids],
            cosine=rows.cosines(ids),
            **rows.words(ids).columns(weighted_terms),
            form=form,
            parametric=parametric,
            beside=rows.places_beside(ids),
            scopes=[_SCOPES[rows[num].scope] for num in ids],
            standings=rows.standings(ids),
            handles=rows.handles(ids),
            exhausted=is_exhausted or len(ids) == passing,
            considered=passing,
            filtered_out=filtered_out,
        )

    def _look_up_words(self, probe: Probe, look: NearLook) -> tuple[WordHolders, WeightedTerms, Census]:
        build, tenant, way = self._build, probe.where.tenant, look.way
        question = QueryTerms.of(probe.text if probe.depth > 0 else "")
        terms = list(dict.fromkeys((*question.needed, *question.exact)))
        queries: dict[str, Query] = {"stamp": build.stamp_query}
        if terms:
            queries["postings"] = postings_query(tenant, terms, build.tables)
            if way.is_listed(look.census.memories):
                queries["allowed"] = way.listed
        answers = dict(zip(queries, build.ask(tenant, *queries.values()), strict=True))
        census = build.census(tenant, build.read_stamp(answers["stamp"]))
        postings = FoundTerms(answers.get("postings", []))
        weighted_terms = question.weigh(census.memories, census.mean_length, postings.holding)
        passing_nums = np.array(answers["allowed"][0][0] or (), np.int64) if "allowed" in answers else None
        by_words, by_name, by_text = (
            postings.scored(worths, census.mean_length, passing_nums) for worths in weighted_terms.queries
        )
        share = None if passing_nums is not None else way.passing / max(1, census.memories)
        return WordHolders(by_words, by_name, by_text, share), weighted_terms, census

    def _take_holders(self, probe: Probe, holders: WordHolders, rows: CandidateRows) -> list[int]:
        """Take the rows that pass of those that hold words, and what is to be there besides; the best by words."""
        depth = probe.depth if holders.share is None else depth_for(probe.depth, holders.share)
        ids: Sequence[str] = probe.also
        while True:
            by_words = holders.by_words.best(depth)
            rows.take((*by_words, *holders.by_name.best(depth), *holders.by_text.best(depth)), ids)
            nums = [num for num in by_words if num in rows][: probe.depth]
            if len(nums) == probe.depth or depth >= len(holders.by_words):
                return nums
            depth, ids = depth * 8, ()

    def _check_changed(self, before: Census) -> None:
        """Vectors without rows that pass like them: somebody has written meanwhile, or vectors are owed. Else they are
        spoiled.
        """
        now = self._build.fresh_stamp()
        if now.changes == before.changes and now.vectors.applied >= now.words.applied:
            raise BankDamaged(
                f"Vectors of the index at {self._build.server.address.shown} are filed otherwise than its rows: it is "
                "built anew from the records."
            )

    def _counts(self, where: Filter, census: Census) -> tuple[int, dict[str, int]]:
        """How many memories pass the filter, and how many of the tenant's each part of it removed."""
        steps = {"": Filter(tenant=where.tenant, scopes=tuple(Scope), states=tuple(State))}
        last = steps[""]
        for part, fields in FILTER_PARTS.items():
            last = replace(last, **{field: getattr(where, field) for field in fields})
            steps[part] = last
        counts = dict(zip(steps, self._build.counts(list(steps.values()), census), strict=True))
        before, removals = counts[""], dict[str, int]()
        for part in FILTER_PARTS:
            if counts[part] < before:
                removals[part] = before - counts[part]
            before = counts[part]
        return before, removals

    def vectors_of(self, candidates: Candidates, rows: Sequence[int]) -> Floats:
        assert candidates.handles is not None
        handles = candidates.handles[list(rows)].tolist()
        there: dict[int | bytes, bytes] = {vector: vector for vector in handles if isinstance(vector, bytes)}
        if lacking := [num for num in handles if not isinstance(num, bytes)]:
            query = f"SELECT num, vector FROM {self._build.tables.vectors} WHERE num = ANY(%s::bigint[])"
            there |= dict(self._build.ask(None, (query, (number_list(lacking),)))[0])
        none = np.zeros(self._build.identity.dimension, np.float32)
        vectors = [read_halfvec(there[handle]) if handle in there else none for handle in handles]
        return np.array(vectors, np.float32).reshape(len(handles), -1)

    def are_sound(self, candidates: Candidates, rows: Sequence[int]) -> bool:
        """The server looks after its pages."""
        del candidates, rows
        return True


def _named(probe: Probe, rows: CandidateRows) -> list[int]:
    ids = set(probe.also)
    return [num for num, row in rows.items() if row.id in ids] if ids else []


def _first(ranking: ScoredRows, rows: CandidateRows, most: int) -> list[int]:
    """The best of those that were taken."""
    return [num for num in ranking.best(len(rows)) if num in rows][:most]
