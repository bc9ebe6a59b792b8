"""The half of an index in PostgreSQL that keeps words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from reasoningbank.ports import Filter, Frequencies, IndexPosition, WordRow
from reasoningbank_postgres.pgvector.build import WORDS, PgvectorBuild
from reasoningbank_postgres.pgvector.filters import condition_of
from reasoningbank_postgres.pgvector.nearest import SearchWay, depth_for
from reasoningbank_postgres.pgvector.packing import number_list
from reasoningbank_postgres.pgvector.postings import FoundTerms, ScoredRows, postings_query
from reasoningbank_postgres.pgvector.row_changes import delete_rows, put_rows


class PgvectorWords:
    def __init__(self, build: PgvectorBuild) -> None:
        self._build = build

    @property
    def position(self) -> IndexPosition:
        return self._build.fresh_stamp().words

    def advance(self, position: IndexPosition) -> None:
        self._build.advance(WORDS, position)

    def upsert(self, rows: Sequence[WordRow]) -> None:
        name = self._build.name
        self._build.change(lambda connection, tables: put_rows(connection, tables, name, rows), of_rows=True)

    def delete(self, ids: Sequence[str]) -> None:
        self._build.change(lambda connection, tables: delete_rows(connection, tables, ids), of_rows=True)

    def search(self, queries: Sequence[Mapping[int, float]], where: Filter, k: int) -> list[list[str]]:
        terms = sorted({term for worths in queries for term in worths})
        if not terms or k <= 0:
            return [[] for _ in queries]
        build, census = self._build, self._build.last_census(where.tenant)
        [passing] = build.counts([where], census)
        way = SearchWay(build.tables, where, k, passing, census.reach)
        is_narrow = way.is_listed(census.memories)
        statements = [postings_query(where.tenant, terms, build.tables), build.stamp_query]
        if is_narrow:
            statements.append(way.listed)
        posting_rows, stamp, *listing = build.ask(where.tenant, *statements)
        census = build.census(where.tenant, build.read_stamp(stamp))
        passing_nums = np.array(listing[0][0][0] or (), np.int64) if is_narrow else None
        postings = FoundTerms(posting_rows)
        rankings = [postings.scored(worths, census.mean_length, passing_nums) for worths in queries]
        return self._allowed(rankings, where, k, 1.0 if is_narrow else passing / max(1, census.memories))

    def _allowed(self, rankings: Sequence[ScoredRows], where: Filter, k: int, share: float) -> list[list[str]]:
        """Ids of the first `k` of each ranking that pass the filter, of which about a `share` do."""
        condition, values = condition_of(where, self._build.tables)
        query = f"SELECT num, id FROM {self._build.tables.rows} WHERE num = ANY(%s::bigint[]) AND {condition}"
        depth = depth_for(k, share)
        while True:
            best = [ranking.best(depth) for ranking in rankings]
            nums = sorted({num for each in best for num in each})
            [rows] = self._build.ask(where.tenant, (query, [number_list(nums), *values])) if nums else [[]]
            ids: dict[int, str] = dict(rows)
            ids_by_query = [[ids[num] for num in each if num in ids][:k] for each in best]
            if all(len(own) == k or depth >= len(ranking) for own, ranking in zip(ids_by_query, rankings, strict=True)):
                return ids_by_query
            depth *= 8

    def frequencies(self, tenant: str, terms: Sequence[int]) -> Frequencies:
        build = self._build
        query = (
            (
                f"SELECT term, sum(holding)::bigint FROM {build.tables.postings} "
                "WHERE tenant = %s AND term = ANY(%s::bigint[]) GROUP BY term"
            ),
            (tenant, number_list(terms)),
        )
        rows, stamp = build.ask(tenant, query, build.stamp_query)
        census = build.census(tenant, build.read_stamp(stamp))
        holding: dict[int, int] = dict(rows)
        return Frequencies(
            rows=census.memories, mean_length=census.mean_length, holding=[holding.get(term, 0) for term in terms]
        )

    def counts(self, filters: Sequence[Filter]) -> list[int]:
        stamp = self._build.fresh_stamp()
        by_tenant = {tenant: self._build.census(tenant, stamp) for tenant in {where.tenant for where in filters}}
        for tenant, census in by_tenant.items():
            self._build.counts([where for where in filters if where.tenant == tenant], census)
        return [self._build.counts([where], by_tenant[where.tenant])[0] for where in filters]

    def count(self) -> int:
        [[(number,)]] = self._build.ask(
            None, (f"SELECT coalesce(sum(memories), 0)::bigint FROM {self._build.tables.groups}", ())
        )
        return int(number)

    def clear(self) -> None:
        self._build.renew()

    def close(self) -> None:
        """Connections belong to the builds, which close them."""
